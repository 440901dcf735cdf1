// Only the heartbeat may keep a claim waiting: schedules, retention, bulk operations, alerts and orphaned claims run beside the
// deliveries, in bounded pieces, and each account has its part.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountMax, eachMax } from '../../../src/rules/limits/budgets.ts';
import { DEFAULT_TIERS } from '../../../src/rules/limits/tier.ts';
import type { Store } from '../../../src/store/ports/store.ts';
import { retention } from '../../../src/upkeep/retention.ts';
import { scheduleRunner } from '../../../src/upkeep/schedules.ts';
import { KEYS, NOW, OTHER_ACCOUNT } from '../../conformance/given.ts';
import { schedule } from '../../conformance/schedules.ts';
import { countStates } from '../../support/count-states.ts';
import { type Rider, refusal, startRider } from '../../support/harness.ts';
import { NO_TURNS } from '../../support/no-turns.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { Site } from '../../upkeep/given-engine.ts';
import { holdVerb } from './held-verb.ts';

const BESIDE = [
  ['schedules', 'dueSchedules', 60_000],
  // In a new store nothing is deleted before 10 minutes have passed.
  ['retention', 'deleteExpired', 10 * 60_000 + 30_000],
  ['bulk operations', 'runningJobs', 2000],
  ['deletion of accounts', 'deleteAccountPiece', 2000],
  ['orphaned claims', 'orphanedClaims', 5000],
  ['stray claims', 'strayClaims', 10_000],
  ['alerts', 'dueAlerts', 5000],
] as const;

/** More signs of life come, each at its time. */
async function beatsGoOn(rider: Rider): Promise<void> {
  const { store } = rider.postrider;
  const { heartbeat } = store;
  let beats = 0;
  Object.assign(store, {
    heartbeat: (...args: Parameters<typeof heartbeat>) => {
      beats += 1;
      return heartbeat(...args);
    },
  });
  await waitFor('signs of life', () => {
    if (rider.clock.untilNextTimer() !== null) rider.clock.advance(500);
    return beats >= 2;
  });
  Object.assign(store, { heartbeat });
}

for (const [what, verb, everyMs] of BESIDE) {
  test(`neither deliveries nor signs of life wait for ${what}`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t);
    const hostile = await rider.account('hostile');
    const cron = { 'Service-Cron': '* * * * *' };
    await rider.call('POST', `/v2/schedules/${receiver.url}/tick`, { token: hostile.token, headers: cron });
    await rider.quiet();
    const held = holdVerb(t, rider, verb);
    rider.clock.advance(everyMs);
    await waitFor(`${what} to wait`, () => held.waiting() > 0);
    const messageId = await rider.published(receiver.url);
    assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
    await beatsGoOn(rider);
    assert.ok(held.waiting() > 0);
    held.letGo();
    await rider.quiet();
  });
}

test('without a sign of life nothing starts, and with the next one all does', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t);
  await rider.quiet();
  const held = holdVerb(t, rider, 'heartbeat');
  rider.clock.advance(5000);
  await waitFor('the heartbeat to wait', () => held.waiting() > 0);
  rider.clock.advance(5000);
  const messageId = await rider.published(receiver.url);
  assert.equal((await rider.message(messageId)).endedAt, undefined);
  held.letGo();
  await rider.ended(messageId);
  assert.equal(receiver.arrivals.length, 1);
});

test('a node that drains gives signs of life until its last attempt has ended', async (t) => {
  const rider = await startRider(t, { flags: ['--drain', '60s'] });
  let answer = () => {};
  const receiver = await startReceiver(t, () => new Promise<number>((resolve) => (answer = () => resolve(200))));
  await rider.published(receiver.url);
  await receiver.received(1);
  const closing = rider.postrider.close();
  // Well within the time to drain, even if it takes a while until the node waits for the clock again.
  await beatsGoOn(rider);
  answer();
  await closing;
});

