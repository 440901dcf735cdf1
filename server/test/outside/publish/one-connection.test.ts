// Publishes and other calls on one connection, however they are cut and mixed: each gets its own response, in order, and
// each accepted message is stored once.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { type Rider, sharedRider } from '../../support/harness.ts';
import { type Cleanup, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const shared = sharedRider();

class Caller {
  readonly #socket: Socket;
  text = '';

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      this.text += chunk;
    });
  }

  static async dial(t: Cleanup, rider: Rider): Promise<Caller> {
    const socket = connect({ port: Number(new URL(rider.url).port), host: '127.0.0.1', allowHalfOpen: true });
    socket.setNoDelay(true);
    t.after(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    return new Caller(socket);
  }

  say(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  /** It sends nothing more, and goes on reading. */
  end(text = ''): void {
    this.#socket.end(text, 'latin1');
  }

  get statuses(): string[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status!);
  }

  async hears(...statuses: number[]): Promise<void> {
    await waitFor(`${statuses}`, () => this.statuses.length >= statuses.length);
    assert.deepEqual(this.statuses, statuses.map(String));
  }

  hearsEnd(): Promise<unknown> {
    return waitFor('the end of the connection', () => this.#socket.readableEnded);
  }
}

const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

async function start(t: Cleanup) {
  const rider = shared();
  const receiver = await startReceiver(t);
  const publish = (body: string, more = '', token = rider.token) =>
    `POST /v2/publish/${receiver.url} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n${more}` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  const bodies = () => receiver.arrivals.map(({ body }) => String(body)).sort();
  const delivers = async (...expected: string[]) => {
    await waitFor('the deliveries', () => receiver.arrivals.length >= expected.length);
    assert.deepEqual(bodies(), expected.sort());
  };
  return { publish, delivers, caller: await Caller.dial(t, rider) };
}

test('one after another: publishes, another call, and publishes again', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('one'));
  await caller.hears(201);
  caller.say(publish('two'));
  await caller.hears(201, 201);
  caller.say(GET);
  await caller.hears(201, 201, 200);
  caller.say(publish('three'));
  await caller.hears(201, 201, 200, 201);
  await delivers('one', 'two', 'three');
});

test('all at once: each gets its response, in order', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('one') + GET + publish('none', '', 'wrong') + publish('two'));
  await caller.hears(201, 200, 401, 201);
  await delivers('one', 'two');
});

test('the next is sent before the response to the last: each gets its own, in order', async (t) => {
  const { publish, delivers, caller } = await start(t);
  const bodies = Array.from({ length: 20 }, (_, index) => `body ${index}`);
  for (const body of bodies) {
    caller.say(publish(body));
    await new Promise(setImmediate);
  }
  await caller.hears(...bodies.map(() => 201));
  await delivers(...bodies);
});

test('byte by byte, and cut at every place of a request', async (t) => {
  const { publish, delivers, caller } = await start(t);
  for (const byte of publish('one')) {
    caller.say(byte);
    await new Promise(setImmediate);
  }
  await caller.hears(201);
  const cuts = [3, 30, publish('two').length - 6, publish('two').length - 3, publish('two').length - 1];
  for (const cut of cuts) {
    const other = await Caller.dial(t, shared());
    other.say(publish('two').slice(0, cut));
    await new Promise((resolve) => setTimeout(resolve, 20));
    other.say(publish('two').slice(cut));
    await other.hears(201);
  }
  await delivers('one', ...cuts.map(() => 'two'));
});

test('a refused publish leaves the connection usable, and nothing is stored', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('none', '', 'wrong'));
  await caller.hears(401);
  caller.say(publish('none', 'Service-Delay: never\r\n'));
  await caller.hears(401, 400);
  caller.say(publish('none', 'Content-Encoding: gzip\r\n'));
  await caller.hears(401, 400, 415);
  caller.say(publish('one'));
  await caller.hears(401, 400, 415, 201);
  await delivers('one');
});

test('a caller that closes its side behind a publish still hears the response', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.end(publish('one'));
  await caller.hears(201);
  await caller.hearsEnd();
  await delivers('one');
});

test('a caller that closes its side in the middle of a body is told, and nothing is stored', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.end(publish('none').slice(0, -1));
  await caller.hears(400);
  await caller.hearsEnd();
  await delivers();
});

test('Connection: close: the response says so, and the connection ends', async (t) => {
  const { publish, delivers, caller } = await start(t);
  caller.say(publish('one', 'Connection: close\r\n'));
  await caller.hearsEnd();
  await caller.hears(201);
  assert.match(caller.text, /\r\nConnection: close\r\n/);
  await delivers('one');
});
