// A connection that is read without node:http: one request at a time, and given to node:http with every byte that was
// not read.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { CALLER_TIMES, CallerConnections } from '../../../src/inbound/server/caller-connections.ts';
import { PublisherConnection, type WholeResponse } from '../../../src/inbound/server/publisher-connection.ts';
import type { WholeRequest } from '../../../src/inbound/server/whole-request.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { LoopTurns } from '../../../src/runtime/loop-turns.ts';
import { manualWorld } from '../../support/manual-clock.ts';

const publish = (body: string, more = '') =>
  `POST /v2/publish/http://a/ HTTP/1.1\r\nHost: a\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Takes what is written when it is told to. */
class HeldSocket extends Duplex {
  written = '';
  isHeld = false;
  #release = () => {};

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk;
    if (this.isHeld) this.#release = done;
    else done();
  }

  release(): void {
    this.isHeld = false;
    this.#release();
  }

  /** As node:net has them. */
  destroySoon(): void {
    this.end();
  }

  setKeepAlive(): void {}
}

function start() {
  const { clock } = manualWorld();
  const advance = (ms: number) => clock.advance(ms);
  const connections = new CallerConnections(clock, CALLER_TIMES);
  const socket = new HeldSocket({ allowHalfOpen: true });
  const state = { isClosing: false, isCutShort: false };
  const begun: { body: string; response: WholeResponse; isOver: boolean }[] = [];
  /** What node:http would read. Null while it does not have the connection. */
  let forNode: string | null = null;
  const connection = connections.add(socket as unknown as Socket)!;
  new PublisherConnection(
    {
      connections,
      turns: new LoopTurns(clock, () => 0),
      handle: ({ body }: WholeRequest, response) => {
        const each = { body: Buffer.from(body).toString(), response, isOver: false };
        response.on('close', () => {
          each.isOver = true;
        });
        begun.push(each);
      },
      giveToNode: (_connection, bytes) => {
        forNode = String(bytes);
        socket.on('data', (chunk: Buffer) => {
          forNode = `${forNode}${chunk}`;
        });
        return true;
      },
      refuseCutShort: () => {
        state.isCutShort = true;
      },
      isClosing: () => state.isClosing,
      requestId: (given) => given ?? 'made-1',
      dateText: () => 'now',
      keepAlive: 'Connection: keep-alive\r\n',
    },
    connection,
  );
  const send = async (text: string) => {
    socket.push(Buffer.from(text));
    await turn();
  };
  const answer = (index: number) => begun[index]!.response.writeHead(201, ['A', 'b']).end(`answer ${index}`);
  return { connections, connection, socket, state, begun, send, answer, advance, forNode: () => forNode };
}

test('publishes one after another are begun and answered, and node:http sees none of them', async () => {
  const { begun, send, answer, socket, forNode, connections } = start();
  for (const index of [0, 1, 2]) {
    await send(publish(`body ${index}`));
    assert.deepEqual(begun.map(({ body }) => body).slice(index), [`body ${index}`]);
    answer(index);
    assert.equal(begun[index]!.isOver, true);
  }
  assert.equal(
    socket.written,
    [0, 1, 2]
      .map(
        (each) =>
          `HTTP/1.1 201 Created\r\nA: b\r\nX-Request-Id: made-1\r\nDate: now\r\nConnection: keep-alive\r\n\r\nanswer ${each}`,
      )
      .join(''),
  );
  assert.equal(forNode(), null);
  assert.equal(connections.used, 1);
});

test('headers that were set go with the response, and a value that would break out of its line is refused', async () => {
  const { begun, send, answer, socket } = start();
  await send(publish('one'));
  const { response } = begun[0]!;
  response.setHeader('Service-Warning', 'careful');
  assert.throws(() => response.setHeader('A', 'b\r\nC: d'));
  answer(0);
  assert.match(
    socket.written,
    /^HTTP\/1\.1 201 Created\r\nA: b\r\nX-Request-Id: made-1\r\nService-Warning: careful\r\nDate: now\r\n/,
  );
});

for (const [what, text] of [
  ['another call', 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['two publishes at once', publish('one') + publish('two')],
  ['half a head', 'POST /v2/pub'],
  ['nonsense', '\x00\r\n\r\n'],
  ['a large body that is not whole', publish('x'.repeat(eachMax('partBytes') + 1)).slice(0, -1)],
] as const) {
  test(`${what}: node:http gets the connection and every byte, and what follows`, async () => {
    const { begun, send, forNode } = start();
    await send(text);
    await send('and more');
    assert.equal(forNode(), `${text}and more`);
    assert.equal(begun.length, 0);
  });
}

test('what comes while a publish is under way waits for its response, then goes to node:http', async () => {
  const { begun, send, answer, socket, forNode } = start();
  await send(publish('one'));
  await send(publish('two'));
  await send('and more');
  assert.equal(forNode(), null);
  answer(0);
  await turn();
  assert.equal(forNode(), `${publish('two')}and more`);
  assert.match(socket.written, /answer 0$/);
  assert.equal(begun.length, 1);
});

test('a body that comes behind its head is waited for; in three pieces it goes to node:http', async () => {
  const { begun, send, forNode, answer } = start();
  await send(publish('one').slice(0, -3));
  assert.deepEqual([begun.length, forNode()], [0, null]);
  await send('one');
  assert.equal(begun[0]!.body, 'one');
  answer(0);
  await send(publish('one').slice(0, -2));
  await send('n');
  assert.equal(forNode(), publish('one').slice(0, -1));
});

test('a body that does not come goes to node:http at the next look, which knows how long it may take', async () => {
  const { send, forNode, advance, connections } = start();
  await send(publish('one').slice(0, -1));
  await advance(CALLER_TIMES.lookMs);
  await turn();
  assert.equal(forNode(), publish('one').slice(0, -1));
  await advance(10 * CALLER_TIMES.idleMs);
  assert.equal(connections.used, 1, 'from then on it is for node:http to close it');
});

test('a caller that brings nothing is dropped: the silent after the time for a head, others after the idle time', async () => {
  for (const [isSilent, ms] of [
    [true, CALLER_TIMES.headMs],
    [false, CALLER_TIMES.idleMs],
  ] as const) {
    const { send, answer, advance, connections, socket } = start();
    if (!isSilent) {
      await send(publish('one'));
      answer(0);
    }
    await advance(ms - CALLER_TIMES.lookMs);
    assert.equal(socket.destroyed, false);
    await advance(2 * CALLER_TIMES.lookMs);
    await turn();
    assert.equal(socket.destroyed, true);
    assert.equal(connections.used, 0);
  }
});

test('a publish under way is not dropped, however long it takes', async () => {
  const { send, advance, socket } = start();
  await send(publish('one'));
  await advance(10 * CALLER_TIMES.idleMs);
  assert.equal(socket.destroyed, false);
});

test('a caller that has closed its side gets its response, and then the connection ends', async () => {
  const { send, socket, answer } = start();
  await send(publish('one'));
  socket.push(null);
  await turn();
  answer(0);
  await turn();
  assert.match(socket.written, /\r\nConnection: close\r\n\r\nanswer 0$/);
  assert.equal(socket.writableEnded, true);
});

test('a caller that closes its side in the middle of a body is told; between two requests there is nothing to tell', async () => {
  const cut = start();
  await cut.send(publish('one').slice(0, -1));
  cut.socket.push(null);
  await turn();
  assert.equal(cut.state.isCutShort, true);
  const idle = start();
  idle.socket.push(null);
  await turn();
  assert.deepEqual([idle.state.isCutShort, idle.socket.writableEnded, idle.socket.written], [false, true, '']);
});

test('Connection: close is answered with the same, and ends the connection', async () => {
  const { send, socket, answer } = start();
  await send(publish('one', 'Connection: close\r\n'));
  answer(0);
  assert.match(socket.written, /\r\nConnection: close\r\n\r\nanswer 0$/);
  assert.equal(socket.writableEnded, true);
});

test('a caller that goes away ends its request, and a late response changes nothing', async () => {
  const { send, begun, socket, answer, connections } = start();
  await send(publish('one'));
  socket.destroy();
  await turn();
  assert.equal(begun[0]!.isOver, true);
  assert.equal(begun[0]!.response.destroyed, true);
  answer(0);
  assert.equal(socket.written, '');
  assert.equal(connections.used, 0);
});

test('a request is under way until the system has its response; one that nobody reads is dropped in time', async () => {
  const { send, begun, socket, answer, forNode } = start();
  socket.isHeld = true;
  await send(publish('one'));
  answer(0);
  await send(publish('two'));
  assert.deepEqual([begun[0]!.isOver, begun.length, forNode()], [false, 1, null]);
  socket.release();
  await turn();
  assert.equal(begun[0]!.isOver, true);
  assert.equal(forNode(), publish('two'));

  const unread = start();
  unread.socket.isHeld = true;
  await unread.send(publish('one'));
  unread.answer(0);
  await unread.advance(CALLER_TIMES.unreadMs + 3 * CALLER_TIMES.lookMs);
  await turn();
  assert.equal(unread.socket.destroyed, true);
  assert.equal(unread.begun[0]!.isOver, true);
});

test('when the service closes: an idle connection is dropped, a publish under way is answered, a part is left to node:http', async () => {
  const idle = start();
  const busy = start();
  const part = start();
  await busy.send(publish('one'));
  await part.send(publish('one').slice(0, -1));
  for (const { state, connections } of [idle, busy, part]) {
    state.isClosing = true;
    connections.stop();
  }
  await turn();
  assert.equal(idle.socket.destroyed, true);
  assert.equal(part.forNode(), publish('one').slice(0, -1));
  busy.answer(0);
  assert.match(busy.socket.written, /\r\nConnection: close\r\n\r\nanswer 0$/);
  assert.equal(busy.socket.writableEnded, true);
});

test('on a connection that is being closed, no further request is begun, here or by node:http', async () => {
  for (const isClosing of [false, true]) {
    const { send, socket, begun, answer, state, forNode } = start();
    await send(publish('one', isClosing ? '' : 'Connection: close\r\n'));
    state.isClosing = isClosing;
    answer(0);
    await send(publish('two'));
    assert.equal(socket.writableEnded, true);
    assert.deepEqual([begun.length, forNode()], [1, null]);
  }
});

test('a response that is still being written when the service closes, or the caller its side, ends the connection', async () => {
  for (const what of ['service', 'caller']) {
    const { send, socket, answer, state, connections } = start();
    socket.isHeld = true;
    await send(publish('one'));
    answer(0);
    if (what === 'service') {
      state.isClosing = true;
      connections.stop();
    } else socket.push(null);
    await turn();
    socket.release();
    await turn();
    assert.equal(socket.writableEnded, true, what);
  }
});

test('a caller that closed its side in the middle of a body is not given to node:http as well', async () => {
  const { send, socket, advance, forNode, connections } = start();
  await send(publish('one').slice(0, -1));
  socket.push(null);
  await turn();
  await advance(CALLER_TIMES.lookMs);
  connections.stop();
  assert.equal(forNode(), null);
});

test('a response that is not read counts as unread at once', async () => {
  const { send, socket, answer, connections } = start();
  socket.isHeld = true;
  await send(publish('one'));
  answer(0);
  assert.ok(connections.unreadBytes > 0);
  socket.release();
  await turn();
  assert.equal(connections.unreadBytes, 0);
});
