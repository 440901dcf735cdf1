// Each self-test fails with something that does not behave as Node.js, undici, pg or pino do inside. The log says so once, and the
// public way does the same.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import type pg from 'pg';
import pino, { type Logger } from 'pino';
import * as undici from 'undici';
import { WireWindow } from '../../../src/delivery/engine/wire-window.ts';
import { AnswerTooLargeError, guardAnswer } from '../../../src/delivery/http/answer-guard.ts';
import { guardFirstWrite, TooLateError } from '../../../src/delivery/http/first-write.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { testBeforeWrite } from '../../../src/runtime/node-internals/before-write.ts';
import {
  destroyConnection,
  pingServer,
  testDatabaseConnection,
} from '../../../src/runtime/node-internals/database-connection.ts';
import {
  type Feature,
  isFeatureWorking,
  reportBrokenFeatures,
  testFeature,
} from '../../../src/runtime/node-internals/features.ts';
import { keepsAlive, testHalfOpen, testHttpConnection } from '../../../src/runtime/node-internals/http-connection.ts';
import { logStreamOf, testLogLines } from '../../../src/runtime/node-internals/log-lines.ts';
import { ProbedRequest, testParsedRequest } from '../../../src/runtime/node-internals/parsed-request.ts';
import { testReadGuard } from '../../../src/runtime/node-internals/read-guard.ts';
import { testSocketBytes } from '../../../src/runtime/node-internals/socket-bytes.ts';
import { wrapSocket } from '../../../src/runtime/node-internals/wrapped-socket.ts';
import { testWriteQueue } from '../../../src/runtime/node-internals/write-queue.ts';
import { logBrokenFeature } from '../../../src/telemetry/log.ts';
import { startRider } from '../../support/harness.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

/** One end of a connection. What the other end writes is given to `take`. */
class FakeEnd extends Duplex {
  other: FakeEnd | null = null;
  readonly #take: (bytes: Buffer) => void;

  constructor(take: (this: FakeEnd, bytes: Buffer) => void) {
    super();
    this.#take = take;
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    const { other } = this;
    if (other !== null) other.#take.call(other, bytes);
    done();
  }
}

function fakeEnds(take: (this: FakeEnd, bytes: Buffer) => void): [near: Socket, far: Duplex] {
  const [near, far] = [new FakeEnd(take), new FakeEnd(take)];
  near.other = far;
  far.other = near;
  return [near as unknown as Socket, far];
}

