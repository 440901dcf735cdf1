// Schedules fire: at their time, once, after a pause, after a time when nothing ran, on however many nodes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { type PlanTick, scheduleRunner } from '../../src/upkeep/schedules.ts';
import { ACCOUNT, NOW } from '../conformance/given.ts';
import { schedule } from '../conformance/schedules.ts';
import { countStates } from '../support/count-states.ts';
import { MINUTE, Site } from './given-engine.ts';

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
  await store.setScheduleNext(ACCOUNT, 'scd_1', null, true);
  await site.pass(10 * MINUTE - 1);
  assert.equal(sender.sent.length, 0);
  await store.setScheduleNext(ACCOUNT, 'scd_1', NOW + 11 * MINUTE, false);
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
      scheduleRunner({ store, now: () => NOW, plan, tiers: DEFAULT_TIERS, onSkipped: () => {} })(NOW),
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
  assert.deepEqual(skipped, ['scd_1', 'scd_1']);
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

test('a schedule that will never run again fires its last tick and rests', async () => {
  const site = await Site.open();
  const { engine, store, sender } = site.engine('nod_a');
  await store.saveSchedule(schedule({ cron: '0 0 30 2 *', nextAt: NOW + MINUTE }));
  await site.pass(10 * MINUTE);
  assert.equal(sender.sent.length, 1);
  assert.equal((await store.getSchedule(ACCOUNT, 'scd_1'))!.nextAt, null);
  await engine.stop(0);
});
