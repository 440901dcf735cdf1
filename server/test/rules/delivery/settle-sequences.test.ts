// Settling over whole lives: for every sequence of outcomes the counts stay within their limits, there is exactly one
// end, and the callbacks are those the specification asks for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Claim, NewMessage, Outcome, Settlement } from '../../../src/rules/delivery/message.ts';
import { CRASHES_ALONE_MAX } from '../../../src/rules/delivery/recovery.ts';
import { decideSettlement } from '../../../src/rules/delivery/settle.ts';
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

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(200, 204).map((status) => answered(status)) },
  { weight: 5, arbitrary: fc.constantFrom(301, 404, 429, 500, 503).map((status) => answered(status)) },
  { weight: 1, arbitrary: fc.constant(answered(489)) },
  { weight: 2, arbitrary: fc.constantFrom('0', '5').map((value) => answered(429, [['Retry-After', value]])) },
  { weight: 2, arbitrary: fc.constant<Outcome>({ kind: 'unreachable', reason: 'reset' }) },
  { weight: 2, arbitrary: fc.constant<Outcome>({ kind: 'timedOut', timeoutMs: 1000 }) },
  { weight: 1, arbitrary: fc.constant<Outcome>({ kind: 'refusedByPolicy', reason: 'private' }) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom('crash' as const, 'crashAlone' as const, 'drain' as const)
      .map((cause): Outcome => ({ kind: 'interrupted', reason: cause, cause })),
  },
);

interface Life {
  readonly settlements: readonly Settlement[];
  readonly callbacks: readonly NewMessage[];
}

/** Outcomes one after the other until the message has ended or is held; then a success, if there are too few. */
function live(claim: Claim, sequence: readonly Outcome[]): Life {
  const newId = countingIds();
  const settlements: Settlement[] = [];
  let current = claim;
  let now = NOW;
  for (let i = 0; ; i += 1) {
    assert.ok(i < 200, 'the message never ends');
    const outcome = sequence[i] ?? answered(200);
    const end = { outcome, startedAt: now, endedAt: now + 10 };
    const settlement = decideSettlement(current, end, { headerPrefix: PREFIX, retentionMs: 1000, newId });
    settlements.push(settlement);
    if (settlement.next.state !== 'pending') break;
    now = settlement.next.dueAt;
    const { retried, interrupted, aloneAtCrash, attempt } = settlement;
    const counts = { retried, interrupted, aloneAtCrash, attempts: attempt.number };
    current = { ...current, message: { ...current.message, ...counts } };
  }
  return { settlements, callbacks: settlements.flatMap(({ followUps }) => followUps) };
}

const lives = fc.record({
  sequence: fc.array(outcomes, { minLength: 1, maxLength: 20 }),
  retries: fc.integer({ min: 0, max: 6 }),
  hasCallback: fc.boolean(),
  hasFailureCallback: fc.boolean(),
});

function check(
  property: (life: Life, said: { retries: number; hasCallback: boolean; hasFailureCallback: boolean }) => void,
) {
  fc.assert(
    fc.property(lives, ({ sequence, ...said }) => {
      const claim = claimOf({
        settings: settings({ retries: said.retries }),
        callback: said.hasCallback ? callbackTo(CALLBACK_URL) : null,
        failureCallback: said.hasFailureCallback ? callbackTo(FAILURE_URL) : null,
      });
      property(live(claim, sequence), said);
    }),
    { numRuns: 2000 },
  );
}

const isKnown = ({ attempt }: Settlement) => attempt.outcome !== 'interrupted';

test('attempts with a known result are never more than 1 + retries', () => {
  check(({ settlements }, { retries }) => {
    assert.ok(settlements.filter(isKnown).length <= 1 + retries);
    for (const { retried } of settlements) assert.ok(retried <= retries);
  });
});

test('the count of interruptions is that of the crashes since the last known result', () => {
  check(({ settlements }) => {
    let crashes = 0;
    let alone = 0;
    for (const settlement of settlements) {
      const { error } = settlement.attempt;
      if (isKnown(settlement)) crashes = alone = 0;
      else if (error !== 'drain') crashes += 1;
      if (error === 'crashAlone') alone += 1;
      assert.deepEqual([settlement.interrupted, settlement.aloneAtCrash], [crashes, alone]);
      assert.equal(settlement.next.state === 'held', alone >= CRASHES_ALONE_MAX);
    }
  });
});

test('a message fails only by a known result: its retries are used up, or trying again is pointless', () => {
  check(({ settlements }, { retries }) => {
    const last = settlements.at(-1)!;
    if (last.next.state !== 'failed') return;
    assert.ok(isKnown(last));
    const isPointless = last.attempt.outcome === 'refusedByPolicy' || last.attempt.status === 489;
    assert.ok(isPointless || settlements.filter(isKnown).length === 1 + retries);
  });
});

test('attempts are numbered from 1 without gaps, whatever their outcome', () => {
  check(({ settlements }) => {
    assert.deepEqual(
      settlements.map(({ attempt }) => attempt.number),
      settlements.map((_, index) => index + 1),
    );
  });
});

test('there is a callback after each attempt with a known result, and none after an interrupted one', () => {
  check(({ settlements, callbacks }, { hasCallback }) => {
    for (const settlement of settlements) {
      const made = settlement.followUps.filter(({ kind }) => kind === 'callback').length;
      assert.equal(made, hasCallback && isKnown(settlement) ? 1 : 0);
    }
    for (const callback of callbacks.filter(({ kind }) => kind === 'callback'))
      assert.equal(callback.url, CALLBACK_URL);
  });
});

test('there is one failure callback if the message failed, however it failed, and else none', () => {
  check(({ settlements, callbacks }, { hasFailureCallback }) => {
    const hasFailed = settlements.at(-1)!.next.state === 'failed';
    const made = callbacks.filter(({ kind }) => kind === 'failureCallback');
    assert.equal(made.length, hasFailed && hasFailureCallback ? 1 : 0);
    assert.ok(made.every((callback) => settlements.at(-1)!.followUps.includes(callback)));
  });
});

test('callbacks carry no callback of their own and are in no queue', () => {
  check(({ callbacks }) => {
    for (const { callback, failureCallback, queueName, sourceMessageId } of callbacks) {
      assert.deepEqual([callback, failureCallback, queueName, sourceMessageId], [null, null, null, 'msg_1']);
    }
  });
});
