// The checker itself: every rule must catch the bad histories made for it, and must let the good ones pass.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BAD_HISTORIES as BAD_BY_HAND } from './bad-histories.ts';
import { checkHistory, RULES, type RuleName } from './check.ts';
import {
  arrival,
  asked,
  attempt,
  changedTo,
  content,
  crash,
  cutOff,
  goodHistory,
  heldAfter,
  history,
  inQueue,
  publish,
  stored,
  timedOut,
  triedTwice,
  twoQueued,
} from './hand-made.ts';
import { BAD_STEPS, GOOD_STEPS } from './hand-made-steps.ts';
import type { History, StoredAttempt } from './history.ts';

const BAD_HISTORIES = [...BAD_BY_HAND, ...BAD_STEPS];

for (const [rule, what, bad] of BAD_HISTORIES) {
  test(`the rule "${rule}" catches ${what}`, () => {
    const found = checkHistory(bad);
    assert.ok(
      found.some((sentence) => sentence.startsWith(`${rule}: `)),
      `found only: ${found.join('\n')}`,
    );
  });
}

test('every rule has a bad history that it must catch', () => {
  const tested = new Set(BAD_HISTORIES.map(([rule]) => rule));
  assert.deepEqual(
    [...Object.keys(RULES)].filter((rule) => !tested.has(rule as RuleName)),
    [],
  );
});

test('a good history passes', () => {
  assert.deepEqual(checkHistory(goodHistory()), []);
});

/** Each long enough after the one before, by the backoff. */
function gaveUp(number: number): StoredAttempt {
  return attempt(number, [0, 2000, 20_000, 200_000][number - 1]!, timedOut);
}

const GOOD: readonly (readonly [what: string, history: History])[] = [
  ['a single delivered message', history()],
  ['nothing at all', history({ publishes: [], arrivals: [], stored: [] })],
  ['a message that was changed', history(changedTo('n'))],
  ['a change without an answer that was made', history(changedTo('n', { outcome: 'unknown' }))],
  [
    'a change without an answer that was not made',
    history({ ...changedTo('n', { outcome: 'unknown' }), stored: [stored('m')], arrivals: [arrival('m', 90)] }),
  ],
  ['a change that was refused', history({ changes: changedTo('n', { outcome: 'refused' }).changes! })],
  [
    'a request that was given up before the change and arrives after it',
    history({
      ...changedTo('n'),
      arrivals: [arrival('m', 31), arrival('m', 2020, { ...content('n'), retried: 1 })],
      stored: [stored('m', { ...content('n'), retried: 1, attempts: [attempt(1, 0, timedOut), attempt(2, 2000)] })],
    }),
  ],
  [
    'a retry that a new time made early',
    history({ ...triedTwice({}, 15), changes: changedTo('m', { isTimeChanged: true }).changes! }),
  ],
  ['a retry exactly on time', history(triedTwice({}, 1010))],
  ['a retry at once because the answer said 0', history(triedTwice({ retryAfterMs: 0 }, 10))],
  ['a retry later than the backoff', history(triedTwice({}, 500_000))],
  [
    'a wait of the message that is shorter than the backoff',
    history({ ...triedTwice({}, 60), publishes: [publish([asked('m', { waitsMs: [50] })])] }),
  ],
  [
    'a retry that another time of the service made early',
    history({ ...triedTwice({}, -5000), faults: [{ kind: 'clockJump', at: 50, inFlight: ['m'] }] }),
  ],
  [
    'one failed early because the answer was final',
    history({ stored: [stored('m', { state: 'failed', attempts: [attempt(1, 0, { status: 489, isFinal: true })] })] }),
  ],
  [
    'one failed at once because it must not be sent',
    history({
      stored: [
        stored('m', { state: 'failed', attempts: [attempt(1, 0, { outcome: 'refusedByPolicy', status: null })] }),
      ],
      arrivals: [],
    }),
  ],
  [
    'one that five crashes cut off, each pause longer than the one before',
    history({
      stored: [
        stored('m', {
          attempts: [...[0, 20, 40, 1050, 8450].map((at, index) => attempt(index + 1, at, cutOff)), attempt(6, 63_100)],
        }),
      ],
      arrivals: [1, 2, 3, 4, 5, 6].map((at) => arrival('m', 100 * at)),
      faults: new Array(5).fill(crash('m')),
    }),
  ],
  [
    'one that drains cut off again and again, without a pause and without counting',
    history({
      stored: [stored('m', { attempts: [...[1, 2, 3, 4, 5].map((n) => attempt(n, 20 * n, cutOff)), attempt(6, 200)] })],
      arrivals: [1, 2, 3, 4, 5, 6].map((at) => arrival('m', 100 * at)),
      faults: new Array(5).fill({ ...crash('m'), kind: 'stop' }),
    }),
  ],
  [
    'one that expired before it was tried',
    history({
      stored: [stored('m', { state: 'failed', hasExpired: true, mustStartBefore: stored('m').endedAt!, attempts: [] })],
      arrivals: [],
    }),
  ],
  [
    'one that failed early because its retry would have come after its expiry',
    history({
      stored: [
        stored('m', {
          state: 'failed',
          hasExpired: true,
          mustStartBefore: stored('m').endedAt! + 1000,
          attempts: [attempt(1, 0, { status: 500 })],
        }),
      ],
    }),
  ],
  ['one that is held after three crashes alone', history(heldAfter(3, 3))],
  [
    'a request that was given up and comes behind the retry',
    history({
      ...triedTwice({ ...timedOut, retryAfterMs: 0 }, 10),
      arrivals: [arrival('m', 20, { retried: 1 }), arrival('m', 28)],
    }),
  ],
  [
    'a request that was given up and comes behind the next of its queue',
    history({
      publishes: twoQueued,
      stored: [{ ...inQueue('a'), state: 'failed', retriesMax: 3, attempts: [1, 2, 3, 4].map(gaveUp) }, inQueue('b')],
      arrivals: [arrival('b', 20), arrival('a', 25)],
    }),
  ],
  [
    'a request of a process that was stopped, behind the repeat and the next of its queue',
    history({
      publishes: twoQueued,
      stored: [{ ...inQueue('a'), attempts: [attempt(1, 0, cutOff), attempt(2, 15)] }, inQueue('b')],
      arrivals: [arrival('a', 17), arrival('b', 19), arrival('a', 22)],
      faults: [{ kind: 'stop', at: 15, inFlight: ['a'] }],
    }),
  ],
  [
    'a queue that overtakes what is due later',
    history({
      publishes: twoQueued,
      stored: [{ ...inQueue('a'), firstDueAt: 9_000_000 }, inQueue('b')],
      arrivals: [arrival('b', 20), arrival('a', 30)],
    }),
  ],
  [
    'a queue without order, for it takes several at once',
    history({
      publishes: twoQueued,
      stored: [inQueue('a'), inQueue('b')],
      arrivals: [arrival('b', 20), arrival('a', 30)],
      serialQueues: [],
    }),
  ],
  ...GOOD_STEPS,
];

for (const [what, good] of GOOD) {
  test(`the checker lets pass: ${what}`, () => {
    assert.deepEqual(checkHistory(good), []);
  });
}
