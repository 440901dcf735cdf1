// The clock of a running service over a real store and an engine: what it keeps, what it goes on from, and what becomes of
// schedules and of deletions when the wall clock jumps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import {
  CLOCK_BELIEVED_AFTER_MS,
  CLOCK_OFF_MS_MAX,
  type ClockChange,
  type ClockOff,
} from '../../src/rules/time/clock.ts';
import { heartbeat } from '../../src/upkeep/leases.ts';
import { retention } from '../../src/upkeep/retention.ts';
import { scheduleTimeCorrector } from '../../src/upkeep/schedule-times.ts';
import { ServiceClock } from '../../src/upkeep/service-clock.ts';
import { ACCOUNT, limits, message, NOW } from '../conformance/given.ts';
import { schedule } from '../conformance/schedules.ts';
import { claimDue } from '../support/claim-due.ts';
import { countStates } from '../support/count-states.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MINUTE, Site } from './given-engine.ts';

const SECOND = 1000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function clockOf(machine: ManualClock, usesStoreClock = false) {
  const changes: ClockChange[] = [];
  const clock = new ServiceClock({ machine, usesStoreClock, onChange: (change) => changes.push(change) });
  return { clock, changes };
}

test('the time is kept with every sign of life, and a start goes on from it', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const machine = new ManualClock(NOW);
  const { clock } = clockOf(machine);
  await clock.begin(store);
  machine.advance(HOUR);
  await heartbeat(store, 'nod_a', clock).run();
  const next = clockOf(new ManualClock(NOW - DAY));
  await next.clock.begin(site.store('nod_b'));
  assert.equal(next.clock.now(), NOW + HOUR);
  assert.equal(next.clock.machineNow(), NOW - DAY);
  assert.deepEqual(next.changes, [{ kind: 'doubted', aheadMs: -DAY - HOUR }]);
});

test('with the clock of the store, what the machine shows does not matter', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const machine = new ManualClock(NOW);
  const { clock, changes } = clockOf(machine, true);
  let shownAt = NOW + 500;
  await clock.begin({ storedTime: async () => ({ ...(await store.storedTime()), wallAt: shownAt }) });
  assert.equal(clock.now(), NOW + 500);
  machine.advance(5 * SECOND);
  machine.jump(DAY);
  assert.equal(clock.now(), NOW + 5500);
  // The store's clock has gone ahead by 20 ms, and its answer took no time.
  shownAt = NOW + 5520;
  await clock.keep(async () => ({ kept: null, wallAt: shownAt }));
  assert.equal(clock.now(), NOW + 5520);
  assert.deepEqual(changes, []);
});

test('a node whose time runs off may not claim until it is right again, and asks soon', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const told: ClockOff[] = [];
  const machine = new ManualClock(NOW);
  const clock = new ServiceClock({
    machine,
    usesStoreClock: true,
    onChange: () => {},
    onOff: (change) => told.push(change),
  });
  let shownAt = NOW;
  await clock.begin({ storedTime: async () => ({ ...(await store.storedTime()), wallAt: shownAt }) });
  const beating = heartbeat({ ...store, heartbeat: async () => ({ kept: null, wallAt: shownAt }) }, 'nod_a', clock);
  const beat = (passedMs: number, shownPassedMs: number) => {
    machine.advance(passedMs);
    shownAt += shownPassedMs;
    return beating.run();
  };
  assert.equal(await beat(5000, 5000 - CLOCK_OFF_MS_MAX), 5000, 'just within the bound');
  assert.ok(beating.isTimeRight());
  assert.equal(await beat(5000, 3500), 1000, 'it asks again soon');
  assert.ok(!beating.isTimeRight());
  assert.equal(clock.offMs, 1500);
  await beat(1000, 3000);
  assert.ok(!beating.isTimeRight(), 'behind is off as well');
  assert.equal(await beat(1000, 1000), 5000);
  assert.ok(beating.isTimeRight());
  assert.deepEqual(told, [{ kind: 'off', offMs: 1500 }, { kind: 'right' }]);
});

