// Bulk operations: done at their pace to exactly what they are for, through restarts and until they are stopped.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../src/rules/delivery/job.ts';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { jobRunner } from '../../src/upkeep/jobs.ts';
import { ACCOUNT, KEYS, limits, message, messages, NOW, REFUSED, settlementOf } from '../conformance/given.ts';
import { job } from '../conformance/jobs.ts';
import { claimDue } from '../support/claim-due.ts';
import { countStates } from '../support/count-states.ts';
import { Site } from './given-engine.ts';

const cancelledUntil = async (_account: unknown, now: number) => now + DEFAULT_TIERS.free.retentionMs;

function runnerOver(site: Site, store: Store) {
  return jobRunner({ store, tiers: DEFAULT_TIERS, newId: site.newId, mayAccept: () => true, cancelledUntil });
}

async function made(store: Store, some: Partial<Job>): Promise<() => Promise<Job>> {
  await store.createJob(job({ filter: {}, ...some }));
  return async () => (await store.getJob(ACCOUNT, 'job_1'))!;
}

async function fail(store: Store, dead: readonly NewMessage[]): Promise<void> {
  await store.accept(dead, NOW);
  const { claims } = await claimDue(store, NOW, limits());
  await store.settle(
    claims.map((claim) => settlementOf(claim, REFUSED, NOW)),
    NOW,
  );
}

test('a job keeps its pace, and is done when nothing is left', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.accept([...messages(25, { labels: ['x'] }), ...messages(5)], NOW);
  const current = await made(store, { filter: { labels: ['x'] }, perSecond: 10 });
  const runner = runnerOver(site, store);
  const progress: [number, string][] = [];
  for (let run = 1; run <= 4; run += 1) {
    assert.equal(await runner.run(NOW + run * 1000), run < 4 ? 1000 : 2000, 'when it wants to run again');
    const { done, state } = await current();
    progress.push([done, state]);
  }
  assert.deepEqual(progress, [
    [10, 'running'],
    [20, 'running'],
    [25, 'done'],
    [25, 'done'],
  ]);
  assert.deepEqual(await countStates(store), {
    pending: 5,
    claimed: 0,
    held: 0,
    delivered: 0,
    failed: 0,
    cancelled: 25,
  });
});

test('a job goes on after a restart from where it was', async () => {
  const site = await Site.open();
  const before = site.store('nod_a');
  await before.accept(messages(15), NOW);
  const current = await made(before, { perSecond: 10 });
  await runnerOver(site, before).run(NOW);
  const after = site.store('nod_b');
  await runnerOver(site, after).run(NOW + 1000);
  await runnerOver(site, after).run(NOW + 2000);
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 15, state: 'done' });
});

test('a job that makes messages waits while none may be accepted', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await fail(store, messages(3));
  const current = await made(store, { action: 'retry', perSecond: 10 });
  let mayAccept = false;
  const runner = jobRunner({
    store,
    tiers: DEFAULT_TIERS,
    newId: site.newId,
    mayAccept: () => mayAccept,
    cancelledUntil,
  });
  await runner.run(NOW + 1000);
  assert.deepEqual([(await current()).done, (await countStates(store)).pending], [0, 0]);
  mayAccept = true;
  await runner.run(NOW + 2000);
  assert.deepEqual([(await current()).done, (await countStates(store)).pending], [3, 3]);
});

test('a job that waits does not hold back the other jobs of its account', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.accept(messages(15), NOW);
  await store.createJob(job({ id: 'job_0', action: 'retry', filter: {}, updatedAt: NOW - 1 }));
  const current = await made(store, { perSecond: 100 });
  await jobRunner({ store, tiers: DEFAULT_TIERS, newId: site.newId, mayAccept: () => false, cancelledUntil }).run(NOW);
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 15, state: 'done' });
});

test('nor does one that is over the quota of the day', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await fail(store, messages(3));
  await store.accept(messages(15), NOW);
  await store.createJob(job({ id: 'job_0', action: 'retry', filter: {}, updatedAt: NOW - 1 }));
  const current = await made(store, { perSecond: 100 });
  const tiers = { ...DEFAULT_TIERS, free: { ...DEFAULT_TIERS.free, messagesPerDayMax: 18 } };
  const runner = jobRunner({ store, tiers, newId: site.newId, mayAccept: () => true, cancelledUntil });
  for (let run = 0; run < 3; run += 1) await runner.run(NOW + run * 1000);
  assert.equal((await store.getJob(ACCOUNT, 'job_0'))!.done, 0);
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 15, state: 'done' });
});

