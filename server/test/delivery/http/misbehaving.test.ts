// Receivers that do everything wrong. Whatever they do, there is one outcome, in plain words, and nothing piles up.

import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { answerWith, OK, readRequests, startReceiver } from './receivers.ts';
import { REST_MS, startSender, until } from './senders.ts';

const HEAD = 'HTTP/1.1 200 OK\r\n';

test('refuses the connection', async (t) => {
  const receiver = await startReceiver(t, () => {});
  const closedPort = await new Promise<number>((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address !== null ? address.port : receiver.port));
    });
  });
  const { outcome } = startSender(t);
  assert.deepEqual(await outcome({ url: `http://127.0.0.1:${closedPort}/` }), {
    kind: 'unreachable',
    reason: `connection refused by 127.0.0.1:${closedPort}`,
  });
});

const BROKEN_OFF: readonly (readonly [when: string, sent: string, until: string])[] = [
  ['before the answer', '', 'before a response'],
  ['in the status line', 'HTTP/1.1 20', 'before a response'],
  ['in the headers', `${HEAD}Content-Le`, 'before a response'],
  ['in a body of known length', `${HEAD}Content-Length: 100\r\n\r\nhello`, 'before the response was complete'],
  ['in a chunked body', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`, 'before the response was complete'],
  [
    'in the body of a last answer',
    `${HEAD}Connection: close\r\nContent-Length: 100\r\n\r\nhello`,
    'before the response was complete',
  ],
];
for (const [when, sent, words] of BROKEN_OFF) {
  for (const how of ['reset', 'closed'] as const) {
    test(`connection ${how} ${when}`, async (t) => {
      const hangUp = (socket: Socket) => (how === 'reset' ? socket.resetAndDestroy() : socket.end());
      const receiver = await startReceiver(t, (socket) =>
        readRequests(socket, () =>
          sent === '' ? hangUp(socket) : socket.write(sent, () => setImmediate(hangUp, socket)),
        ),
      );
      const { outcome } = startSender(t);
      const answer = await outcome({ url: receiver.url });
      assert.ok(answer.kind === 'unreachable');
      assert.match(answer.reason, new RegExp(`^connection (reset|closed) ${words}$`));
    });
  }
}

test('hangs up as soon as it is connected to', async (t) => {
  const receiver = await startReceiver(t, (socket) => socket.resetAndDestroy());
  const { outcome } = startSender(t);
  assert.equal((await outcome({ url: receiver.url })).kind, 'unreachable');
});

test('never answers', async (t) => {
  let isAsked = false;
  let isGone = false;
  const receiver = await startReceiver(t, (socket) => {
    readRequests(socket, () => (isAsked = true));
    socket.on('close', () => (isGone = true));
  });
  const { outcome, clock } = startSender(t);
  const answer = outcome({ url: receiver.url, timeoutMs: 10_000 });
  await until(() => isAsked);
  clock.advance(9_999);
  clock.advance(1);
  assert.deepEqual(await answer, { kind: 'timedOut', timeoutMs: 10_000 });
  await until(() => isGone);
  assert.equal(clock.timerCount, 0);
});

for (const [what, head] of [
  ['headers', `${HEAD}X-Slow: `],
  ['a body', `${HEAD}Content-Length: 1000000\r\n\r\n`],
] as const) {
  test(`drips ${what}: each byte is progress, but the deadline is over all`, async (t) => {
    let sentBytes = 0;
    let isGone = false;
    const receiver = await startReceiver(t, (socket) => {
      readRequests(socket, () => {
        socket.write(head);
        const drip = setInterval(() => {
          sentBytes += 1;
          socket.write('x');
        }, 1);
        socket.on('close', () => {
          clearInterval(drip);
          isGone = true;
        });
      });
    });
    const { outcome, clock } = startSender(t);
    const answer = outcome({ url: receiver.url, timeoutMs: 10_000 });
    for (let second = 1; second <= 10; second += 1) {
      const before = sentBytes;
      await until(() => sentBytes > before);
      clock.advance(1_000);
    }
    assert.deepEqual(await answer, { kind: 'timedOut', timeoutMs: 10_000 });
    await until(() => isGone);
  });
}

test('does not read the request', async (t) => {
  const receiver = await startReceiver(t, (socket) => socket.pause());
  const { outcome, clock } = startSender(t);
  const answer = outcome({ url: receiver.url, body: Buffer.alloc(10 * 1_024 * 1_024), timeoutMs: 5_000 });
  await until(() => receiver.connectionCount === 1);
  clock.advance(5_000);
  assert.equal((await answer).kind, 'timedOut');
});

for (const [what, head] of [
  ['an endless body', `${HEAD}\r\n`],
  ['an endless chunked body', `${HEAD}Transfer-Encoding: chunked\r\n\r\n40000000\r\n`],
  ['a body of 1 GiB', `${HEAD}Content-Length: 1073741824\r\n\r\n`],
] as const) {
  test(`sends ${what}: kept up to the limit, and not read on`, async (t) => {
    let sentBytes = 0;
    let isGone = false;
    const block = Buffer.alloc(64 * 1_024, 'x');
    const receiver = await startReceiver(t, (socket) => {
      socket.on('close', () => (isGone = true));
      const pour = () => {
        while (!socket.destroyed && socket.write(block)) sentBytes += block.length;
      };
      readRequests(socket, () => {
        socket.write(head);
        socket.on('drain', pour);
        pour();
      });
    });
    const { outcome } = startSender(t);
    const answer = await outcome({ url: receiver.url });
    assert.ok(answer.kind === 'answered');
    assert.equal(answer.status, 200);
    assert.equal(answer.isBodyCut, true);
    assert.deepEqual(Buffer.from(answer.body), Buffer.alloc(eachMax('answerBodyBytes'), 'x'));
    await until(() => isGone);
    assert.ok(sentBytes < 64 * 1_024 * 1_024, `the receiver could send ${sentBytes} bytes`);
  });
}

test('a body of exactly the limit is whole, one byte more is cut', async (t) => {
  const { outcome } = startSender(t);
  for (const [extra, isCut] of [
    [0, false],
    [1, true],
  ] as const) {
    const length = eachMax('answerBodyBytes') + extra;
    const receiver = await startReceiver(
      t,
      answerWith(`${HEAD}Content-Length: ${length}\r\n\r\n`, Buffer.alloc(length, 'x')),
    );
    const answer = await outcome({ url: receiver.url });
    assert.ok(answer.kind === 'answered');
    assert.equal(answer.body.length, eachMax('answerBodyBytes'));
    assert.equal(answer.isBodyCut, isCut);
  }
});

test('sends a gzip bomb: it stays packed', async (t) => {
  const bomb = gzipSync(Buffer.alloc(32 * 1_024 * 1_024));
  const receiver = await startReceiver(
    t,
    answerWith(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`, bomb),
  );
  const { outcome } = startSender(t);
  const answer = await outcome({ url: receiver.url });
  assert.ok(answer.kind === 'answered');
  assert.deepEqual(Buffer.from(answer.body), bomb.subarray(0, eachMax('answerBodyBytes')));
});