async function realEnds(t: TestContext): Promise<[near: Socket, far: Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [near] = (await once(server, 'connection')) as [Socket];
  t.after(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return [near, far];
}

function emitsData(this: FakeEnd, bytes: Buffer): void {
  this.emit('data', bytes);
}

function pushes(this: FakeEnd, bytes: Buffer): void {
  this.push(bytes);
}

const breakIt = (feature: Feature) =>
  testFeature(feature, () => {
    throw new Error('it is otherwise');
  });

suite('a self-test fails', () => {
  test('if a socket does not call its own push', () =>
    assert.rejects(testSocketBytes(...fakeEnds(emitsData)), /does not call its own push/));

  test('if a socket goes on reading', () =>
    assert.rejects(testSocketBytes(...fakeEnds(pushes)), /goes on reading although push returned false/));

  test('if node:http reads past the stream', () =>
    assert.rejects(testHttpConnection(...fakeEnds(emitsData)), /reads past the stream/));

  test('if a server cannot be told that callers may close their side', async () => {
    const server = () => createHttpServer();
    const without = () => {
      const made = server();
      Reflect.deleteProperty(made, 'httpAllowHalfOpen');
      return made;
    };
    const fixed = () => Object.defineProperty(server(), 'httpAllowHalfOpen', { get: () => false, set: () => {} });
    await assert.rejects(testHalfOpen(without), /has no httpAllowHalfOpen/);
    await assert.rejects(testHalfOpen(fixed), /gets no response/);
  });

  test('if the parser does not call push of a request, or nothing calls its _dump', async () => {
    class Unpushed extends ProbedRequest {
      override push(piece: Uint8Array | null): boolean {
        return IncomingMessage.prototype.push.call(this, piece);
      }
    }
    class Undumped extends ProbedRequest {
      override _dump(): void {}
    }
    await assert.rejects(testParsedRequest(Unpushed), /does not call push/);
    await assert.rejects(testParsedRequest(Undumped), /does not call _dump/);
  });

  test('if a socket does not call its own _write', () =>
    assert.rejects(
      testBeforeWrite(() => Object.assign(new Socket(), { write: () => true })),
      /does not call its own _write/,
    ));

  test('if a socket does not say what the system has not taken', () =>
    assert.throws(() => testWriteQueue(new Socket()), /what the system has not taken/));

  test('if undici does not call read of its socket', () => {
    class OtherClient {
      dispatch(_options: object, handler: undici.Dispatcher.DispatchHandler): void {
        handler.onResponseData!({} as undici.Dispatcher.DispatchController, Buffer.from('body'));
        handler.onResponseEnd!({} as undici.Dispatcher.DispatchController, {});
      }
      async destroy(): Promise<void> {}
    }
    const Client = OtherClient as unknown as typeof undici.Client;
    return assert.rejects(testReadGuard({ Client }), /does not call read/);
  });

  test('if a log does not say where it writes', () =>
    assert.throws(() => testLogLines(() => ({}) as Logger), /does not say where it writes/));

  test('if a client of pg has another inside', () => {
    assert.throws(() => testDatabaseConnection({}), /which socket/);
    assert.throws(() => testDatabaseConnection({ connection: { stream: { destroy() {} } } }), /sync/);
  });
});

test('a feature that fails is named in the log once, with what is different without it', async () => {
  const lines: string[] = [];
  reportBrokenFeatures(logBrokenFeature(pino({ base: null }, { write: (line) => void lines.push(line) })));
  await breakIt('writeQueue');
  await breakIt('writeQueue');
  assert.equal(isFeatureWorking('writeQueue'), false);
  assert.equal(lines.length, 1);
  const { level, feature, why, msg } = JSON.parse(lines[0]!);
  assert.deepEqual([level, feature, why], [40, 'writeQueue', 'it is otherwise']);
  assert.match(msg, /a self-test failed.*reads one large response/);
});

suite('the public way', () => {
  test('of reading a socket passes the self-tests', async (t) => {
    const [near, far] = await realEnds(t);
    await testSocketBytes(wrapSocket(near), far);
    const [other, its] = await realEnds(t);
    await testHttpConnection(wrapSocket(other), its);
  });

  test('of a wrapped socket gives large writes away whole, and a timeout and an error on', async (t) => {
    const [near, far] = await realEnds(t);
    const wrapped = wrapSocket(near);
    let bytes = 0;
    far.on('data', (chunk) => {
      bytes += chunk.length;
    });
    wrapped.cork();
    wrapped.write('head');
    wrapped.write(Buffer.alloc(500_000));
    wrapped.uncork();
    wrapped.end();
    await once(far, 'end');
    assert.equal(bytes, 500_004);
    near.emit('timeout');
    const failed = new Promise((resolve) => wrapped.once('close', resolve));
    wrapped.once('error', () => {});
    near.destroy(new Error('gone'));
    await failed;
    assert.equal(wrapped.errored?.message, 'gone');
  });

  test('of all of the inbound side serves publishes', async (t) => {
    await breakIt('httpReader');
    await breakIt('requestBody');
    const rider = await startRider(t);
    const receiver = await startReceiver(t);
    for (const body of ['small', 'x'.repeat(200_000)]) await rider.published(receiver.url, { body });
    await waitFor('the deliveries', () => receiver.arrivals.length === 2);
  });

  test('of asking whether another request may follow is careful', () => {
    const asked = (httpVersion: string, connection?: string) =>
      keepsAlive({ httpVersion, headers: { connection } } as never, {} as never);
    assert.equal(asked('1.1'), true);
    assert.equal(asked('1.1', 'keep-alive'), true);
    assert.equal(asked('1.1', 'Upgrade, Close'), false);
    assert.equal(asked('1.0', 'keep-alive'), false);
  });

  test('of the first write checks the time just before it', async () => {
    await breakIt('firstWrite');
    const clock = new ManualClock(0);
    const socket = new Socket();
    const expectWrite = guardFirstWrite(socket, new WireWindow(clock));
    expectWrite(null);
    expectWrite(clock.now() + 1);
    assert.equal(socket.destroyed, false);
    clock.advance(1);
    const failed = once(socket, 'error');
    expectWrite(clock.now());
    const [error] = await failed;
    assert.ok(error instanceof TooLateError);
  });

  test('of guarding answers gives them to undici, and cuts off those that are too large', async (t) => {
    await breakIt('answerGuard');
    const answers = ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody'];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        const times = String(bytes).includes('/many') ? eachMax('interimAnswers') + 1 : 1;
        socket.write(answers[0]!.repeat(times) + answers[1]);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    let expectNext = () => {};
    const client = new undici.Client(`http://127.0.0.1:${port}`, {
      connect: (_options, done) => {
        const { socket, expectAnswer } = guardAnswer(connect(port, '127.0.0.1'));
        expectNext = () => expectAnswer(() => true);
        expectNext();
        socket.on('error', () => {});
        process.nextTick(done, null, socket);
      },
    });
    t.after(async () => {
      await client.destroy();
      server.close();
    });
    const { statusCode, body } = await client.request({ path: '/', method: 'GET' });
    assert.deepEqual([statusCode, await body.text()], [200, 'body']);
    expectNext();
    await client.request({ path: '/many', method: 'GET' }).then(
      () => assert.fail('was answered'),
      (error) => assert.ok(error instanceof AnswerTooLargeError, String(error)),
    );
  });

  test('of writing finished lines is the log itself', async () => {
    await breakIt('logLines');
    const lines: string[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(line) });
    logStreamOf(log).write('{"level":30,"time":1,"a":1,"msg":"one"}\n{"level":30,"time":1,"b":[2],"msg":"two"}\n');
    const written = lines.map((line) => ({ ...JSON.parse(line), time: 1 }));
    assert.deepEqual(written, [
      { level: 30, time: 1, a: 1, msg: 'one' },
      { level: 30, time: 1, b: [2], msg: 'two' },
    ]);
  });

  test('of a connection to the database ends it, and asks the shortest query', async () => {
    await breakIt('databaseConnection');
    const calls: string[] = [];
    const client = {
      end: async () => void calls.push('end'),
      query: async (text: string) => void calls.push(`query ${text}`),
    } as unknown as pg.ClientBase;
    await pingServer(client);
    destroyConnection(client);
    assert.deepEqual(calls, ['query ', 'end']);
  });
});