test('jobs that wait, however many, do not hold back those of other accounts', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  for (let number = 0; number < 250; number += 1) {
    const accountId = `acc_waits_${number % 25}`;
    if (number < 25) await store.createAccount({ id: accountId, name: accountId, tier: 'free', createdAt: NOW }, KEYS);
    await store.createJob(job({ id: `job_w${number}`, accountId, action: 'retry', filter: {}, updatedAt: NOW - 1 }));
  }
  await store.accept(messages(15), NOW);
  const current = await made(store, { perSecond: 100 });
  const mayAccept = ({ id }: { readonly id: string }) => id === ACCOUNT;
  const runner = jobRunner({ store, tiers: DEFAULT_TIERS, newId: site.newId, mayAccept, cancelledUntil });
  for (let run = 0; run < 3; run += 1) await runner.run(NOW + run * 1000);
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 15, state: 'done' });
  assert.equal((await store.getJob('acc_waits_0', 'job_w0'))!.state, 'running');
});

test('a stopped job does nothing more, and what it did stays counted', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.accept(messages(15), NOW);
  const current = await made(store, { perSecond: 10 });
  await runnerOver(site, store).run(NOW);
  await store.stopJob(ACCOUNT, 'job_1', NOW);
  await runnerOver(site, store).run(NOW + 1000);
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 10, state: 'stopped' });
  assert.equal((await countStates(store)).pending, 5);
});

test('stopped between finding a piece and doing it, the job does nothing more', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.accept(messages(15), NOW);
  const current = await made(store, { perSecond: 10 });
  const stopping: Store = {
    ...store,
    async runJobStep(...args) {
      await store.stopJob(ACCOUNT, 'job_1', NOW);
      return store.runJobStep(...args);
    },
  };
  await runnerOver(site, stopping).run(NOW);
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 0, state: 'stopped' });
  assert.equal((await countStates(store)).cancelled, 0);
});

test('what ended by itself meanwhile is not counted as done', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const all = messages(6);
  await store.accept(all, NOW);
  const current = await made(store, { perSecond: 3 });
  await runnerOver(site, store).run(NOW);
  const { claims } = await claimDue(store, NOW, limits({ slots: 1 }));
  await store.settle([settlementOf(claims[0]!, REFUSED, NOW)], NOW);
  await runnerOver(site, store).run(NOW + 1000);
  await runnerOver(site, store).run(NOW + 2000);
  assert.equal((await current()).done, 5);
});

test('retrying sends every dead letter once, and does not take its own messages for more', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await fail(store, messages(12, { body: new Uint8Array([7]) }));
  const current = await made(store, { action: 'retry', perSecond: 5 });
  const runner = runnerOver(site, store);
  for (let run = 1; run <= 5; run += 1) {
    await runner.run(NOW + run * 1000);
    // What was sent again fails again at once: it is a new dead letter, and none of the job's.
    const { claims } = await claimDue(store, NOW + run * 1000, limits());
    await store.settle(
      claims.map((claim) => settlementOf(claim, REFUSED, NOW + run * 1000)),
      NOW + run * 1000,
    );
  }
  const { done, state } = await current();
  assert.deepEqual({ done, state }, { done: 12, state: 'done' });
  assert.equal((await countStates(store)).failed, 24, 'those that were sent again stay');
  const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: true } as const;
  const { messages: again } = await store.searchMessages(ACCOUNT, { isRetried: false }, page);
  assert.equal(again.length, 12);
  assert.ok(again.every(({ body, sourceMessageId }) => body[0] === 7 && sourceMessageId !== null));
});

test('deleting is for dead letters only, whatever the filter means', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await fail(store, messages(4));
  await store.accept([message({ dueAt: NOW + 1000 })], NOW);
  const current = await made(store, { action: 'delete', perSecond: 100 });
  await runnerOver(site, store).run(NOW);
  assert.equal((await current()).done, 4);
  assert.deepEqual(await countStates(store), {
    pending: 1,
    claimed: 0,
    held: 0,
    delivered: 0,
    failed: 0,
    cancelled: 0,
  });
});

test('what is accepted after a job was made is not touched by it', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  await store.accept(messages(3), NOW);
  const current = await made(store, { perSecond: 2 });
  await store.accept(messages(2, { createdAt: NOW + 1 }), NOW + 1);
  for (let run = 1; run <= 3; run += 1) await runnerOver(site, store).run(NOW + run * 1000);
  assert.equal((await current()).done, 3);
  assert.equal((await countStates(store)).pending, 2);
});

for (const action of ['retry', 'delete'] as const) {
  test(`a message that fails after a job was made is not touched by it: ${action}`, async () => {
    const site = await Site.open();
    const store = site.store('nod_a');
    await fail(store, messages(3));
    const later = messages(2);
    await store.accept(later, NOW);
    const current = await made(store, { action, perSecond: 2 });
    const { claims } = await claimDue(store, NOW + 1, limits());
    await store.settle(
      claims.map((claim) => settlementOf(claim, REFUSED, NOW + 1)),
      NOW + 1,
    );
    for (let run = 1; run <= 3; run += 1) await runnerOver(site, store).run(NOW + run * 1000);
    const { done, state } = await current();
    assert.deepEqual({ done, state }, { done: 3, state: 'done' });
    for (const { id } of later) {
      const { message: dead } = (await store.getMessage(ACCOUNT, id))!;
      assert.deepEqual([dead.state, dead.retriedAs], ['failed', undefined]);
    }
  });
}
