// The table of tiers and how the configuration may change it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TIERS, HARD_LIMITS, TIER_LIMITS, type Tiers, tiersWith } from '../../../src/rules/limits/tier.ts';

function tiersOf(overrides: unknown): Tiers {
  const result = tiersWith(overrides);
  assert.ok(!('problems' in result), 'problems' in result ? result.problems.join('\n') : '');
  return result;
}

function problemsOf(overrides: unknown): string[] {
  const result = tiersWith(overrides);
  assert.ok('problems' in result, 'expected problems');
  return result.problems;
}

test('the tiers differ as documented', () => {
  const { free, paid } = DEFAULT_TIERS;
  assert.deepEqual([free.retriesDefault, paid.retriesDefault], [3, 5]);
  assert.deepEqual([free.bodyBytesMax, paid.bodyBytesMax], [1_048_576, 10_485_760]);
  assert.deepEqual([free.timeoutMsMax, paid.timeoutMsMax], [900_000, 7_200_000]);
  assert.deepEqual([free.awaitAckMsMax, paid.awaitAckMsMax], [86_400_000, 604_800_000]);
  assert.deepEqual([free.endpointsPerTopicMax, paid.endpointsPerTopicMax], [100, 1000]);
  assert.deepEqual([free.retentionMs, paid.retentionMs], [3 * 86_400_000, 7 * 86_400_000]);
});

test('delays, deadlines and what an account stores have the documented limits', () => {
  const { free, paid } = DEFAULT_TIERS;
  for (const tier of [free, paid]) assert.deepEqual([tier.delayMsMax, tier.timeoutMsDefault], [31_536_000_000, 30_000]);
  assert.deepEqual([free.storedBytesMax, paid.storedBytesMax], [107_374_182_400, 1_099_511_627_776]);
  assert.equal(HARD_LIMITS.delayMsMax, 3_153_600_000_000);
  assert.equal(HARD_LIMITS.timeoutMsMax, 2_147_483_647, 'the longest that a timer of the runtime lasts');
});

test('these limits can be removed, and no others', () => {
  const removable = Object.keys(TIER_LIMITS).filter((limit) => !('problems' in tiersWith({ paid: { [limit]: null } })));
  assert.deepEqual(removable, [
    'retriesMax',
    'bodyBytesMax',
    'delayMsMax',
    'timeoutMsMax',
    'awaitAckMsMax',
    'endpointsPerTopicMax',
    'topicsMax',
    'queuesMax',
    'schedulesMax',
    'messagesPerDayMax',
    'storedBytesMax',
  ]);
});

test('a limit may be its least value, a default its own maximum, and a problem says which values are possible', () => {
  assert.equal(tiersOf({ free: { endpointsPerTopicMax: 1 } }).free.endpointsPerTopicMax, 1);
  assert.equal(tiersOf({ free: { timeoutMsDefault: 900_000 } }).free.timeoutMsDefault, 900_000);
  assert.deepEqual(problemsOf({ free: { endpointsPerTopicMax: 0 } }), [
    'free.endpointsPerTopicMax must be a whole number of at least 1, or null for unlimited',
  ]);
  assert.deepEqual(problemsOf({ free: { retriesDefault: -1 } }), [
    'free.retriesDefault must be a whole number of at least 0',
  ]);
  assert.equal(problemsOf({ free: { retriesDefault: 200, nonsense: 1 } }).length, 1, 'one kind of mistake at a time');
});

test('no override leaves the defaults', () => {
  assert.deepEqual(tiersOf({}), DEFAULT_TIERS);
  assert.deepEqual(tiersOf({ free: {}, paid: {} }), DEFAULT_TIERS);
});

test('one override changes one limit of one tier, and the defaults stay as they are', () => {
  const tiers = tiersOf({ free: { bodyBytesMax: 2_097_152 } });
  assert.deepEqual(tiers.free, { ...DEFAULT_TIERS.free, bodyBytesMax: 2_097_152 });
  assert.deepEqual(tiers.paid, DEFAULT_TIERS.paid);
  assert.equal(DEFAULT_TIERS.free.bodyBytesMax, 1_048_576);
});

test('null removes a limit, but not a required value', () => {
  for (const [limit, { canBeUnlimited }] of Object.entries(TIER_LIMITS)) {
    const overrides = { paid: { [limit]: null } };
    if (canBeUnlimited) assert.equal(Object.entries(tiersOf(overrides).paid).find(([key]) => key === limit)?.[1], null);
    else assert.equal(problemsOf(overrides).length, 1);
  }
});

test('what is not an object of tiers is refused', () => {
  for (const overrides of [null, [], 'free', 1, true, undefined]) assert.equal(problemsOf(overrides).length, 1);
  assert.deepEqual(problemsOf({ free: [] }), ['"free" must be an object of limits']);
});

test('unknown tiers and limits are refused, however they are called', () => {
  assert.match(problemsOf({ gold: {} })[0]!, /^"gold" is not a tier/);
  assert.match(problemsOf(JSON.parse('{"__proto__":{}}'))[0]!, /^"__proto__" is not a tier/);
  assert.match(problemsOf({ toString: {} })[0]!, /^"toString" is not a tier/);
  assert.match(problemsOf({ free: { bodyBytes: 1 } })[0]!, /^free.bodyBytes is not a limit/);
  assert.match(problemsOf({ free: { name: 'paid' } })[0]!, /^free.name is not a limit/);
  assert.match(problemsOf(JSON.parse('{"free":{"__proto__":1}}'))[0]!, /^free.__proto__ is not a limit/);
});

test('a limit is a whole number within reason', () => {
  for (const value of ['1', 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, {}, true]) {
    assert.equal(problemsOf({ free: { retriesMax: value } }).length, 1, String(value));
  }
  assert.equal(problemsOf({ free: { timeoutMsMax: 0 } }).length, 1);
});

test('a default over its own maximum is refused', () => {
  assert.deepEqual(problemsOf({ free: { retriesMax: 2 }, paid: { timeoutMsDefault: 7_200_001 } }), [
    'free.retriesDefault (3) is over its retriesMax (2)',
    'paid.timeoutMsDefault (7200001) is over its timeoutMsMax (7200000)',
  ]);
  assert.equal(tiersOf({ free: { retriesMax: 2, retriesDefault: 2 } }).free.retriesDefault, 2);
});

test('all problems are listed at once', () => {
  assert.equal(problemsOf({ free: { a: 1, retriesMax: -1 }, paid: 1, gold: {} }).length, 4);
});
