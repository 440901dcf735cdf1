// The memory for answers that are coming in: an account over its share gets less of a body or loses an answer without a
// head, another account gets all of its own, and everything is given back. None of it outlives the attempt.

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createDial } from '../../../src/delivery/egress/dial.ts';
import { WireWindow } from '../../../src/delivery/engine/wire-window.ts';
import { NetworkAttempt } from '../../../src/delivery/http/attempt.ts';
import { Connections } from '../../../src/delivery/http/connections.ts';
import type { Outcome } from '../../../src/rules/delivery/message.ts';
import { parseTargetUrl } from '../../../src/rules/publish/destination.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';
import { Deadlines } from '../../../src/runtime/deadlines.ts';
import { readRequests, startReceiver } from './receivers.ts';
import { manualClock, policyOf, until } from './senders.ts';

const KIB = 1024;
const BODY = 'x'.repeat(20 * KIB);

/** Attempts of any account that share so much memory for their answers. */
function startAttempts(bytes: number) {
  const clock = manualClock();
  const wire = new WireWindow(clock);
  const lookups = { find: async (_accountId: string, hostname: string) => [hostname] };
  const dial = createDial({ policy: policyOf('127.0.0.0/8'), network: { connect }, lookups });
  const connections = new Connections({ clock, dial, wire, hostConnectionsMax: 8 });
  const deadlines = new Deadlines(clock);
  const answers = new Pool(bytes);
  const means = { connections, deadlines, wire, answers };
  const attempt = (accountId: string, url: string): Promise<Outcome | 'unsent'> => {
    const target = parseTargetUrl(url);
    if ('problem' in target) throw new Error(target.problem);
    return new Promise((done) => {
      const request = {
        accountId,
        target,
        method: 'POST',
        headers: [],
        signature: [],
        body: Buffer.from('x'),
      } as const;
      const owner = {
        attemptEnded: (_lease: string, _at: number, outcome: Outcome | 'unsent') => done(outcome),
        bodyWritten: () => {},
      };
      new NetworkAttempt(means, owner, 'lease', 0).start({ ...request, timeoutMs: 30_000, mustStartBefore: null });
    });
  };
  return { ...means, means, attempt };
}

test('a body is cut where the share of its account ends, and another account has all of its own', async (t) => {
  const open: Socket[] = [];
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => {
      open.push(socket);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length + 1}\r\n\r\n${BODY}`);
    }),
  );
  const { answers, connections, attempt } = startAttempts(200 * KIB);
  t.after(() => connections.close());
  // Other answers of the account.
  assert.equal(answers.take('a', 90 * KIB), null);
  const cut = await attempt('a', receiver.url);
  assert.ok(cut !== 'unsent' && cut.kind === 'answered');
  assert.equal(cut.status, 200);
  assert.equal(cut.isBodyCut, true);

  const other = attempt('b', receiver.url);
  await until(() => answers.heldBy('b') >= BODY.length);
  for (const socket of open) socket.write('!');
  const whole = await other;
  assert.ok(whole !== 'unsent' && whole.kind === 'answered');
  assert.equal(whole.isBodyCut, false);
  assert.equal(whole.body.length, BODY.length + 1);
  answers.give('a', 90 * KIB);
  assert.equal(answers.used, 0);
});

test('an answer whose head is not whole fails where the share of its account ends', async (t) => {
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => socket.write(`HTTP/1.1 200 OK\r\nX-Long: ${BODY}`)),
  );
  const { answers, connections, attempt } = startAttempts(20 * KIB);
  t.after(() => connections.close());
  const outcome = await attempt('a', receiver.url);
  assert.deepEqual(outcome, {
    kind: 'unreachable',
    reason: 'this server has no room for more unfinished responses',
  });
  assert.equal(answers.used, 0);
});

test('a request and its answer are let go when the attempt ends, while the connection stays open', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const receiver = await startReceiver(t, (socket) =>
    readRequests(socket, () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`)),
  );
  const { connections, means } = startAttempts(200 * KIB);
  t.after(() => connections.close());
  const target = parseTargetUrl(receiver.url);
  if ('problem' in target) throw new Error(target.problem);
  const outcomes: (Outcome | 'unsent')[] = [];
  const owner = {
    attemptEnded: (_lease: string, _at: number, outcome: Outcome | 'unsent') => void outcomes.push(outcome),
    bodyWritten: () => {},
  };
  // By themselves, so that nothing here keeps what they hold.
  const start = () => {
    const body = Buffer.alloc(10 * KIB);
    const attempt = new NetworkAttempt(means, owner, 'lease', 0);
    const request = { accountId: 'a', target, method: 'POST', headers: [], signature: [] } as const;
    attempt.start({ ...request, body, timeoutMs: 30_000, mustStartBefore: null });
    return { attempts: [attempt], body: new WeakRef(body.buffer) };
  };
  const answerBody = () => {
    const outcome = outcomes.pop()!;
    assert.ok(outcome !== 'unsent' && outcome.kind === 'answered');
    return new WeakRef(outcome.body.buffer);
  };
  const isGone = (reference: WeakRef<object>) =>
    until(() => {
      collect();
      return reference.deref() === undefined;
    });

  const { attempts, body } = start();
  await until(() => outcomes.length > 0);
  const answer = answerBody();
  await isGone(body);
  // A connection of undici keeps its last attempt, which is light by now.
  assert.equal(attempts.length, 1);
  await isGone(answer);
  await isGone(new WeakRef(attempts.pop()!));
  assert.equal(connections.openCount, 1);
});
