// Large messages that are cancelled or deleted together: each transaction has a few of them. Whoever publishes meanwhile
// waits for one such transaction, and the log of SQLite, which gets a changed row with its body, stays small.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobWork } from '../../../src/rules/delivery/job.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { type Rider, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const shared = sharedRider();
const BODY = 'x'.repeat(1_000_000);
const COUNT = 12;
/** As many as fit, and the one with which it is enough. */
const AT_ONCE_MAX = Math.floor(eachMax('changedBytes') / BODY.length) + 1;
const LATER = { 'Service-Delay': '300d' };
const NOWHERE = 'http://127.0.0.1:9/';

/** How many messages each transaction has changed since. */
function watched(t: { after(end: () => void): void }, rider: Rider): number[] {
  const { store } = rider.postrider;
  const { cancel, deleteDeadLetters, runJobStep } = store;
  const counts: number[] = [];
  const idsOf = (work: JobWork) => ('messageIds' in work ? work.messageIds : []);
  const note = (ids: readonly string[]) => {
    if (ids.length > 0) counts.push(ids.length);
  };
  Object.assign(store, {
    cancel: (...args: Parameters<typeof cancel>) => {
      note(args[1]);
      return cancel.apply(store, args);
    },
    deleteDeadLetters: (...args: Parameters<typeof deleteDeadLetters>) => {
      note(args[1]);
      return deleteDeadLetters.apply(store, args);
    },
    runJobStep: (...args: Parameters<typeof runJobStep>) => {
      note(idsOf(args[2]));
      return runJobStep.apply(store, args);
    },
  });
  t.after(() => void Object.assign(store, { cancel, deleteDeadLetters, runJobStep }));
  return counts;
}

function requireFew(counts: readonly number[]): void {
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    COUNT,
  );
  assert.ok(Math.max(...counts) <= AT_ONCE_MAX, String(counts));
}

const dlqIdOf = (messageId: string) => messageId.replace('msg_', 'dlq_');

test('a cancel of all messages cancels a few large ones in each transaction', async (t) => {
  const rider = shared();
  const { token } = await rider.account('cancels-large');
  for (let n = 0; n < COUNT; n += 1) await rider.published(NOWHERE, { token, headers: LATER, body: BODY });
  const counts = watched(t, rider);
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages?all=true', undefined, token), { cancelled: COUNT });
  requireFew(counts);
});

test('so does a delete of their queue', async (t) => {
  const rider = shared();
  const { token } = await rider.account('queue-of-large');
  for (let n = 0; n < COUNT; n += 1) await rider.accepted(NOWHERE, { token, headers: LATER, body: BODY });
  const counts = watched(t, rider);
  await rider.manage('DELETE', '/v2/queues/q?force=true', undefined, token);
  requireFew(counts);
  assert.equal((await rider.call('GET', '/v2/queues/q', { token })).status, 404);
});

test('a bulk cancel does so too, and does not become slower than its pace', async (t) => {
  const rider = shared();
  const { token } = await rider.account('job-of-large');
  for (let n = 0; n < COUNT; n += 1) await rider.published(NOWHERE, { token, headers: LATER, body: BODY });
  const counts = watched(t, rider);
  const job = { action: 'cancel', filter: { all: true }, perSecond: 100 };
  const { jobId } = await rider.manage<{ jobId: string }>('POST', '/v2/bulk', job, token);
  await rider.advance(2000);
  await waitFor('the job', async () => {
    const { state } = await rider.manage<{ state: string }>('GET', `/v2/bulk/${jobId}`, undefined, token);
    return state === 'done';
  });
  requireFew(counts);
});

test('a delete of large dead letters deletes all that were named, a few in each transaction', async (t) => {
  const rider = shared();
  const { token } = await rider.account('deletes-large');
  const receiver = await startReceiver(t, () => ({ status: 489 }));
  const ids: string[] = [];
  for (let n = 0; n < COUNT; n += 1) {
    ids.push(await rider.published(receiver.url, { token, headers: { 'Service-Retries': '0' }, body: BODY }));
  }
  for (const id of ids) await rider.ended(id, token);
  const counts = watched(t, rider);
  const named = { dlqIds: ids.map(dlqIdOf) };
  assert.deepEqual(await rider.manage('DELETE', '/v2/dlq', named, token), { deleted: COUNT });
  requireFew(counts);
});