test('nothing is deleted while the time is not proven', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.accept([message({ id: 'msg_dead' })], NOW);
  await store.cancel(ACCOUNT, ['msg_dead'], NOW, NOW + HOUR);
  let isProven = false;
  const task = retention(store, DEFAULT_TIERS, () => isProven);
  await task.run(NOW + DAY);
  assert.equal((await countStates(store)).cancelled, 1);
  isProven = true;
  await task.run(NOW + DAY);
  assert.equal((await countStates(store)).cancelled, 0);
});

test('one row that is days ahead purges nothing and sends nothing early, with and without a kept time', async () => {
  for (const isKept of [true, false]) {
    const site = await Site.open();
    const store = site.store('nod_a');
    if (isKept) await heartbeat(store, 'nod_a', clockOf(new ManualClock(NOW)).clock).run();
    await store.accept([message({ id: 'msg_dead' })], NOW);
    await store.cancel(ACCOUNT, ['msg_dead'], NOW, NOW + 7 * DAY);
    await store.accept([message({ id: 'msg_later', dueAt: NOW + HOUR })], NOW);
    const aheadAt = NOW + 8 * DAY;
    await store.accept([message({ id: 'msg_ahead', createdAt: aheadAt, dueAt: aheadAt })], NOW);
    const machine = new ManualClock(NOW + MINUTE);
    const { clock } = clockOf(machine);
    await clock.begin(site.store('nod_b'));
    const look = async () => {
      await retention(store, DEFAULT_TIERS, () => clock.isProven).runThrough(clock.now());
      return (await claimDue(store, clock.now(), limits())).claims.length;
    };
    assert.equal(await look(), 0);
    machine.advance(CLOCK_BELIEVED_AFTER_MS);
    assert.equal(await look(), 0);
    assert.equal((await countStates(store)).cancelled, 1);
    machine.advance(HOUR);
    assert.equal(await look(), 1, 'at its time');
  }
});

test('after the clock was set back, a schedule runs when it should, and a small step back repeats no tick', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const machine = new ManualClock(NOW);
  const { clock } = clockOf(machine);
  const nextAt = async (id: string) => (await store.getSchedule(ACCOUNT, id))!.nextAt;
  const task = scheduleTimeCorrector(store, clock);
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= SECOND) {
      machine.advance(SECOND);
      clock.now();
    }
  };
  await store.saveSchedule(schedule({ id: 'minute', nextAt: NOW + DAY }));
  await store.saveSchedule(schedule({ id: 'yearly', cron: '0 0 1 1 *', nextAt: NOW + DAY }));
  await task.run();
  assert.equal(await nextAt('minute'), NOW + MINUTE, 'a start looks at all of them');
  assert.equal(await nextAt('yearly'), NOW + DAY, 'one that runs before it should is no matter of this');

  machine.jump(-5 * SECOND);
  await task.run();
  assert.equal(await nextAt('minute'), NOW + MINUTE);

  machine.jump(-HOUR);
  pass(CLOCK_BELIEVED_AFTER_MS - MINUTE);
  await task.run();
  assert.equal(await nextAt('minute'), NOW + MINUTE, 'not while it is not believed');
  pass(2 * MINUTE);
  await task.run();
  const wallNow = clock.wallNow();
  assert.equal(wallNow, machine.now());
  assert.ok((await nextAt('minute'))! <= wallNow + 2 * MINUTE);
});

test('a machine that has slept goes on at once', async () => {
  const machine = new ManualClock(NOW);
  const { clock } = clockOf(machine);
  machine.advance(MINUTE);
  await clock.keep(async () => ({ kept: null, wallAt: null }));
  machine.sleep(8 * HOUR);
  assert.equal(clock.now(), NOW + MINUTE + 8 * HOUR);
  assert.equal(clock.isBelieved, true);
});
