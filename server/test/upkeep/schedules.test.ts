// Schedules fire: at their time, once, after a pause, after a time when nothing ran, on however many nodes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import type { Schedule } from '../../src/rules/schedules/schedule.ts';
import { jitterOf } from '../../src/rules/schedules/tick.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { scheduleTimeCorrector } from '../../src/upkeep/schedule-times.ts';
import { type PlanTick, scheduleRunner } from '../../src/upkeep/schedules.ts';
import { ACCOUNT, KEYS, message, NOW, OTHER_ACCOUNT } from '../conformance/given.ts';
import { DUE, schedule } from '../conformance/schedules.ts';
import { countStates } from '../support/count-states.ts';
import { NO_TURNS } from '../support/no-turns.ts';
import { MINUTE, Site } from './given-engine.ts';

const HOUR = 60 * MINUTE;

test('a schedule made while the engine sleeps fires at its time, and at the next', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a');
  await site.pass(10_000);
  await store.saveSchedule(schedule({ nextAt: NOW + MINUTE }));
  await site.pass(MINUTE - 10_000 - 1);
  assert.equal(sender.sent.length, 0);
  await site.pass(1);
  assert.equal(sender.sent.length, 1);
  await site.pass(MINUTE - 1);
  assert.equal(sender.sent.length, 1);
  await site.pass(1);
  assert.equal(sender.sent.length, 2);
  await engine.stop(0);
});

test('a schedule made on another node fires, too', async () => {
  const site = await Site.open();
  const { engine, sender } = site.engine('nod_a');
  await site.quiet();
  await site.store('nod_http').saveSchedule(schedule({ nextAt: NOW + MINUTE }));
  await site.pass(2 * MINUTE);
  assert.equal(sender.sent.length, 2);
  await engine.stop(0);
});

test('a paused schedule does not fire; resumed, it does at the next tick and the one after', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a');
  await store.saveSchedule(schedule({ nextAt: NOW + MINUTE }));
  await site.pass(1);
  await store.pauseSchedule(ACCOUNT, 'scd_1', true, NOW);
  await site.pass(10 * MINUTE - 1);
  assert.equal(sender.sent.length, 0);
  await store.pauseSchedule(ACCOUNT, 'scd_1', false, site.now);
  await site.pass(MINUTE - 1);
  assert.equal(sender.sent.length, 0);
  await site.pass(1);
  assert.equal(sender.sent.length, 1);
  await site.pass(MINUTE);
  assert.equal(sender.sent.length, 2);
  await engine.stop(0);
});

test('a deleted schedule does not fire', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a');
  await store.saveSchedule(schedule({ nextAt: NOW + MINUTE }));
  await site.pass(1);
  await store.deleteSchedule(ACCOUNT, 'scd_1');
  await site.pass(5 * MINUTE);
  assert.equal(sender.sent.length, 0);
  await engine.stop(0);
});

test('a tick comes when every slot is taken, and its message when one is free', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a', { concurrency: 1 });
  sender.hold();
  await store.saveSchedule(schedule({ nextAt: NOW + MINUTE }));
  await site.pass(MINUTE);
  assert.equal(sender.sent.length, 1);
  await site.pass(3 * MINUTE);
  assert.equal((await countStates(store)).pending, 3, 'one for every minute that went by');
  assert.equal(sender.sent.length, 1);
  sender.letGo();
  await site.quiet();
  assert.equal((await countStates(store)).delivered, 4);
  await engine.stop(0);
});

test('however long nothing ran, a missed run is made once, and the next at its own time', async () => {
  const site = await Site.open();
  await site.store('nod_old').saveSchedule(schedule({ cron: '0 * * * *', nextAt: NOW + 60 * MINUTE }));
  site.world.clock.advance(60 * MINUTE * 50 + 7 * MINUTE);
  const { engine, sender, store } = site.engine('nod_new');
  await site.quiet();
  assert.equal(sender.sent.length, 1);
  assert.equal((await store.getSchedule(ACCOUNT, 'scd_1'))!.nextAt, NOW + 51 * 60 * MINUTE);
  await site.pass(53 * MINUTE - 1);
  assert.equal(sender.sent.length, 1);
  await site.pass(1);
  assert.equal(sender.sent.length, 2);
  await engine.stop(0);
});

