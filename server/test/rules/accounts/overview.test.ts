// Where messages stand, in all and by queue; what it costs grows with the groups, not with groups times queues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OpenGroup, openOverviewOf } from '../../../src/rules/accounts/overview.ts';

const GROUP: OpenGroup = {
  queueName: null,
  state: 'pending',
  hasAttempts: false,
  isLater: false,
  isHeldBack: false,
  holdsPlace: false,
  count: 1,
  readyAtMin: 5,
};

test('groups add up in all and in each queue, the queues by name', () => {
  const { open, oldestDueAt, queues } = openOverviewOf([
    { ...GROUP, queueName: 'b', count: 2, readyAtMin: 3 },
    { ...GROUP, count: 4 },
    { ...GROUP, queueName: 'a', isLater: true, count: 8 },
    { ...GROUP, queueName: 'b', state: 'claimed', holdsPlace: true },
  ]);
  assert.deepEqual(open, { waiting: 6, scheduled: 8, active: 1, retrying: 0, held: 0 });
  assert.equal(oldestDueAt, 3);
  assert.deepEqual(queues, [
    { name: 'a', waiting: 0, scheduled: 8, active: 0, retrying: 0, held: 0, placesTaken: 0 },
    { name: 'b', waiting: 2, scheduled: 0, active: 1, retrying: 0, held: 0, placesTaken: 1 },
  ]);
  assert.equal(openOverviewOf([]).oldestDueAt, null);
});

test('the oldest that is late is due, waits for no attempt, and is not held back by its own queue or key', () => {
  const oldest = (...some: readonly Partial<OpenGroup>[]) =>
    openOverviewOf([{ ...GROUP, readyAtMin: 9 }, ...some.map((each) => ({ ...GROUP, ...each }))]).oldestDueAt;
  assert.equal(oldest({}), 5);
  assert.equal(oldest({ isLater: true }, { isHeldBack: true }, { state: 'claimed' }, { state: 'held' }), 9);
});

test('a pending message with an attempt behind it is retrying', () => {
  const { open } = openOverviewOf([
    { ...GROUP, hasAttempts: true, count: 2 },
    { ...GROUP, hasAttempts: true, isLater: true, count: 4 },
    { ...GROUP, state: 'held', count: 8 },
  ]);
  assert.deepEqual(open, { waiting: 0, scheduled: 0, active: 0, retrying: 6, held: 8 });
});

test('with thousands of queues each group is looked at a few times only', () => {
  let looks = 0;
  const groups = Array.from({ length: 3000 }, (_, index) => ({
    ...GROUP,
    get queueName() {
      looks += 1;
      return `q${index}`;
    },
  }));
  assert.equal(openOverviewOf(groups).queues.length, groups.length);
  assert.ok(looks <= 3 * groups.length, `${looks} looks at ${groups.length} groups`);
});
