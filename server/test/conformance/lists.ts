// Lists in the order of a name or an id: a piece at a time, each bounded in entries and in bytes, and all of them together
// the whole list.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { eachMax } from '../../src/rules/limits/budgets.ts';
import { everyEntry, type ListPiece, type ListPieceRequest, usageKey } from '../../src/store/ports/list-piece.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { token } from './accounts.ts';
import { ACCOUNT, DAY, KEYS, KIB, message, NOW, OTHER_ACCOUNT, QUEUE, queued, SECOND } from './given.ts';
import { type HarnessFactory, type Node, storeTests } from './harness.ts';
import { job } from './jobs.ts';
import { schedule } from './schedules.ts';
import { topic } from './topics.ts';

const COUNT = 7;
const NAMES = Array.from({ length: COUNT }, (_, index) => `n${index}`);
const part = (after: string | null, limit: number, bytesMax = 1e9): ListPieceRequest => ({ after, limit, bytesMax });

/** Reads it in pieces of three, and of one, and requires the same of both. */
async function inPieces<T>(
  read: (part: ListPieceRequest) => Promise<ListPiece<T>>,
  keyOf: (entry: T) => string,
): Promise<string[]> {
  const walked: string[][] = [];
  for (const limit of [3, 1]) {
    const keys: string[] = [];
    for (let after: string | null = null; ; after = keys.at(-1)!) {
      const { entries, hasMore } = await read(part(after, limit));
      assert.ok(entries.length <= limit);
      keys.push(...entries.map(keyOf));
      if (!hasMore) break;
    }
    walked.push(keys);
  }
  assert.deepEqual(walked[0], walked[1]);
  return walked[0]!;
}

async function fill({ store }: Node): Promise<void> {
  for (const name of NAMES) {
    await store.saveQueue(ACCOUNT, name, {}, NOW);
    await store.saveTopic(topic({ id: `tpc_${name}`, name }));
    await store.saveSchedule(schedule({ id: name }));
    await store.pinFlowKey(ACCOUNT, name, { parallelism: 2, rate: 'keep' }, NOW);
    await store.createJob(job({ id: name }));
    await store.createToken(token({ id: name }), new Uint8Array(32).fill(name.charCodeAt(1)));
    await store.createAccount({ id: `acc_${name}`, name, tier: 'free', createdAt: NOW }, KEYS);
  }
  for (let day = 0; day < COUNT; day += 1) {
    const at = NOW + day * DAY;
    await store.accept([message({ createdAt: at }), message({ kind: 'callback', createdAt: at })], at);
  }
}

