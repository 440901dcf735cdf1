// What becomes of a message when an attempt has ended, for every outcome and every state it may be in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from '../../../src/rules/delivery/backoff.ts';
import type { Claim, HeaderList, Message, Outcome, Settlement } from '../../../src/rules/delivery/message.ts';
import {
  afterCancel,
  decideSafely,
  decideSettlement,
  isAwaited,
  type SettleContext,
} from '../../../src/rules/delivery/settle.ts';
import {
  answered,
  CALLBACK_URL,
  callbackTo,
  claimOf,
  countingIds,
  FAILURE_URL,
  NOW,
  PREFIX,
  settings,
} from '../given.ts';

const RETENTION_MS = 1_000_000;
const STARTED_AT = NOW + 5;
const ENDED_AT = NOW + 105;
const UNREACHABLE: Outcome = { kind: 'unreachable', reason: 'the connection was refused' };
const TIMED_OUT: Outcome = { kind: 'timedOut', timeoutMs: 30_000 };
const REFUSED: Outcome = { kind: 'refusedByPolicy', reason: 'the address is private' };
const INTERRUPTED: Outcome = { kind: 'interrupted', reason: 'the node went away', cause: 'crash' };
const CUT_OFF_ALONE: Outcome = { ...INTERRUPTED, cause: 'crashAlone' };
const DRAINED: Outcome = { ...INTERRUPTED, cause: 'drain' };

function settle(claim: Claim, outcome: Outcome, some: Pick<SettleContext, 'retryFloor' | 'trial'> = {}): Settlement {
  const context = { headerPrefix: PREFIX, retentionMs: RETENTION_MS, newId: countingIds(), ...some };
  return decideSettlement(claim, { outcome, startedAt: STARTED_AT, endedAt: ENDED_AT }, context);
}

function withRetries(retries: number, sofar: Partial<Message> = {}, retryDelay: string | null = null): Claim {
  return claimOf({ settings: settings({ retries, retryDelay }) }, sofar);
}

/** How long after its end the attempt is repeated; null if it is not. */
function waitMs(claim: Claim, outcome: Outcome): number | null {
  const { next } = settle(claim, outcome);
  return next.state === 'pending' ? next.dueAt - ENDED_AT : null;
}

test('any 2xx delivers, whatever was tried before', () => {
  for (const status of [200, 201, 204, 226, 299]) {
    for (const retried of [0, 3]) {
      const { next, ...rest } = settle(withRetries(3, { retried, attempts: retried }), answered(status));
      assert.deepEqual(next, { state: 'delivered', expiresAt: ENDED_AT + RETENTION_MS });
      assert.equal(rest.retried, retried);
    }
  }
});

test('everything else that was tried is repeated while there are retries left', () => {
  const failures = [100, 199, 300, 301, 304, 400, 404, 429, 488, 490, 500, 503].map((status) => answered(status));
  for (const outcome of [...failures, UNREACHABLE, TIMED_OUT]) {
    for (const retried of [0, 1, 2]) {
      const result = settle(withRetries(3, { retried, attempts: retried }), outcome);
      assert.deepEqual(result.next, { state: 'pending', dueAt: ENDED_AT + backoffMs(retried), startsAlone: false });
      assert.equal(result.retried, retried + 1);
      assert.equal(result.interrupted, 0);
    }
  }
});

test('the last retry fails the message, and says why', () => {
  const table: [Outcome, string][] = [
    [answered(500), 'the destination returned 500'],
    [UNREACHABLE, 'the connection was refused'],
    [TIMED_OUT, 'no complete response within 30s'],
  ];
  for (const [outcome, failure] of table) {
    for (const retries of [0, 3]) {
      const result = settle(withRetries(retries, { retried: retries, attempts: retries }), outcome);
      assert.deepEqual(result.next, { state: 'failed', expiresAt: ENDED_AT + RETENTION_MS, failure });
      assert.equal(result.retried, retries, 'a retry that is not made is not counted');
    }
  }
});