test('two nodes that race make one message a tick', async () => {
  const site = await Site.open();
  const nodes = [site.engine('nod_a'), site.engine('nod_b')];
  for (let index = 0; index < 5; index += 1) {
    await nodes[index % 2]!.store.saveSchedule(schedule({ id: `scd_${index}`, nextAt: NOW + MINUTE }));
  }
  await site.pass(4 * MINUTE);
  const sent = nodes.flatMap(({ sender }) => sender.sent);
  assert.equal(sent.length, 5 * 4);
  assert.equal((await countStates(nodes[0]!.store)).delivered, 5 * 4);
  for (const { engine } of nodes) await engine.stop(0);
});

test('calls that race for the same tick make one message', async () => {
  const site = await Site.open();
  const stores = [site.store('nod_a'), site.store('nod_b'), site.store('nod_c')];
  await stores[0]!.saveSchedule(schedule({ nextAt: NOW }));
  const plan: PlanTick = async (each) => ({ messages: [site.tickOf(each)] });
  await Promise.all(
    stores.map((store) =>
      scheduleRunner({ store, now: () => NOW, plan, tiers: DEFAULT_TIERS, turns: NO_TURNS, onSkipped: () => {} })(NOW),
    ),
  );
  assert.equal((await countStates(stores[0]!)).pending, 1);
});

test('a tick whose topic is gone makes no message, and the schedule goes on', async () => {
  const site = await Site.open();
  const plan: PlanTick = async (each, account) => {
    if (!(await store.getTopic(account.id, each.destination))) {
      return { problem: { code: 'topic_not_found', message: 'there is no such topic' } };
    }
    return { messages: [site.tickOf(each)] };
  };
  const { engine, store, sender, skipped } = site.engine('nod_a', { plan });
  await store.saveSchedule(schedule({ destination: 'news', nextAt: NOW + MINUTE }));
  await store.saveSchedule(schedule({ id: 'scd_2', destination: 'news', nextAt: NOW + MINUTE, accountId: 'acc_gone' }));
  await site.pass(2 * MINUTE);
  assert.equal(sender.sent.length, 0);
  assert.deepEqual(skipped, ['scd_1'], 'one line for both ticks');
  const endpoints = [{ name: null, url: 'https://a.example/' }];
  const times = { createdAt: NOW, updatedAt: NOW };
  await store.saveTopic({
    id: 'tpc_1',
    accountId: ACCOUNT,
    name: 'news',
    endpoints,
    defaults: [],
    ...times,
    version: 0,
  });
  await site.pass(MINUTE);
  assert.equal(sender.sent.length, 1);
  await engine.stop(0);
});

test('why ticks make no message is reported once, and again after one that made some', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.saveSchedule(schedule({ nextAt: NOW }));
  const lines: (readonly [string, number])[] = [];
  let isGone = true;
  let rows = 1;
  const run = scheduleRunner({
    store,
    now: () => NOW,
    plan: async (each) =>
      isGone
        ? { problem: { code: 'topic_not_found', message: `there is no topic at ${each.nextAt}` } }
        : { messages: Array.from({ length: rows }, () => site.tickOf(each)) },
    tiers: { ...DEFAULT_TIERS, free: { ...DEFAULT_TIERS.free, messagesPerDayMax: 3 } },
    turns: NO_TURNS,
    onSkipped: (_schedule, why, count) => lines.push([why, count]),
  });
  const tick = async (minute: number) => void (await run(NOW + minute * MINUTE));
  for (let minute = 0; minute < 5; minute += 1) await tick(minute);
  isGone = false;
  await tick(5);
  isGone = true;
  for (let minute = 6; minute < 9; minute += 1) await tick(minute);
  isGone = false;
  rows = 3;
  for (let minute = 9; minute < 12; minute += 1) await tick(minute);
  assert.deepEqual(lines, [
    [`there is no topic at ${NOW}`, 1],
    [`there is no topic at ${NOW + 6 * MINUTE}`, 1],
    ['the daily quota of the account is used up', 1],
  ]);
});