test('sends 10,000 headers', async (t) => {
  const headers = Array.from({ length: 10_000 }, (_, i) => `X-Header-${i}: ${i}\r\n`).join('');
  const receiver = await startReceiver(t, answerWith(`${HEAD}${headers}Content-Length: 0\r\n\r\n`));
  const { outcome } = startSender(t);
  assert.deepEqual(await outcome({ url: receiver.url }), {
    kind: 'unreachable',
    reason: 'response headers are larger than 64 KiB',
  });
});

test('sends one endless header', async (t) => {
  const block = 'x'.repeat(16 * 1_024);
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => {
      const pour = () => {
        while (!socket.destroyed && socket.write(block));
      };
      socket.write(`${HEAD}X-Endless: `);
      socket.on('drain', pour);
      pour();
    }),
  );
  const { outcome } = startSender(t);
  assert.deepEqual(await outcome({ url: receiver.url }), {
    kind: 'unreachable',
    reason: 'response headers are larger than 64 KiB',
  });
});

for (const [what, answer] of [
  ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['SMTP', '220 mail.example.com ESMTP\r\n'],
  ['noise', Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 7 + 13) & 0xff))],
  ['an impossible chunk length', `${HEAD}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`],
  ['two lengths', `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`],
  ['both length and chunks', `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nxx`],
  ['two equal lengths', `${HEAD}Content-Length: 2\r\nContent-Length: 2\r\n\r\nxx`],
  ['a length with a sign', `${HEAD}Content-Length: +2\r\n\r\nxx`],
  ['a list of lengths', `${HEAD}Content-Length: 2, 2\r\n\r\nxx`],
  ['a folded header', `${HEAD}X-A: a\r\n b\r\nContent-Length: 2\r\n\r\nxx`],
  ['a blank before the colon', `${HEAD}Transfer-Encoding : chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n`],
  ['a header without a colon', `${HEAD}X-A\r\nContent-Length: 2\r\n\r\nxx`],
  ['a NUL in a header', `${HEAD}X-A: a\0b\r\nContent-Length: 2\r\n\r\nxx`],
  ['half a line break in a header', `${HEAD}X-A: a\rContent-Length: 9\r\nContent-Length: 2\r\n\r\nxx`],
  ['a chunk that is longer than it says', `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nxxx\r\n0\r\n\r\n`],
  ['a chunk without a length', `${HEAD}Transfer-Encoding: chunked\r\n\r\n\r\nxx\r\n0\r\n\r\n`],
  ['half a line break in a chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n2;a\nxx\r\n0\r\n\r\n`],
] as const) {
  test(`is not HTTP but ${what}`, async (t) => {
    const receiver = await startReceiver(t, answerWith(answer));
    const { outcome } = startSender(t);
    const result = await outcome({ url: receiver.url });
    assert.ok(result.kind === 'unreachable');
    assert.match(result.reason, /^response is not HTTP: /);
  });
}