test('the waits are those of the specification, to the millisecond and never shorter', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6].map((retried) => waitMs(withRetries(100, { retried }), answered(500)));
  assert.deepEqual(waits, [1000, 7390, 54_599, 403_429, 2_980_958, 22_026_466, 86_400_000]);
});

test('Retry-Delay stands in for the backoff and counts the retries made so far', () => {
  const waits = [0, 1, 2].map((retried) => waitMs(withRetries(9, { retried }, '1000 * (1 + retried)'), answered(500)));
  assert.deepEqual(waits, [1000, 2000, 3000]);
  assert.equal(waitMs(withRetries(9, {}, '0'), UNREACHABLE), 0);
});

test('a hint of the receiver puts the retry off, but never brings it forward', () => {
  const after = (value: string, retried = 0) =>
    waitMs(withRetries(9, { retried }), answered(429, [['Retry-After', value]]));
  assert.equal(after('60'), 60_000);
  assert.equal(after('1'), 1000);
  assert.equal(after('1', 1), 7390);
  assert.equal(after('soon', 1), 7390);
  assert.equal(after(new Date(ENDED_AT + 55_000 - (ENDED_AT % 1000)).toUTCString()), 55_000 - (ENDED_AT % 1000));
});

test('a hint of 0 means now, and one against the own Retry-Delay is later or nothing', () => {
  const hinted = (value: string): HeaderList => [['Retry-After', value]];
  assert.equal(waitMs(withRetries(9, { retried: 4 }), answered(503, hinted('0'))), 0);
  assert.equal(waitMs(withRetries(9, {}, '5000'), answered(503, hinted('2'))), 5000);
  assert.equal(waitMs(withRetries(9, {}, '5000'), answered(503, hinted('9'))), 9000);
  assert.equal(waitMs(withRetries(9, {}, '5000'), answered(503, hinted('0'))), 0);
});

test('after so many retries, the next one waits at least as long as the tier says, whatever was asked for', () => {
  const retryFloor = { afterRetries: 2, ms: 5000 };
  const waits = [0, 1, 2, 3].map((retried) => {
    const { next } = settle(withRetries(9, { retried }, '0'), answered(500, [['Retry-After', '0']]), { retryFloor });
    return next.state === 'pending' ? next.dueAt - ENDED_AT : null;
  });
  assert.deepEqual(waits, [0, 0, 5000, 5000]);
  const longer = settle(withRetries(9, { retried: 2 }, '9000'), answered(500), { retryFloor }).next;
  assert.equal(longer.state === 'pending' && longer.dueAt - ENDED_AT, 9000);
  const cutOff = settle(withRetries(9, { retried: 2 }), INTERRUPTED, { retryFloor }).next;
  assert.equal(cutOff.state === 'pending' && cutOff.dueAt <= ENDED_AT, true, 'an interruption is no retry');
});

test('a hint does not make a message failed for good or one without retries try again', () => {
  assert.equal(waitMs(withRetries(0), answered(429, [['Retry-After', '0']])), null);
  assert.equal(waitMs(withRetries(5), answered(489, [['Retry-After', '0']])), null);
});

test('489 ends the message at once, retries or not', () => {
  const { next, retried } = settle(withRetries(5), answered(489));
  const failure = 'the destination returned 489 and requested no retry';
  assert.deepEqual(next, { state: 'failed', expiresAt: ENDED_AT + RETENTION_MS, failure });
  assert.equal(retried, 0);
});

test('so does our own header on any failed answer, in any case of letters, but only if it says true', () => {
  const marked = (name: string, value: string, status = 500) =>
    settle(withRetries(5), answered(status, [[name, value]])).next.state;
  assert.equal(marked('Postrider-NonRetryable-Error', 'true'), 'failed');
  assert.equal(marked('postrider-nonretryable-error', ' TRUE '), 'failed');
  assert.equal(marked('Postrider-NonRetryable-Error', 'true', 404), 'failed');
  assert.equal(marked('Postrider-NonRetryable-Error', 'false'), 'pending');
  assert.equal(marked('NonRetryable-Error', 'true'), 'pending');
  assert.equal(marked('Postrider-NonRetryable-Error', 'true', 200), 'delivered');
});

