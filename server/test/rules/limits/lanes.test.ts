// How many lanes a process has, and how they share its limits.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import {
  ENDED_LANE,
  isAlive,
  LANES_MAX,
  laneCount,
  laneNode,
  laneShare,
  PauseDetector,
  processOfLane,
} from '../../../src/rules/limits/lanes.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';
import { laneAccountMax, laneMax, lanes, setLanesOfNode } from '../../../src/runtime/lane-part.ts';

test('by default one core is left for the writer, and there are at most four lanes', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 64].map((cores) => laneCount(null, cores, [])),
    [1, 1, 2, 3, 4, 4],
  );
  assert.equal(laneCount(7, 2, []), 7, 'a number that is asked for counts');
});

test('a lane is known by its process', () => {
  assert.equal(processOfLane(laneNode('nod_1', 'nod_2')), 'nod_1');
  assert.equal(processOfLane('nod_1'), 'nod_1');
});

test('no limit is smaller than the number of lanes', () => {
  assert.equal(laneCount(8, 8, [1000, 400, null]), 8);
  assert.equal(laneCount(8, 8, [1000, 2, null]), 2);
  assert.equal(laneCount(null, 8, [1000, 400, 1]), 1);
});

test('the shares of all lanes are together the whole, and differ by at most one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: LANES_MAX }), (whole, lanes) => {
      const shares = Array.from({ length: lanes }, (_, lane) => laneShare(whole, lanes, lane));
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        whole,
      );
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1);
      if (laneCount(lanes, 1, [whole]) === lanes) assert.ok(Math.min(...shares) >= 1);
    }),
  );
});

test('however many lanes there are, an account that is alone gets something of every pool', (t) => {
  setLanesOfNode(LANES_MAX);
  t.after(() => setLanesOfNode(1));
  let pools = 0;
  for (const [key, { account, node }] of Object.entries(BUDGETS)) {
    if (account !== 'share' || typeof node !== 'number') continue;
    pools += 1;
    const max = laneMax(key as keyof typeof BUDGETS);
    assert.equal(max, Math.max(1, Math.floor(node / LANES_MAX)), key);
    assert.equal(new Pool(max).take('acc', 1), null, key);
  }
  assert.ok(pools > 5);
});

test('a silent node is dead, but for a lane of a process that stood still; a lane that has ended is dead for good', () => {
  const silent = { aliveUntilMs: 5, nowMs: 5, isOwnProcess: true, stoodStill: true };
  assert.equal(isAlive(silent), true);
  assert.equal(isAlive({ ...silent, stoodStill: false }), false);
  assert.equal(isAlive({ ...silent, isOwnProcess: false }), false);
  assert.equal(isAlive({ ...silent, aliveUntilMs: 6, isOwnProcess: false }), true);
  assert.equal(isAlive({ ...silent, aliveUntilMs: ENDED_LANE, nowMs: -2 }), false);
});

test('a standstill is a gap, and counts until the process has run for a while', () => {
  const standstills = new PauseDetector(7, 15);
  const at = (nowMs: number) => standstills.wasRecent(nowMs);
  assert.deepEqual([0, 5, 10, 15, 20].map(at), [true, true, true, false, false], 'it has just started');
  assert.deepEqual([40, 45, 52, 55, 60].map(at), [true, true, true, false, false]);
});

test('the parts of all lanes are no more than the whole', (t) => {
  t.after(() => setLanesOfNode(1));
  const whole = laneMax('lookups');
  assert.equal(lanes(), 1);
  setLanesOfNode(3);
  assert.equal(lanes(), 3);
  assert.equal(laneMax('lookups'), Math.floor(whole / 3));
  assert.ok(3 * laneMax('lookups') <= whole);
});

test('no lease ends at the time that stands for a lane that has ended', () => {
  assert.ok(ENDED_LANE < 0);
});

test('what one account may have is divided among the lanes, and each has at least one', (t) => {
  t.after(() => setLanesOfNode(1));
  assert.equal(laneAccountMax('batchElements'), 1000);
  setLanesOfNode(3);
  assert.equal(laneAccountMax('batchElements'), 333);
  setLanesOfNode(2000);
  assert.equal(laneAccountMax('batchElements'), 1);
});