export function listsConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('lists', () => {
    test('come in pages, which together have every entry once and in order', async ({ a }) => {
      await fill(a);
      const { store } = a;
      const lists: [
        (store: Store, part: ListPieceRequest) => Promise<ListPiece<unknown>>,
        string,
        readonly string[],
      ][] = [
        [(of, each) => of.listQueues(ACCOUNT, each), 'name', NAMES],
        [(of, each) => of.listTopics(ACCOUNT, each), 'name', NAMES],
        [(of, each) => of.listSchedules(ACCOUNT, each), 'id', NAMES],
        [(of, each) => of.listFlowKeys(ACCOUNT, each), 'key', NAMES],
        [(of, each) => of.listJobs(ACCOUNT, each), 'id', NAMES.toReversed()],
        [(of, each) => of.listTokens(ACCOUNT, each), 'id', NAMES],
        [(of, each) => of.listAccounts(each), 'id', [ACCOUNT, OTHER_ACCOUNT, ...NAMES.map((name) => `acc_${name}`)]],
      ];
      for (const [read, key, expected] of lists) {
        const keyOf = (entry: unknown) => (entry as Record<string, string>)[key]!;
        assert.deepEqual(await inPieces((each) => read(store, each), keyOf), expected);
      }
      const usage = await inPieces((each) => store.usage(ACCOUNT, '2026-01-02', '2026-01-05', each), usageKey);
      assert.deepEqual(
        usage,
        ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05'].flatMap((day) => [
          `${day} callback`,
          `${day} publish`,
        ]),
      );
      const all: string[] = [];
      for await (const { name } of everyEntry(
        (each) => store.listQueues(ACCOUNT, { ...each, limit: 2 }),
        (q) => q.name,
      ))
        all.push(name);
      assert.deepEqual(all, NAMES);
      assert.deepEqual((await store.listQueues(OTHER_ACCOUNT)).entries, []);
      assert.deepEqual([await store.countQueues(ACCOUNT, 3), await store.countQueues(ACCOUNT, 100)], [3, COUNT]);
    });

    test('a piece ends before it is too large, but has one entry', async ({ a }) => {
      const endpoints = Array.from({ length: 20 }, (_, n) => ({
        name: null,
        url: `https://a.example/${'x'.repeat(KIB)}${n}`,
      }));
      for (const name of NAMES) await a.store.saveTopic(topic({ id: `tpc_${name}`, name, endpoints }));
      for (const id of NAMES) await a.store.createJob(job({ id, filter: { labels: ['x'.repeat(20 * KIB)] } }));
      for (const id of NAMES) {
        await a.store.saveSchedule(schedule({ id, headers: [['Service-Label', 'x'.repeat(20 * KIB)]] }));
      }
      const counts = async (bytesMax: number) => {
        const pieces = await Promise.all([
          a.store.listTopics(ACCOUNT, part(null, 100, bytesMax)),
          a.store.listJobs(ACCOUNT, part(null, 100, bytesMax)),
          a.store.listSchedules(ACCOUNT, part(null, 100, bytesMax)),
        ]);
        return pieces.map(({ entries, hasMore }) => [entries.length, hasMore]);
      };
      assert.deepEqual(await counts(1), Array(3).fill([1, true]));
      assert.deepEqual(await counts(50 * KIB), Array(3).fill([2, true]));
      assert.deepEqual(await counts(KIB * KIB), Array(3).fill([COUNT, false]));
    });

    test('of schedules have small bodies only; the schedule itself has it whole', async ({ a }) => {
      const max = eachMax('listedBodyBytes');
      const small = schedule({ id: 'a', body: new Uint8Array(max).fill(7) });
      const large = schedule({ id: 'b', body: new Uint8Array(max + 1).fill(7) });
      for (const each of [small, large]) await a.store.saveSchedule(each);
      const left = { ...large, body: new Uint8Array(0), isBodyLeftOut: true };
      assert.deepEqual((await a.store.listSchedules(ACCOUNT)).entries, [small, left]);
      assert.deepEqual(await a.store.getSchedule(ACCOUNT, 'b'), large);
    });

    test('the line of a queue is counted from any place in it', async ({ a }) => {
      const line = Array.from({ length: 5 }, (_, n) => queued({ dueAt: NOW + (n % 2) * SECOND }));
      await a.store.accept([...line, queued({ queueName: 'other' })], NOW);
      assert.deepEqual(await a.store.countLine(ACCOUNT, QUEUE, null), { count: 5, next: null });
      assert.deepEqual(await a.store.countLine(ACCOUNT, QUEUE, { dueAt: NOW, seq: Number.MAX_SAFE_INTEGER }), {
        count: 2,
        next: null,
      });
      assert.deepEqual(await a.store.countLine(ACCOUNT, QUEUE, { dueAt: NOW + DAY, seq: 0 }), { count: 0, next: null });
      assert.deepEqual(await a.store.countLine(OTHER_ACCOUNT, QUEUE, null), { count: 0, next: null });
    });

    test('states of many messages are read in one call, but not those of another account', async ({ a }) => {
      const [open, gone] = [message({ dueAt: NOW + DAY }), message({ dueAt: NOW + DAY })];
      await a.store.accept([open, gone], NOW);
      await a.store.cancel(ACCOUNT, [gone.id], NOW, NOW + DAY);
      const told = await a.store.messageStates(ACCOUNT, [gone.id, 'msg_none', 'with \0', open.id]);
      assert.deepEqual(
        new Map(told.map(({ id, state }) => [id, state])),
        new Map([
          [gone.id, 'cancelled'],
          [open.id, 'pending'],
        ]),
      );
      assert.deepEqual(await a.store.messageStates(OTHER_ACCOUNT, [open.id]), []);
    });

    test('a name with U+0000 names nothing, and is no error', async ({ a: { store } }) => {
      const name = 'with \0';
      const found = await Promise.all([
        store.getTopic(ACCOUNT, name),
        store.getSchedule(ACCOUNT, name),
        store.pauseSchedule(ACCOUNT, name, false, NOW),
        store.getQueue(ACCOUNT, name),
        store.getFlowKey(ACCOUNT, name),
        store.getAlert(ACCOUNT, name),
        store.getJob(ACCOUNT, name),
        store.getAccount(name),
        store.getSigningKeys(name),
        store.findSession(name, NOW),
        store.deleteQueue(ACCOUNT, name),
        store.pauseFlowKey(ACCOUNT, name, true, NOW),
      ]);
      assert.deepEqual(new Set(found), new Set([null]));
      const changed = await Promise.all([
        store.deleteSchedule(ACCOUNT, name),
        store.deleteAlert(ACCOUNT, name),
        store.stopJob(ACCOUNT, name, NOW),
        store.setTier(name, 'free'),
        store.setSuspended(name, NOW, NOW),
      ]);
      assert.deepEqual(new Set(changed), new Set([false]));
      assert.equal(await store.revokeToken(ACCOUNT, name, NOW), 'unknown');
    });
  });
}