test('what the egress guard refuses fails at once, with its reason', () => {
  const { next, attempt } = settle(withRetries(5), REFUSED);
  assert.deepEqual(next, { state: 'failed', expiresAt: ENDED_AT + RETENTION_MS, failure: 'the address is private' });
  assert.equal(attempt.outcome, 'refusedByPolicy');
});

test('an interrupted attempt is repeated at once and uses no retry, even when none is left', () => {
  for (const retries of [0, 3]) {
    for (const interrupted of [0, 1]) {
      const result = settle(withRetries(retries, { retried: retries, interrupted }), INTERRUPTED);
      assert.equal(result.next.state, 'pending');
      assert.deepEqual([result.retried, result.interrupted], [retries, interrupted + 1]);
    }
  }
});

test('what is repeated at once keeps its place among those that are due', () => {
  const claim = withRetries(3, { dueAt: NOW - 60_000 });
  for (const outcome of [INTERRUPTED, DRAINED]) {
    assert.deepEqual(settle(claim, outcome).next, { state: 'pending', dueAt: NOW - 60_000, startsAlone: false });
  }
});

test('from the third interruption on it is repeated after a pause that grows as the backoff does, and alone', () => {
  for (const [interrupted, pauseMs] of [1000, 7390, 54_599, 403_429].entries()) {
    const { next } = settle(withRetries(0, { interrupted: 2 + interrupted }), INTERRUPTED);
    assert.deepEqual(next, { state: 'pending', dueAt: ENDED_AT + pauseMs, startsAlone: true });
  }
});

test('no number of interruptions fails a message', () => {
  for (const cause of ['crash', 'crashAlone', 'drain'] as const) {
    for (let interrupted = 0; interrupted < 100; interrupted += 1) {
      const { next } = settle(withRetries(0, { interrupted }), { ...INTERRUPTED, cause });
      assert.notEqual(next.state, 'failed');
    }
  }
});

test('in flight alone at three crashes, it is held: no next attempt, no end, no callback', () => {
  const callback = callbackTo(CALLBACK_URL);
  const claim = claimOf({ callback, failureCallback: callback }, { interrupted: 2, aloneAtCrash: 2 });
  const result = settle(claim, CUT_OFF_ALONE);
  assert.deepEqual(result.next, { state: 'held', heldAt: ENDED_AT });
  assert.deepEqual([result.interrupted, result.aloneAtCrash, result.attempt.nextAt], [3, 3, null]);
  assert.deepEqual(result.followUps, []);
});

test('a crash at which others were in flight too does not count as one alone', () => {
  const result = settle(withRetries(0, { interrupted: 2, aloneAtCrash: 2 }), INTERRUPTED);
  assert.equal(result.next.state, 'pending');
  assert.deepEqual([result.interrupted, result.aloneAtCrash], [3, 2]);
});

test('a drain that cuts off counts nothing, and a known result sets the counts back', () => {
  const before = { interrupted: 4, aloneAtCrash: 2 };
  const drained = settle(withRetries(1, before), DRAINED);
  assert.deepEqual([drained.interrupted, drained.aloneAtCrash, drained.retried], [4, 2, 0]);
  assert.ok(drained.next.state === 'pending' && drained.next.startsAlone, 'a suspect stays one');
  for (const outcome of [answered(200), answered(500), UNREACHABLE, TIMED_OUT, REFUSED]) {
    const { interrupted, aloneAtCrash } = settle(withRetries(1, before), outcome);
    assert.deepEqual([interrupted, aloneAtCrash], [0, 0]);
  }
});

test('the attempt is kept with its number, its times and the whole answer', () => {
  const body = new Uint8Array([1, 2, 3]);
  const { attempt, lease, accountId, messageId } = settle(withRetries(5, { attempts: 4 }), {
    ...answered(500, [['X-A', 'b']], body),
    isBodyCut: true,
  } as Outcome);
  assert.deepEqual(attempt, {
    number: 5,
    startedAt: STARTED_AT,
    endedAt: ENDED_AT,
    outcome: 'answered',
    status: 500,
    error: null,
    nextAt: ENDED_AT + 1000,
    responseHeaders: [['X-A', 'b']],
    responseBody: body,
    isResponseBodyCut: true,
  });
  assert.deepEqual([lease, accountId, messageId], ['lse_1', 'acc_1', 'msg_1']);
});