test('switches protocols unasked', async (t) => {
  const receiver = await startReceiver(
    t,
    answerWith('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
  );
  const { outcome } = startSender(t);
  assert.deepEqual(await outcome({ url: receiver.url }), {
    kind: 'unreachable',
    reason: 'response is not HTTP: it switches protocols, which the request did not ask for',
  });
});

test('sends data before the request', async (t) => {
  const receiver = await startReceiver(t, (socket) => socket.write(OK));
  const { outcome } = startSender(t);
  const { kind } = await outcome({ url: receiver.url });
  assert.ok(kind === 'answered' || kind === 'unreachable');
});

for (const [what, interim] of [
  ['103 Early Hints', ['HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n']],
  ['102 twice', ['HTTP/1.1 102 Processing\r\n\r\n', 'HTTP/1.1 102 Processing\r\n\r\n']],
  ['100 Continue', ['HTTP/1.1 100 Continue\r\n\r\n']],
  ['100 Continue with headers, twice', ['HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n']],
  ['100 Continue byte by byte', [...'HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n']],
  ['100 Continue, then 103', ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n']],
] as const) {
  test(`sends ${what} first: passed over, twice on the same connection`, async (t) => {
    const receiver = await startReceiver(t, (socket) => {
      socket.setNoDelay(true);
      readRequests(socket, async () => {
        for (const part of interim) {
          socket.write(part);
          await new Promise((turn) => setImmediate(turn));
        }
        for (const byte of OK) {
          socket.write(byte);
          await new Promise((turn) => setImmediate(turn));
        }
      });
    });
    const { outcome, clock } = startSender(t);
    for (const _ of [1, 2]) {
      const answer = await outcome({ url: receiver.url });
      assert.ok(answer.kind === 'answered');
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.headers, [['Content-Length', '2']]);
      assert.equal(Buffer.from(answer.body).toString(), 'ok');
      clock.advance(REST_MS);
    }
    assert.equal(receiver.connectionCount, 1);
  });
}

test('redirects: the answer is the redirect, nobody goes there', async (t) => {
  const elsewhere = await startReceiver(t, answerWith(OK));
  for (const status of [301, 302, 303, 307, 308]) {
    const receiver = await startReceiver(
      t,
      answerWith(`HTTP/1.1 ${status} Moved\r\nLocation: ${elsewhere.url}/\r\nContent-Length: 0\r\n\r\n`),
    );
    const { outcome } = startSender(t);
    const answer = await outcome({ url: receiver.url });
    assert.equal(answer.kind === 'answered' && answer.status, status);
  }
  assert.equal(elsewhere.connectionCount, 0);
});

test('speaks HTTP/1.0 and ends the body by hanging up', async (t) => {
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => socket.end('HTTP/1.0 200 OK\r\n\r\nhello')),
  );
  const { outcome } = startSender(t);
  for (const _ of [1, 2]) {
    const answer = await outcome({ url: receiver.url });
    assert.ok(answer.kind === 'answered');
    assert.equal(Buffer.from(answer.body).toString(), 'hello');
    assert.equal(answer.isBodyCut, false);
  }
  assert.equal(receiver.connectionCount, 2);
});

