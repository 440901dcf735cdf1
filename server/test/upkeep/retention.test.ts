// What is past its time goes, in pieces, until nothing is left to go; what is not, stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TIERS } from '../../src/rules/limits/tier.ts';
import { retention } from '../../src/upkeep/retention.ts';
import { flowing } from '../conformance/flow-control.ts';
import { ACCOUNT, message, messages, NOW } from '../conformance/given.ts';
import { countStates } from '../support/count-states.ts';
import { Site } from './given-engine.ts';

const { retentionMs } = DEFAULT_TIERS.free;

test('ended messages, old events and spent deduplication keys go; the rest stays', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const ended = messages(450);
  await store.accept(ended, NOW);
  await store.accept([message({ deduplication: { key: 'k', expiresAt: NOW + 600_000 } })], NOW);
  await store.cancel(
    ACCOUNT,
    ended.map(({ id }) => id),
    NOW,
    NOW + retentionMs,
  );
  const task = retention(store, DEFAULT_TIERS);
  await task.run(NOW + retentionMs - 1);
  assert.equal((await countStates(store)).cancelled, 450);

  const waits: number[] = [];
  for (let run = 0; run < 6; run += 1) waits.push(await task.run(NOW + retentionMs + 1));
  assert.deepEqual(await countStates(store), {
    pending: 1,
    claimed: 0,
    held: 0,
    delivered: 0,
    failed: 0,
    cancelled: 0,
  });
  assert.ok(waits[0]! < 1000, 'while there is a lot to delete it comes again soon');
  assert.equal(waits.at(-1), 30_000);
  const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
  assert.deepEqual((await store.listEvents(ACCOUNT, { messages: {} }, page)).events, []);
  const again = message({ deduplication: { key: 'k', expiresAt: NOW + 2 * retentionMs } });
  assert.deepEqual((await store.accept([again], NOW + retentionMs)).duplicates, [null]);
});

test('each account keeps its events for as long as its tier says', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const keys = { current: 'sig_1', next: 'sig_2' };
  await store.createAccount({ id: 'acc_paid', name: 'paid', tier: 'paid', createdAt: NOW }, keys);
  await store.accept([message(), message({ accountId: 'acc_paid' })], NOW);
  await retention(store, DEFAULT_TIERS).run(NOW + retentionMs + 1);
  const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
  const count = async (accountId: string) => (await store.listEvents(accountId, { messages: {} }, page)).events.length;
  assert.deepEqual([await count(ACCOUNT), await count('acc_paid')], [0, 1]);
});

test('by a time that is not proven nothing goes', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const ended = message();
  await store.accept([ended], NOW);
  await store.cancel(ACCOUNT, [ended.id], NOW, NOW + retentionMs);
  let isProven = false;
  const task = retention(store, DEFAULT_TIERS, () => isProven);
  assert.equal(await task.run(NOW + retentionMs + 1), 30_000);
  assert.equal((await countStates(store)).cancelled, 1);
  isProven = true;
  await task.run(NOW + retentionMs + 1);
  assert.equal((await countStates(store)).cancelled, 0);
});

test('flow keys that nobody uses are found soon, also behind many that are in use', async () => {
  const site = await Site.open();
  const store = site.store('nod_a');
  const later = { dueAt: NOW + 10 * retentionMs };
  const keyed = (name: string, index: number, some = {}) =>
    flowing({ parallelism: 1 }, some, `${name}-${1000 + index}`);
  await store.accept(
    Array.from({ length: 2000 }, (_, index) => keyed('in-use', index, later)),
    NOW,
  );
  const ended = Array.from({ length: 20 }, (_, index) => keyed('unused', index));
  await store.accept(ended, NOW);
  await store.cancel(
    ACCOUNT,
    ended.map(({ id }) => id),
    NOW,
    NOW,
  );
  const task = retention(store, DEFAULT_TIERS);
  const isThere = async () => (await store.getFlowKey(ACCOUNT, 'unused-1019')) !== null;
  assert.ok(await isThere());
  let [pausedMs, waitMs] = [0, 0];
  for (let run = 0; run < 20 && (await isThere()); run += 1) {
    pausedMs += waitMs;
    waitMs = await task.run(NOW + retentionMs);
  }
  assert.ok(!(await isThere()));
  assert.ok(pausedMs < 10_000, `after pauses of ${pausedMs} ms`);

  assert.ok(waitMs > 20_000, 'then it rests');
  await task.runThrough(NOW + retentionMs);
  assert.ok((await store.getFlowKey(ACCOUNT, 'in-use-1000')) !== null);
});