test('the attempt says when the next one may start, unless it was the last', () => {
  assert.equal(settle(withRetries(5, { retried: 1 }), UNREACHABLE).attempt.nextAt, ENDED_AT + 7390);
  assert.equal(settle(withRetries(5), INTERRUPTED).attempt.nextAt, ENDED_AT);
  for (const outcome of [answered(200), answered(489), REFUSED]) {
    assert.equal(settle(withRetries(5), outcome).attempt.nextAt, null);
  }
});

test('an attempt without an answer is kept with its reason in words', () => {
  for (const outcome of [UNREACHABLE, REFUSED, INTERRUPTED]) {
    const { attempt } = settle(withRetries(5), outcome);
    assert.equal(attempt.error, 'reason' in outcome ? outcome.reason : null);
    assert.deepEqual([attempt.status, attempt.responseHeaders, attempt.responseBody.length], [null, [], 0]);
  }
  assert.equal(settle(withRetries(5), TIMED_OUT).attempt.error, 'no complete response within 30s');
});

test('the store is told which results a retry, a callback or the next message follows', () => {
  const awaited = (claim: Claim, outcome: Outcome) => isAwaited(claim, settle(claim, outcome));
  const plain = withRetries(1);
  assert.equal(awaited(plain, answered(200)), false);
  assert.equal(awaited(plain, answered(500)), true);
  assert.equal(awaited(withRetries(0), answered(500)), false);
  assert.equal(awaited(plain, INTERRUPTED), true);
  assert.equal(awaited(withRetries(1, { aloneAtCrash: 2 }), CUT_OFF_ALONE), true);
  assert.equal(awaited(claimOf({}, { queueName: 'one' }), answered(200)), true);
  const limits = { parallelism: 1, rate: null, periodMs: 1000 };
  assert.equal(awaited(claimOf({}, { flow: { key: 'one', limits } }), answered(200)), true);
  const callback = callbackTo(CALLBACK_URL);
  assert.equal(awaited(claimOf({ callback }), answered(200)), true);
});

const context = { headerPrefix: PREFIX, retentionMs: RETENTION_MS };
const NOTHING_MADE = () => assert.fail('no id can be made');

test('an end that can be decided is decided once', () => {
  const faults: unknown[] = [];
  const end = { outcome: answered(200), startedAt: STARTED_AT, endedAt: ENDED_AT };
  const given = { ...context, newId: countingIds() };
  const decided = decideSafely(withRetries(3), end, given, (error) => faults.push(error));
  assert.deepEqual(decided, decideSettlement(withRetries(3), end, given));
  assert.deepEqual(faults, []);
});

test('an end whose callbacks cannot be made is decided without them, and the fault is told', () => {
  const faults: unknown[] = [];
  const claim = claimOf({ settings: settings({ retries: 2 }), callback: callbackTo(CALLBACK_URL) });
  const end = { outcome: answered(500), startedAt: STARTED_AT, endedAt: ENDED_AT };
  const decided = decideSafely(claim, end, { ...context, newId: NOTHING_MADE }, (error) => faults.push(error));
  assert.deepEqual([decided.next.state, decided.retried, decided.followUps], ['pending', 1, []]);
  assert.equal(faults.length, 1);
});

test('an end that cannot be decided at all is a dead letter that is kept like any other', () => {
  const faults: unknown[] = [];
  const claim = { ...withRetries(3, { retried: 1, attempts: 4 }), isPlain: true, row: 7 };
  // For a 500 the headers are looked at.
  const outcome = { ...answered(500), headers: [null] as never } as Outcome;
  const end = { outcome, startedAt: STARTED_AT, endedAt: ENDED_AT };
  const decided = decideSafely(claim, end, { ...context, newId: countingIds() }, (error) => faults.push(error));
  assert.equal(faults.length, 2);
  const failure = 'internal error: the server could not process the result of attempt 5';
  assert.deepEqual(decided.next, { state: 'failed', expiresAt: ENDED_AT + RETENTION_MS, failure });
  assert.deepEqual([decided.isPlain, decided.row, decided.retried, decided.followUps], [true, 7, 1, []]);
  assert.deepEqual([decided.attempt.number, decided.attempt.responseHeaders], [5, []]);
});