/** A store that notes how often each verb was called. */
function counted(store: Store): { readonly store: Store; readonly calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const counting = Object.fromEntries(
    Object.entries(store).map(([verb, ask]) => [
      verb,
      (...args: unknown[]) => {
        calls.set(verb, (calls.get(verb) ?? 0) + 1);
        return (ask as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  );
  return { store: counting as unknown as Store, calls };
}

test('the schedules of one account, however many, do not keep those of another back', async () => {
  const site = await Site.open();
  const { store, calls } = counted(site.store('nod_a'));
  await store.createAccount({ id: OTHER_ACCOUNT, name: 'two', tier: 'free', createdAt: NOW }, KEYS);
  for (let index = 0; index < 1000; index += 1) await store.saveSchedule(schedule({ id: `scd_${index}`, nextAt: NOW }));
  await store.saveSchedule(schedule({ id: 'scd_other', accountId: OTHER_ACCOUNT, nextAt: NOW }));
  const fire = scheduleRunner({
    turns: NO_TURNS,
    store,
    now: () => NOW,
    tiers: DEFAULT_TIERS,
    plan: async (each) => ({ messages: [{ ...site.tickOf(each), accountId: each.accountId }] }),
    onSkipped: () => assert.fail('none is skipped'),
  });
  await fire(NOW);
  assert.ok((await store.getSchedule(OTHER_ACCOUNT, 'scd_other'))!.nextAt! > NOW, 'it ran in the first go');
  assert.ok((await countStates(store)).pending <= eachMax('dueSchedules'), 'a go is bounded');
  let goes = 1;
  for (let nextAt: number | null = NOW; nextAt !== null && nextAt <= NOW; goes += 1) nextAt = await fire(NOW);
  assert.equal((await countStates(store)).pending, 1001);
  assert.ok(calls.get('fireSchedules')! <= goes, 'one transaction a go');
});

test('retention asks once for hundreds of accounts, and deletes a bounded number of rows in one transaction', async () => {
  const site = await Site.open();
  const { store, calls } = counted(site.store('nod_a'));
  for (let index = 0; index < 1200; index += 1) {
    const id = `acc_many_${String(index).padStart(4, '0')}`;
    await store.createAccount({ id, name: id, tier: 'free', createdAt: NOW }, KEYS);
  }
  calls.clear();
  const task = retention(store, DEFAULT_TIERS);
  let waitMs = 0;
  let runs = 0;
  while (waitMs < 1000) {
    waitMs = await task.run(NOW);
    runs += 1;
    assert.ok(runs < 10, 'it comes to an end');
  }
  assert.deepEqual(Object.fromEntries(calls), {
    deleteExpired: runs,
    deleteDeduplication: runs,
    foldActivity: runs,
    deleteIdleFlowKeys: runs,
    deleteIdleQueues: runs,
    deleteOldJobs: runs,
    deleteIdleHosts: runs,
    deleteAudit: runs,
    foldStored: runs,
    deleteUsage: runs,
    deleteJournal: runs,
  });
  assert.equal(runs, 3);
});

test('an account runs so many bulk operations at once; another is not concerned', async (t) => {
  const rider = await startRider(t);
  const hostile = await rider.account('hostile');
  const quiet = await rider.account('quiet');
  const body = JSON.stringify({ action: 'cancel', filter: { all: 'true' } });
  const start = (token: string) => rider.call('POST', '/v2/bulk', { token, body });
  await rider.quiet();
  for (let made = 0; made < accountMax('runningJobs'); made += 1)
    assert.equal((await start(hostile.token)).status, 201);
  const refused = await start(hostile.token);
  refusal(refused, 429, 'share_used');
  assert.ok(refused.headers['retry-after'] !== undefined);
  assert.equal((await start(quiet.token)).status, 201);
  const { jobs } = await rider.manage<{ jobs: { jobId: string }[] }>('GET', '/v2/bulk', undefined, hostile.token);
  assert.equal(jobs.length, accountMax('runningJobs'), 'nothing was made');
  await rider.manage('POST', `/v2/bulk/${jobs[0]!.jobId}/stop`, undefined, hostile.token);
  assert.equal((await start(hostile.token)).status, 201);
});
