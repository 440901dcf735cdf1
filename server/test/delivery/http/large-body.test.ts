// Large bodies: sent whole, reported when the connection has all of them, and let go then, however long the answer takes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { UNCOUNTED_BODY_BYTES_MAX } from '../../../src/rules/limits/budgets.ts';
import { OK, readRequests, startReceiver } from './receivers.ts';
import { REST_MS, startSender, until } from './senders.ts';

const KIB = 1024;
/** Large enough to be signed beside the event loop. */
const BODY = patterned(1024 * KIB);

function patterned(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 4) bytes.writeUInt32LE(at, Math.min(at, length - 4));
  return bytes;
}

test('a large body arrives whole, with its length, and the connection is used again', async (t) => {
  const bodies: Buffer[] = [];
  const sockets = new Set<unknown>();
  const { url } = await startReceiver(t, (socket) => {
    sockets.add(socket);
    readRequests(socket, (request) => {
      bodies.push(request.body);
      const of = (name: string) =>
        request.headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
      assert.deepEqual(of('content-length'), [String(request.body.length)]);
      assert.deepEqual(of('transfer-encoding'), []);
      socket.write(OK);
    });
  });
  const { outcome, clock } = startSender(t);
  const sizes = [16 * KIB, 16 * KIB + 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, 1024 * KIB + 3];
  for (const size of sizes) {
    const body = patterned(size);
    assert.equal((await outcome({ url, body })).kind, 'answered');
    assert.deepEqual(bodies.pop(), body);
    clock.advance(REST_MS);
  }
  assert.equal(sockets.size, 1);
});

test('only large bodies are reported as written, and before their answer', async (t) => {
  const answers: (() => void)[] = [];
  const { url } = await startReceiver(t, (socket) => readRequests(socket, () => answers.push(() => socket.write(OK))));
  const { sender, send } = startSender(t);
  const written: string[] = [];
  sender.onWritten((leases) => written.push(...leases));
  const large = send({ url, body: patterned(UNCOUNTED_BODY_BYTES_MAX + 1) });
  await until(() => written.length > 0 && answers.length > 0);
  answers.pop()!();
  assert.deepEqual(written, [(await large).lease]);
  const small = send({ url, body: patterned(UNCOUNTED_BODY_BYTES_MAX) });
  await until(() => answers.length > 0);
  answers.pop()!();
  await small;
  assert.equal(written.length, 1);
});

test('a body that the receiver does not take is not reported as written', async (t) => {
  let isConnected = false;
  const { url } = await startReceiver(t, (socket) => {
    socket.pause();
    isConnected = true;
  });
  const { sender, send, clock } = startSender(t);
  let isWritten = false;
  sender.onWritten(() => {
    isWritten = true;
  });
  const sending = send({ url, body: patterned(32 * 1024 * KIB), timeoutMs: 1000 });
  await until(() => isConnected);
  for (let turn = 0; turn < 200; turn += 1) await new Promise((done) => setImmediate(done));
  assert.equal(isWritten, false);
  clock.advance(1000);
  assert.deepEqual((await sending).outcome, { kind: 'timedOut', timeoutMs: 1000 });
});

test('a written body is released while the response is awaited', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let isReceived = false;
  const { url } = await startReceiver(t, (socket) =>
    readRequests(socket, () => {
      isReceived = true;
    }),
  );
  const { sender, send, clock } = startSender(t);
  sender.onWritten(() => {});
  // By itself, so that nothing here keeps it.
  const start = () => {
    const body = new Uint8Array(512 * KIB);
    return { reference: new WeakRef(body.buffer), sending: send({ url, body, timeoutMs: 1000 }) };
  };
  const { reference, sending } = start();
  await until(() => isReceived);
  await until(() => {
    collect();
    return reference.deref() === undefined;
  });
  clock.advance(1000);
  await sending;
});

test('while its signature is made, a large body can be dropped, is given back when the time to start passes, and at close', async (t) => {
  const received: number[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, ({ body }) => {
      received.push(body.length);
      socket.write(OK);
    }),
  );
  const { sender, clock, send, outcome } = startSender(t);
  const { url } = receiver;
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  let isReported = false;
  void send({ url, body: BODY }).then(() => {
    isReported = true;
  });
  // In the line behind the one that is signed, whose signature is then not used.
  const kept = outcome({ url, body: BODY.subarray(1) });
  assert.deepEqual(sender.drop(['lse_1']), ['lse_1']);
  assert.deepEqual(sender.drop(['lse_1']), []);
  assert.equal((await kept).kind, 'answered');
  assert.deepEqual([received, isReported], [[BODY.length - 1], false]);

  const [late, lateBehind] = [send({ url, body: BODY }), send({ url, body: BODY })];
  clock.advance(3000);
  sender.mayStartUntil(clock.monotonicMs() + 2000);
  assert.deepEqual([(await late).outcome, (await lateBehind).outcome], ['unsent', 'unsent']);

  const atClose = send({ url, body: BODY });
  await sender.close();
  assert.equal((await atClose).outcome, 'unsent');
  assert.equal(received.length, 1);
});