test('more schedules than one go takes fire at the same time, in several', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a');
  for (let index = 0; index < 250; index += 1) {
    await store.saveSchedule(schedule({ id: `scd_${index}`, nextAt: NOW + MINUTE }));
  }
  await site.pass(MINUTE);
  assert.equal((await countStates(store)).delivered, 250);
  assert.equal(sender.sent.length, 250);
  await engine.stop(0);
});

test('an interval is missed, not made up for in a burst, and its ticks stay on the grid of its creation', async () => {
  const site = await Site.open();
  await site.store('nod_old').saveSchedule(schedule({ cron: '@every 7s', nextAt: NOW + 7000 }));
  site.world.clock.advance(60_000);
  const { engine, sender, store } = site.engine('nod_new');
  await site.quiet();
  assert.equal(sender.sent.length, 1);
  assert.equal((await store.getSchedule(ACCOUNT, 'scd_1'))!.nextAt, NOW + 63_000);
  await site.pass(3000);
  assert.equal(sender.sent.length, 2);
  await site.pass(7000);
  assert.equal(sender.sent.length, 3);
  await engine.stop(0);
});

test('the messages of a tick are due later by its jitter, whichever node runs it, and the tick does not move', async () => {
  const dueAt = async (now: number, mustStartBefore: number | null = null) => {
    const site = await Site.open();
    const store = site.store('nod_a');
    const one = schedule({ nextAt: NOW, jitterMs: MINUTE });
    await store.saveSchedule(one);
    const plan: PlanTick = async (each) => ({
      messages: [{ ...site.tickOf(each), id: 'msg_1', dueAt: now, mustStartBefore }],
    });
    await scheduleRunner({ store, now: () => now, plan, tiers: DEFAULT_TIERS, turns: NO_TURNS, onSkipped: () => {} })(
      now,
    );
    assert.equal((await store.getSchedule(ACCOUNT, 'scd_1'))!.nextAt, NOW + MINUTE);
    return (await store.getMessage(ACCOUNT, 'msg_1'))!.message.dueAt - now;
  };
  const laterMs = jitterOf(schedule({ jitterMs: MINUTE }), NOW);
  assert.ok(laterMs > 0);
  assert.deepEqual([await dueAt(NOW), await dueAt(NOW + 17)], [laterMs, laterMs]);
  assert.equal(await dueAt(NOW, NOW + laterMs), laterMs - 1, 'it is due when it has expired');
  assert.equal(await dueAt(NOW, NOW), 0);
});

test('a schedule that skips makes its next message at the first tick after the end of the last', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a');
  sender.hold();
  await store.saveSchedule(schedule({ overlap: 'skip', nextAt: NOW + MINUTE }));
  for (let tick = 0; tick < 3; tick += 1) await site.pass(MINUTE);
  assert.equal((await countStates(store)).pending + sender.sent.length, 1);
  assert.equal((await store.getSchedule(ACCOUNT, 'scd_1'))!.skippedCount, 2);
  sender.letGo();
  await site.quiet();
  await site.pass(MINUTE);
  assert.equal(sender.sent.length, 2);
  await engine.stop(0);
});

/** A runner whose clock moves by `planMs` with each plan, and what it planned and charged. */
function watchedRunner(store: Store, planMs: number, messagesOf: (one: Schedule) => readonly NewMessage[]) {
  const planned: string[] = [];
  const charged: [string, number][] = [];
  let atMs = 0;
  const turns = {
    nowMs: () => atMs,
    charge: ({ key }: { readonly key: string }, sinceMs: number) => void charged.push([key, atMs - sinceMs]),
  };
  const plan: PlanTick = async (one, _account, timed) => {
    planned.push(one.id);
    await setImmediate();
    atMs += 100;
    return timed(() => {
      atMs += planMs;
      return { messages: messagesOf(one) };
    });
  };
  const options = { store, now: () => NOW, tiers: DEFAULT_TIERS, onSkipped: () => assert.fail(), turns, plan };
  return { run: scheduleRunner(options), planned, charged };
}

