// Counts end at a budget and say so, and whoever counts or reads without a pause does not let the log of the store grow:
// what another account publishes meanwhile is accepted and delivered.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { LagCounter } from '../../../src/inbound/api/lists/lags.ts';
import { BUDGETS } from '../../../src/rules/limits/budgets.ts';
import type { Queue } from '../../../src/rules/lines/queue.ts';
import { countInPieces } from '../../../src/store/ports/count-in-pieces.ts';
import { type Rider, sharedRider, startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { onlySqlite } from '../../support/store-under-test.ts';

const LINE_COUNT = BUDGETS.lineCount.each!;
const LAG_COUNT = BUDGETS.lagCount.each!;
const MATCHED_COUNT = BUDGETS.matchedCount.each!;
const LOG_BYTES = BUDGETS.logBytes.node as number;
const MIB = 1024 * 1024;

const QUEUE: Queue = {
  accountId: 'acc',
  name: 'q',
  parallelism: 1,
  isPaused: false,
  expiresMs: null,
  priority: null,
  outage: null,
  createdAt: 0,
  updatedAt: 0,
  lag: LINE_COUNT,
  isLagCut: true,
};

/** Lines without an end, and how often they were asked for a piece. */
function endless() {
  let pieces = 0;
  const countLine = async () => {
    pieces += 1;
    return { count: LINE_COUNT, next: { dueAt: 0, seq: pieces } };
  };
  return { countLine, pieces: () => pieces };
}

test('the lags of one call are counted up to a budget for all of them, and what is cut says so', async () => {
  const store = endless();
  const [first, second] = await new LagCounter(store).counted([QUEUE, { ...QUEUE, name: 'r' }]);
  assert.deepEqual([first!.lag, first!.isLagCut], [LAG_COUNT, true]);
  assert.deepEqual([second!.lag, second!.isLagCut], [LINE_COUNT, true]);
  assert.equal(store.pieces(), LAG_COUNT / LINE_COUNT);
  const { isLagCut: _cut, ...whole } = QUEUE;
  assert.deepEqual(
    await new LagCounter({ countLine: async () => ({ count: 3, next: null }) }).counted([QUEUE, whole]),
    [{ ...whole, lag: 3 }, whole],
  );
});

test('a count of what a filter means ends at its budget, or when it has looked at enough, and says so', async () => {
  const many = (count: number) => async (max: number) => ({ count: Math.min(count, max), cursor: 1 });
  assert.deepEqual(await countInPieces(many(20_000), MATCHED_COUNT), { count: MATCHED_COUNT, isCut: true });
  assert.deepEqual(await countInPieces(many(7), MATCHED_COUNT), { count: 70, isCut: true });
  const all = async () => ({ count: MATCHED_COUNT, cursor: null });
  assert.deepEqual(await countInPieces(all, MATCHED_COUNT), { count: MATCHED_COUNT, isCut: false });
});

suite('with more messages than are counted', () => {
  const shared = sharedRider();
  let rider: Rider;
  let owner: string;
  let other: string;
  const ENDPOINTS = 1000;
  const ELEMENTS = 5;
  const CALLS = Math.ceil((LINE_COUNT + 1) / (ENDPOINTS * ELEMENTS));
  const COUNT = CALLS * ELEMENTS * ENDPOINTS;

  before(async () => {
    rider = shared();
    owner = (await rider.account('owner', 'paid')).token;
    other = (await rider.account('other')).token;
    const endpoints = Array.from({ length: ENDPOINTS }, (_, n) => ({ url: `http://127.0.0.1:1/${n}` }));
    await rider.manage('POST', '/v2/topics/wide/endpoints', { endpoints }, owner);
    await rider.manage('POST', '/v2/queues', { queueName: 'long', paused: true }, owner);
    await rider.manage('POST', '/v2/flowControl/narrow/pin?parallelism=1', undefined, owner);
    await rider.manage('POST', '/v2/flowControl/narrow/pause', undefined, owner);
    const flow = { 'Service-Flow-Control-Key': 'narrow', 'Service-Flow-Control-Value': 'parallelism=1' };
    for (const element of [{ queue: 'long' }, { headers: flow }]) {
      for (let n = 0; n < CALLS; n += 1) {
        const elements = Array.from({ length: ELEMENTS }, () => ({ destination: 'wide', ...element }));
        assert.equal((await rider.batch(elements, { token: owner })).status, 201);
      }
    }
  });

  test('the lag of a queue is exact, alone and in the list', async () => {
    const queue = await rider.manage<Queue>('GET', '/v2/queues/long', undefined, owner);
    assert.deepEqual([queue.lag, queue.isLagCut], [COUNT, undefined]);
    const [listed] = await rider.manage<Queue[]>('GET', '/v2/queues', undefined, owner);
    assert.deepEqual(listed, queue);
    const saved = await rider.manage<Queue>('POST', '/v2/queues/long/pause', undefined, owner);
    assert.equal(saved.lag, COUNT);
    const refused = await rider.call('DELETE', '/v2/queues/long', { token: owner });
    assert.equal(refused.status, 409);
    assert.match(refused.text, new RegExp(`at least ${LINE_COUNT} open messages`));
  });

  test('those ahead of a message, and those behind a flow key, are counted up to a budget', async () => {
    await rider.manage('POST', '/v2/queues/long/resume', undefined, owner);
    const queued = '/v2/messages?queueName=long&count=1';
    const { messages } = await rider.manage<{ messages: { messageId: string }[] }>('GET', queued, undefined, owner);
    const path = `/v2/messages/${messages[0]!.messageId}/why`;
    const why = await rider.manage<Record<string, unknown>>('GET', path, undefined, owner);
    assert.deepEqual([why.reason, why.aheadCount, why.isAheadCountCut], ['behind', LINE_COUNT, true]);
    assert.match(String(why.text), new RegExp(`^more than ${LINE_COUNT} messages of queue "long" go before it`));
    const key = await rider.manage<Record<string, unknown>>('GET', '/v2/flowControl/narrow', undefined, owner);
    assert.deepEqual([key.waitListSize, key.isWaitListSizeCut], [LINE_COUNT, true]);
    assert.deepEqual(await rider.manage('GET', '/v2/flowControl', undefined, owner), [key]);
  });

  // How long it waits for foreign reads is counted in reads.test.ts: counts stand in the same line.
  test('another account is answered and delivered to while all of it is counted', async (t) => {
    const receiver = await startReceiver(t);
    const bulk = JSON.stringify({ action: 'cancel', filter: { text: 'nowhere' }, dryRun: true });
    const attack = [
      rider.call('POST', '/v2/bulk', { token: owner, body: bulk }),
      ...Array.from({ length: 4 }, () => rider.call('GET', '/v2/queues', { token: owner })),
    ];
    const id = await rider.published(receiver.url, { token: other });
    await receiver.received(1);
    assert.equal((await rider.message(id, other)).messageId, id);
    for (const { status } of await Promise.all(attack)) assert.equal(status, 200);
  });
});

test('reads without a pause do not let the log grow while another account publishes', {
  skip: onlySqlite,
}, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'postrider-counts-'));
  t.after(() => rmSync(data, { recursive: true }));
  const rider = await startRider(t, { data });
  const receiver = await startReceiver(t);
  const other = (await rider.account('other')).token;
  const elements = Array.from({ length: 1000 }, () => ({
    destination: 'http://127.0.0.1:1/',
    headers: { 'Service-Delay': '1d' },
    body: 'x'.repeat(10_000),
  }));
  assert.equal((await rider.batch(elements)).status, 201);

  const BODY = 'y'.repeat(MIB - 1024);
  let published = 0;
  let duringRead = 0;
  /** How many were published when each read that is under way began. */
  const from = new Map<string, number>();
  const longest = () => Math.max(duringRead, ...[...from.values()].map((at) => published - at));
  // What was written while a read was under way comes on top: it cannot be taken out of the log before that ends.
  const bound = () => LOG_BYTES + 2 * (longest() + 4) * MIB;
  // More than the log may have, also on a machine that is slow to read.
  const isEnough = () => published >= 400 || (published >= 80 && published * MIB > bound() + 16 * MIB);
  const paths = ['/v2/messages?text=nowhere&count=1000', '/v2/messages?text=nowhere&count=999'];
  const reading = paths.map(async (path) => {
    while (!isEnough()) {
      from.set(path, published);
      assert.equal((await rider.call('GET', path)).status, 200);
      duringRead = longest();
    }
    from.delete(path);
  });
  let logMax = 0;
  while (!isEnough()) {
    await rider.published(receiver.url, { token: other, body: BODY });
    published += 1;
    logMax = Math.max(logMax, statSync(join(data, 'postrider.db-wal')).size);
  }
  await Promise.all(reading);
  await receiver.received(published);
  assert.ok(bound() < published * MIB, `${duringRead} publishes during one read: this shows nothing`);
  assert.ok(logMax <= bound(), `the log had ${Math.round(logMax / MIB)} MiB; ${Math.round(bound() / MIB)} are well`);
  t.diagnostic(
    `log ${Math.round(logMax / MIB)} MiB, bound ${Math.round(bound() / MIB)} MiB, ${duringRead} publishes during a read`,
  );
});
