// One time for all lanes of a process, whatever each of them thinks of the wall clock.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceClock } from '../../src/upkeep/service-clock.ts';
import { sharedTime } from '../../src/upkeep/shared-time.ts';
import { ManualClock } from '../support/manual-clock.ts';

const NOW = 1_700_000_000_000;

function lanes(startedAt: readonly number[]) {
  const time = sharedTime(new SharedArrayBuffer(8));
  return startedAt.map((at) => {
    const machine = new ManualClock(at);
    return { machine, clock: new ServiceClock({ machine, shared: time, usesStoreClock: false, onChange: () => {} }) };
  });
}

const empty = { storedTime: async () => ({ kept: null, newestAt: null, wallAt: null }) };

test('no lane uses an earlier time than another lane has used before', async () => {
  const [ahead, behind] = lanes([NOW + 3000, NOW]);
  await ahead!.clock.begin(empty);
  await behind!.clock.begin(empty);
  assert.equal(behind!.clock.now(), NOW);
  assert.equal(ahead!.clock.now(), NOW + 3000);
  assert.equal(behind!.clock.now(), NOW + 3000);
  behind!.machine.advance(1000);
  assert.equal(behind!.clock.now(), NOW + 3000, 'it stands until its own time has come so far');
  behind!.machine.advance(5000);
  assert.equal(behind!.clock.now(), NOW + 6000);
  assert.equal(ahead!.clock.now(), NOW + 6000);
});

test('a lane that starts while the wall clock is ahead goes on with the time of the others, whatever the store has kept', async () => {
  const time = sharedTime(new SharedArrayBuffer(8));
  const machine = new ManualClock(NOW);
  const options = { machine, shared: time, usesStoreClock: false, onChange: () => {} };
  const first = new ServiceClock(options);
  await first.begin(empty);
  const kept = { wallAt: NOW, trustedAt: NOW, orderAt: NOW, doubtedMs: 0 };
  machine.advance(3000);
  machine.jump(5 * 3_600_000);
  const lane = new ServiceClock({ ...options, joins: first.state });
  await lane.begin({ storedTime: async () => ({ kept, newestAt: null, wallAt: null }) });
  assert.equal(lane.now(), NOW + 3000);
  assert.equal(lane.isBelieved, false);
  assert.equal(first.now(), NOW + 3000);
});

test('a lane that has not begun shares no time: its wall clock may be wrong', async () => {
  const [starting, running] = lanes([NOW + 864_000_000, NOW]);
  await running!.clock.begin(empty);
  assert.equal(starting!.clock.now(), NOW + 864_000_000);
  assert.equal(running!.clock.now(), NOW);
});
