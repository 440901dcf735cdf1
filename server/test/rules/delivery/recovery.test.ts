// What becomes of messages that we cut off ourselves: which one was alone at a crash, and how long the next try waits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ALONE_MS,
  afterCutOff,
  chooseStartingAlone,
  heldReason,
  indexOfLoneAttempt,
  isSuspect,
  NEVER_AT,
  type Orphan,
  pauseMs,
} from '../../../src/rules/delivery/recovery.ts';

const AT = 1_000_000;
const orphan = (claimedAt: number, interrupted = 0): Orphan => ({ claimedAt, interrupted });

test('the only one in flight at a crash was alone, whatever happened to it before', () => {
  assert.equal(indexOfLoneAttempt([orphan(AT)]), 0);
  assert.equal(indexOfLoneAttempt([orphan(AT, 7)]), 0);
  assert.equal(indexOfLoneAttempt([{ claimedAt: null, interrupted: 0 }]), 0);
  assert.equal(indexOfLoneAttempt([]), -1);
});

test('of several, none was alone, unless they had made way for a suspect', () => {
  assert.equal(indexOfLoneAttempt([orphan(AT), orphan(AT)]), -1);
  assert.equal(indexOfLoneAttempt([orphan(AT), orphan(AT + 60_000)]), -1, 'that the others were slow is no reason');
  assert.equal(indexOfLoneAttempt([orphan(AT + ALONE_MS, 3), orphan(AT), orphan(AT - 5)]), 0);
  assert.equal(indexOfLoneAttempt([orphan(AT), orphan(AT + ALONE_MS - 1, 3)]), -1, 'it did not wait for the other');
  assert.equal(indexOfLoneAttempt([orphan(AT, 3), orphan(AT + 10)]), -1, 'the other started after it');
  assert.equal(indexOfLoneAttempt([orphan(AT, 3), orphan(AT, 3)]), -1);
});

test('the pause begins with the third interruption and grows as the backoff does, up to a day', () => {
  assert.deepEqual([0, 1, 2, 3, 4, 5].map(pauseMs), [0, 0, 0, 1000, 7390, 54_599]);
  assert.equal(pauseMs(30), 86_400_000);
  assert.deepEqual(
    [2, 3].map((interrupted) => isSuspect({ interrupted })),
    [false, true],
  );
});

test('alone at three crashes, it is held; a drain in between changes nothing', () => {
  let counts = { interrupted: 0, aloneAtCrash: 0 };
  const causes = ['crashAlone', 'drain', 'crash', 'crashAlone', 'drain', 'crashAlone'] as const;
  const kinds = causes.map((cause) => {
    const after = afterCutOff(counts, cause);
    counts = after.counts;
    return after.next.kind;
  });
  assert.deepEqual(kinds, ['again', 'again', 'again', 'again', 'again', 'held']);
  assert.deepEqual(counts, { interrupted: 4, aloneAtCrash: 3 });
  assert.match(heldReason(counts), /crashed 3 times/);
});

test('the time that never comes is one that a date can show', () => {
  assert.equal(new Date(NEVER_AT).getTime(), NEVER_AT);
  assert.ok(Number.isSafeInteger(NEVER_AT));
});

test('of messages that wait to start alone, the first under each key is tried, by turns of accounts, and not too many', () => {
  const suspect = (id: string, account_id: string, flow_key: string | null) => ({ id, account_id, flow_key });
  const tried = chooseStartingAlone([
    suspect('1', 'a', 'k'),
    suspect('2', 'a', 'k'),
    suspect('3', 'a', 'l'),
    suspect('4', 'b', 'k'),
    suspect('5', 'a', null),
    suspect('6', 'a', null),
  ]);
  assert.deepEqual(tried.map(({ id }) => id).toSorted(), ['1', '3', '4', '5']);
  const many = Array.from({ length: 90 }, (_, at) => suspect(String(at), at < 80 ? 'greedy' : 'other', `k${at}`));
  const some = chooseStartingAlone(many);
  assert.equal(some.length, 50);
  assert.equal(some.filter(({ account_id }) => account_id === 'other').length, 10);
});