test('a settlement knows whether its message is plain, and its row', () => {
  const claim = withRetries(3);
  assert.deepEqual([settle(claim, answered(200)).isPlain, settle(claim, answered(200)).row], [false, null]);
  const plain = settle({ ...claim, isPlain: true, row: 7 }, answered(200));
  assert.deepEqual([plain.isPlain, plain.row], [true, 7]);
});

test('of a message that was cancelled during its attempt the record stays, and the callback that reports each attempt', () => {
  const callbacks = { callback: callbackTo(CALLBACK_URL), failureCallback: callbackTo(FAILURE_URL) };
  const claim = claimOf({ settings: settings({ retries: 0 }), ...callbacks });
  const failed = settle(claim, answered(500));
  assert.deepEqual(
    failed.followUps.map(({ kind }) => kind),
    ['callback', 'failureCallback'],
  );
  const late = afterCancel(failed);
  assert.deepEqual(
    late.followUps.map(({ kind }) => kind),
    ['callback'],
  );
  assert.equal(late.attempt.status, 500);
  const retrying = settle(withRetries(3), answered(500));
  assert.notEqual(retrying.attempt.nextAt, null);
  assert.equal(afterCancel(retrying).attempt.nextAt, null);
});

test('a callback is made only if the message has room for it among what it may lead to', () => {
  const callbacks = { callback: callbackTo(CALLBACK_URL), failureCallback: callbackTo(FAILURE_URL) };
  const madeWith = (descendantsLeft: number) =>
    settle(claimOf({ settings: settings({ retries: 0 }), ...callbacks }, { descendantsLeft }), answered(500)).followUps;
  assert.deepEqual(
    [0, 1, 2, 4].map((left) => madeWith(left).map(({ kind }) => kind)),
    [[], [], ['failureCallback'], ['callback', 'failureCallback']],
  );
});

test('a body that was cut is recorded as cut, and one that never came is not', () => {
  const cut = { ...answered(200), isBodyCut: true } as Outcome;
  assert.equal(settle(withRetries(3), cut).attempt.isResponseBodyCut, true);
  assert.equal(settle(withRetries(3), UNREACHABLE).attempt.isResponseBodyCut, false);
});

test('while its host is down, a failed attempt of a message that parks uses up no retry and calls no callback', () => {
  const claim = claimOf(
    {
      settings: settings({ retries: 1 }),
      callback: callbackTo(CALLBACK_URL),
      failureCallback: callbackTo(FAILURE_URL),
    },
    { retried: 1, attempts: 40 },
  );
  for (const outcome of [UNREACHABLE, TIMED_OUT, answered(503)]) {
    const probe = settle(claim, outcome, { trial: 'probe' });
    assert.deepEqual(
      [probe.next, probe.retried, probe.followUps],
      [{ state: 'pending', dueAt: ENDED_AT, startsAlone: false }, 1, []],
    );
    const opening = settle(claim, outcome, { trial: 'opening' });
    assert.deepEqual([opening.next.state, opening.retried, opening.followUps], ['pending', 1, []]);
    assert.ok(opening.next.state === 'pending' && opening.next.dueAt > ENDED_AT);
  }
  assert.equal(settle(claim, answered(200), { trial: 'probe' }).next.state, 'delivered');
  const refused = settle(claim, answered(404), { trial: 'probe' });
  assert.deepEqual([refused.next.state, refused.followUps.length], ['failed', 2]);
  const late = { ...claim, message: { ...claim.message, mustStartBefore: ENDED_AT } };
  const expired = settle(late, answered(503), { trial: 'probe' });
  assert.deepEqual([expired.next.state, expired.followUps.length], ['failed', 2]);
});
