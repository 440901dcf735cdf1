// The waits of a loop: by the timers it was given, but after a failure in real time, and then it has not done its work.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Loop, STORE_PAUSE_MS, waitTimers } from '../../src/runtime/loop.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('a loop waits by its own timers for what becomes due, and in real time for the rest and after a failure', async () => {
  const [real, due] = [new ManualClock(0), new ManualClock(0)];
  const answers: (number | Error)[] = [500, 2000, new Error('the store is away'), 500];
  let runs = 0;
  const run = async () => {
    const answer = answers[runs] ?? Number.POSITIVE_INFINITY;
    runs += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const loop = new Loop(real, run, () => {}, waitTimers(real, due, 1000));
  const runsAfter = async (clock: ManualClock, ms: number) => {
    clock.advance(ms);
    await setImmediate();
    return runs;
  };
  loop.start();
  await setImmediate();
  assert.equal(await runsAfter(real, 500), 1, 'a short wait is not in real time');
  assert.equal(await runsAfter(due, 500), 2);
  assert.equal(await runsAfter(due, 2000), 2, 'a long one is');
  assert.equal(loop.isDone, true);
  assert.equal(await runsAfter(real, 2000), 3);
  assert.deepEqual([loop.isAsleep, loop.isDone], [true, false], 'it has failed');
  assert.equal(await runsAfter(due, STORE_PAUSE_MS), 3, 'a failure passes in real time');
  assert.equal(await runsAfter(real, STORE_PAUSE_MS), 4);
  assert.equal(loop.isDone, true);
  await loop.stop();
});
