// How far one advance of a manual clock goes when there is no end to what becomes due.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADVANCE_STEPS_MAX, readManualClockOrder } from '../../src/rules/time/clock-order.ts';
import { systemWorld } from '../../src/runtime/world.ts';
import { ManualClockControl } from '../../src/upkeep/manual-clock-control.ts';
import { ManualTime } from '../../src/upkeep/manual-time.ts';

test('an advance stops where too much has become due, says so, and goes on from there', async () => {
  const time = new ManualTime(systemWorld().clock);
  const startedAt = time.now();
  let fired = 0;
  let swept = 0;
  // Something becomes due at every millisecond.
  const again = () => {
    fired += 1;
    time.dueTimers.after(1, again);
  };
  time.dueTimers.after(1, again);
  const clockControl = new ManualClockControl({
    time,
    engine: { isCaughtUp: true, underWay: () => [], lookAhead() {} },
    sweep: async () => {
      swept += 1;
    },
    keep: async () => {},
    isServing: () => true,
  });
  const order = readManualClockOrder({ advance: (ADVANCE_STEPS_MAX + 10) / 1000 });
  assert.ok('kind' in order);
  const { signal } = new AbortController();
  const stopped = await clockControl.carryOut(order, signal);
  assert.ok(stopped.kind === 'refused');
  const reachedAt = startedAt + ADVANCE_STEPS_MAX;
  assert.deepEqual(
    [stopped.problem.code, time.now(), fired, swept],
    ['advance_too_long', reachedAt, ADVANCE_STEPS_MAX, 0],
  );
  assert.ok(stopped.problem.message.includes(new Date(reachedAt).toISOString()), stopped.problem.message);
  const rest = readManualClockOrder({ advance: '10ms' });
  assert.ok('kind' in rest);
  assert.equal((await clockControl.carryOut(rest, signal)).kind, 'done');
  assert.deepEqual([time.now(), swept], [startedAt + ADVANCE_STEPS_MAX + 10, 1]);
});