test('answers and hangs up before the body of the request has arrived', async (t) => {
  const receiver = await startReceiver(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')),
  );
  const { outcome } = startSender(t);
  const answer = await outcome({ url: receiver.url, body: Buffer.alloc(10 * 1_024 * 1_024) });
  assert.ok(answer.kind === 'unreachable' || (answer.kind === 'answered' && answer.status === 413));
});

test('headers of an answer are kept as sent: case, order, repeats and Latin-1', async (t) => {
  const head = 'HTTP/1.1 404 Nö\r\nX-B: 1\r\nx-a:  é \r\nX-B: 2\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n';
  const receiver = await startReceiver(t, answerWith(Buffer.from(head, 'latin1')));
  const { outcome } = startSender(t);
  const answer = await outcome({ url: receiver.url });
  assert.ok(answer.kind === 'answered');
  assert.equal(answer.status, 404);
  assert.deepEqual(answer.headers, [
    ['X-B', '1'],
    ['x-a', 'é'],
    ['X-B', '2'],
    ['Set-Cookie', 'a=b'],
    ['Content-Length', '0'],
  ]);
});

const REUSE: readonly (readonly [what: string, answer: string, connections: number])[] = [
  ['that says nothing of the connection', OK, 1],
  ['that keeps it for long', OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=60\r\n\r\n'), 1],
  ['that keeps it for a moment', OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=2\r\n\r\n'), 2],
  ['that closes it', OK.replace('\r\n\r\n', '\r\nConnection: x, Close\r\n\r\n'), 2],
  ['of an old receiver', OK.replace('1.1', '1.0'), 2],
  ['of an old receiver that keeps it', OK.replace('1.1 200 OK', '1.0 200 OK\r\nConnection: keep-alive'), 1],
  ['with another answer behind it', `${OK}HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n`, 2],
  ['with a byte behind it', `${OK}x`, 2],
  ['204 with a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', 2],
];
for (const [what, bytes, connections] of REUSE) {
  test(`an answer ${what} leaves ${connections === 1 ? 'its connection' : 'no connection'} to the next request`, async (t) => {
    const receiver = await startReceiver(t, answerWith(bytes));
    const { outcome, clock } = startSender(t);
    for (const _ of [1, 2]) {
      const answer = await outcome({ url: receiver.url });
      assert.ok(answer.kind === 'answered');
      assert.ok(answer.status < 300);
      clock.advance(REST_MS);
    }
    assert.equal(receiver.connectionCount, connections);
  });
}

test('bytes on an idle connection are no answer to the next request', async (t) => {
  const sockets: Socket[] = [];
  const receiver = await startReceiver(t, (socket) => {
    sockets.push(socket);
    answerWith(OK)(socket);
  });
  const { outcome } = startSender(t);
  assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
  sockets[0]!.write('HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n');
  await until(() => sockets[0]!.destroyed);
  const answer = await outcome({ url: receiver.url });
  assert.equal(answer.kind === 'answered' && answer.status, 200);
  assert.equal(receiver.connectionCount, 2);
});

test('a connection that was idle for long is not written to', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  const { outcome, clock } = startSender(t);
  for (const [idleMs, connections] of [
    [REST_MS, 1],
    [3_999, 1],
    [4_000, 2],
  ] as const) {
    clock.advance(idleMs);
    assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
    assert.equal(receiver.connectionCount, connections);
  }
});

test('a chunked body is put together however it is cut, and its connection is used again', async (t) => {
  const head = `${HEAD}Transfer-Encoding: gzip, Chunked\r\n\r\n`;
  const body = '5;a="b"\r\nhello\r\n00001\r\n \r\nA\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n';
  const receiver = await startReceiver(t, (socket) => {
    socket.setNoDelay(true);
    let count = 0;
    readRequests(socket, async () => {
      count += 1;
      const pieces = count === 1 ? [head + body] : [head, ...(count === 2 ? body : body.match(/.{1,7}/gs)!)];
      for (const piece of pieces) {
        socket.write(piece);
        await new Promise((turn) => setImmediate(turn));
      }
    });
  });
  const { outcome, clock } = startSender(t);
  for (const _ of [1, 2, 3]) {
    const answer = await outcome({ url: receiver.url });
    assert.ok(answer.kind === 'answered');
    assert.equal(Buffer.from(answer.body).toString(), 'hello 0123456789');
    assert.equal(answer.isBodyCut, false);
    clock.advance(REST_MS);
  }
  assert.equal(receiver.connectionCount, 1);
});
