import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { aheadMs, levelAt, levelText, PRIORITY_MAX, priorityOf } from '../../../src/rules/delivery/priority.ts';

const MINUTE = 60_000;
const waiting = fc.record({
  priority: fc.option(fc.nat(PRIORITY_MAX)),
  dueAt: fc.integer({ min: 0, max: 60 * MINUTE }),
});
type Waiting = { readonly priority: number | null; readonly dueAt: number };

const rank = ({ priority, dueAt }: Waiting) => dueAt - (priority === null ? 0 : aheadMs(priority));

test('a message counts as due earlier by a minute for each level above the default', () => {
  assert.deepEqual([0, 4, 5, 6, 9].map(aheadMs), [-5 * MINUTE, -MINUTE, 0, MINUTE, 4 * MINUTE]);
  for (let priority = 0; priority <= PRIORITY_MAX; priority += 1) assert.equal(priorityOf(aheadMs(priority)), priority);
});

test('whoever goes first has the same level or a higher one, at any time while both wait', () => {
  fc.assert(
    fc.property(waiting, waiting, fc.nat(600 * MINUTE), (one, other, laterMs) => {
      const now = Math.max(one.dueAt, other.dueAt) + laterMs;
      const [levelOfOne, levelOfOther] = [one, other].map(({ priority, dueAt }) => levelAt(priority, dueAt, now));
      // Levels are whole: two messages of one level may be up to a minute apart.
      if (rank(one) < rank(other)) assert.ok(levelOfOne! >= levelOfOther! - 1, `${levelOfOne} ${levelOfOther}`);
      if (rank(one) <= rank(other) - MINUTE) assert.ok(levelOfOne! >= levelOfOther!, `${levelOfOne} ${levelOfOther}`);
    }),
  );
});

test('no message is overtaken by one that became due nine minutes after it or later', () => {
  fc.assert(
    fc.property(waiting, waiting, (one, other) => {
      if (other.dueAt > one.dueAt + PRIORITY_MAX * MINUTE) assert.ok(rank(one) < rank(other));
    }),
  );
});

test('the level as text', () => {
  assert.equal(levelText(null, 0, 10 * MINUTE), null);
  assert.equal(levelText(5, 0, MINUTE - 1), 'its priority is 5');
  assert.equal(levelText(0, 0, 2 * MINUTE), 'its priority is 0, and has risen to 2 while it waited');
});