test('a tick that is to be skipped is not planned, and makes nothing if the message ends meanwhile', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const open = message();
  await store.accept([open], NOW);
  const one = schedule({ overlap: 'skip', nextAt: NOW, lastMessageIds: [open.id] });
  await store.saveSchedule(one);
  const { run, planned } = watchedRunner(store, 1, (each) => [site.tickOf(each)]);
  const { due } = await store.dueSchedules(NOW, DUE);
  await run(NOW);
  assert.equal((await store.getSchedule(ACCOUNT, one.id))!.skippedCount, 1);
  const late = { schedule: due[0]!, messages: [], isUnplanned: true, nextAt: NOW + MINUTE } as const;
  await store.saveSchedule({ ...one, id: 'other' });
  await store.cancel(ACCOUNT, [open.id], NOW, NOW + HOUR);
  assert.deepEqual(await store.fireSchedules([{ ...late, schedule: { ...one, id: 'other' } }], NOW), [null]);
  assert.deepEqual(planned, []);
  await run(NOW);
  assert.deepEqual(planned, ['other']);
});

for (const [what, planMs, rows] of [
  ['long', 6, 1],
  ['many messages', 0, 300],
] as const) {
  test(`a step ends after a plan of ${what}, and the next one begins with the next account`, async () => {
    const site = await Site.open();
    const store = site.store('nod_a');
    await store.createAccount({ id: OTHER_ACCOUNT, name: 'two', tier: 'free', createdAt: NOW }, KEYS);
    const { run, planned, charged } = watchedRunner(store, planMs, (one) =>
      Array.from({ length: rows }, () => ({ ...site.tickOf(one), accountId: one.accountId })),
    );
    for (const id of ['a1', 'a2', 'a3']) await store.saveSchedule(schedule({ id, nextAt: NOW }));
    await run(NOW);
    assert.equal(planned.length, 1);
    await store.saveSchedule(schedule({ id: 'other', accountId: OTHER_ACCOUNT, nextAt: NOW }));
    await run(NOW);
    await run(NOW);
    assert.deepEqual(planned, ['a1', 'other', 'a2']);
    assert.deepEqual(
      charged,
      [ACCOUNT, OTHER_ACCOUNT, ACCOUNT].map((key) => [key, planMs]),
    );
  });
}

test('the next tick of an interval is corrected onto its grid after the clock was set back', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.saveSchedule(schedule({ cron: '@every 1h', createdAt: NOW, nextAt: NOW + 500 * HOUR }));
  await store.saveSchedule(schedule({ id: 'right', cron: '@every 1h', createdAt: NOW, nextAt: NOW + HOUR }));
  await scheduleTimeCorrector(store, { timesSetBack: 1, wallNow: () => NOW + 90_000 }).run();
  const nextAt = async (id: string) => (await store.getSchedule(ACCOUNT, id))!.nextAt;
  assert.deepEqual([await nextAt('scd_1'), await nextAt('right')], [NOW + HOUR, NOW + HOUR]);
});

test('a schedule whose times this program cannot read is left as it is, reported once, and delays no other', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const newer = schedule({ cron: '@sunrise', nextAt: NOW });
  await store.saveSchedule(newer);
  await store.saveSchedule(schedule({ id: 'scd_2', nextAt: NOW }));
  const lines: string[] = [];
  const plan: PlanTick = async (each) => ({ messages: [site.tickOf(each)] });
  const onSkipped = ({ id }: Schedule, why: string) => void lines.push(`${id} ${why}`);
  const run = scheduleRunner({ store, now: () => NOW, plan, tiers: DEFAULT_TIERS, turns: NO_TURNS, onSkipped });
  assert.equal(await run(NOW), NOW, 'there may be more');
  assert.equal(await run(NOW), NOW + 1000);
  assert.deepEqual(await store.getSchedule(ACCOUNT, newer.id), newer);
  assert.equal((await store.getSchedule(ACCOUNT, 'scd_2'))!.nextAt, NOW + MINUTE);
  assert.equal((await countStates(store)).pending, 1);
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^scd_1 @sunrise: /);
});
