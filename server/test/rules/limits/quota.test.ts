// The daily quota of an account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DayUsage, isOverQuota, usageAfter } from '../../../src/rules/limits/quota.ts';

const keyed = (key: string | null) => ({ deduplication: key === null ? null : { key, expiresAt: 1 } });
const day = (used: number, ...keys: string[]): DayUsage => ({ used, keysInForce: new Set(keys) });

test('as many messages go as the day has left, all of them or none', () => {
  const three = [keyed(null), keyed(null), keyed(null)];
  assert.equal(isOverQuota(three, day(7), 10), false);
  assert.equal(isOverQuota(three, day(8), 10), true);
  assert.equal(isOverQuota(three, day(8), null), false);
});

test('duplicates are answered also when the day is used up', () => {
  assert.equal(isOverQuota([keyed('a')], day(10, 'a'), 10), false);
  assert.equal(isOverQuota([keyed('a'), keyed('b')], day(10, 'a'), 10), true);
  assert.equal(isOverQuota([], day(11), 10), false);
});

test('of several with one key, the first makes a message', () => {
  assert.equal(isOverQuota([keyed('a'), keyed('a')], day(9), 10), false);
  assert.deepEqual(usageAfter([keyed('a'), keyed('a'), keyed(null)], day(2, 'b')), day(4, 'b', 'a'));
});

test('calls that go one after the other never make more messages than the day allows', () => {
  const calls = fc.array(fc.array(fc.constantFrom(null, 'a', 'b', 'c'), { maxLength: 5 }), { maxLength: 12 });
  fc.assert(
    fc.property(calls, fc.integer({ min: 0, max: 12 }), (given, dayMax) => {
      let now = day(0);
      for (const keys of given) {
        const messages = keys.map(keyed);
        if (!isOverQuota(messages, now, dayMax)) now = usageAfter(messages, now);
      }
      assert.ok(now.used <= dayMax);
    }),
  );
});
