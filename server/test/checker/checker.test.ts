// The checker itself: every rule must catch the bad histories made for it, and must let the good ones pass.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BAD_HISTORIES } from './bad-histories.ts';
import { checkHistory, RULES, type RuleName } from './check.ts';
import {
  arrival,
  asked,
  attempt,
  crash,
  goodHistory,
  history,
  inQueue,
  publish,
  stored,
  triedTwice,
  twoQueued,
} from './hand-made.ts';
import type { History } from './history.ts';

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

const GOOD: readonly (readonly [what: string, history: History])[] = [
  ['a single delivered message', history()],
  ['nothing at all', history({ publishes: [], arrivals: [], stored: [] })],
  ['a retry exactly on time', history(triedTwice({}, 1010))],
  ['a retry at once because the answer said 0', history(triedTwice({ retryAfterMs: 0 }, 10))],
  ['a retry later than the backoff', history(triedTwice({}, 500_000))],
  [
    'a wait of the message that is shorter than the backoff',
    history({ ...triedTwice({}, 60), publishes: [publish([asked('m', { waitsMs: [50] })])] }),
  ],
  [
    'a retry that a set clock made early',
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
    'one failed after three interruptions',
    history({
      stored: [
        stored('m', {
          state: 'failed',
          interrupted: 3,
          attempts: [1, 2, 3].map((n) => attempt(n, n, { outcome: 'interrupted', status: null })),
        }),
      ],
      arrivals: [20, 30, 40].map((at) => arrival('m', at)),
      faults: [crash('m'), crash('m'), crash('m')],
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
];

for (const [what, good] of GOOD) {
  test(`the checker lets pass: ${what}`, () => {
    assert.deepEqual(checkHistory(good), []);
  });
}
