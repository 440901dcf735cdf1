// What waits in the whole service, counted in pieces of every size.

import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  type BacklogKind,
  type BacklogPosition,
  READY_START,
  type ReadyPosition,
} from '../../src/store/ports/backlog.ts';
import type { Store } from '../../src/store/ports/store.ts';
import {
  ACCOUNT,
  answered,
  ERROR,
  message,
  messages,
  NOW,
  OTHER_ACCOUNT,
  QUEUE,
  queued,
  SECOND,
  settlementOf,
} from './given.ts';
import { type HarnessFactory, storeTests } from './harness.ts';

/** The count of each group, added up over all pieces. */
async function counted(store: Store, kind: BacklogKind, limit: number): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (let after: BacklogPosition | null = null; ; ) {
    const piece = await store.countBacklog(kind, after, limit);
    const inPiece = piece.groups.reduce((sum, { count }) => sum + count, 0);
    assert.ok(inPiece <= limit, 'a piece counts no more than it may');
    for (const { accountId, name, count } of piece.groups) {
      const key = `${accountId} ${name}`;
      sums[key] = (sums[key] ?? 0) + count;
    }
    if (piece.after === null) return sums;
    after = piece.after;
  }
}

async function ready(store: Store, limit: number) {
  const all = { count: 0, oldestAt: [] as number[], oldestParkingAt: [] as number[] };
  for (let after: ReadyPosition | null = READY_START; after !== null; ) {
    const piece = await store.countReady(after, limit);
    assert.ok(piece.count <= limit, 'a piece counts no more than it may');
    all.count += piece.count;
    if (piece.oldestAt !== null) all.oldestAt.push(piece.oldestAt);
    if (piece.oldestParkingAt !== null) all.oldestParkingAt.push(piece.oldestParkingAt);
    after = piece.after;
  }
  const { count, oldestAt, oldestParkingAt } = all;
  const least = (times: readonly number[]) => (times.length === 0 ? null : Math.min(...times));
  return { count, oldestAt: least(oldestAt), oldestParkingAt: least(oldestParkingAt) };
}

const LIMITS = [1, 2, 3, 7, 100];

export function backlogConformance(factory: HarnessFactory): void {
  const test = storeTests(factory);

  describe('backlog', () => {
    test('an empty store has no backlog', async ({ a }) => {
      for (const kind of ['open', 'claimed', 'acks', 'deadLetters', 'queues', 'flowKeys'] as const) {
        assert.deepEqual(await a.store.countBacklog(kind, null, 10), { groups: [], after: null });
      }
      assert.deepEqual(await ready(a.store, 10), { count: 0, oldestAt: null, oldestParkingAt: null });
    });

    test('messages of all accounts are counted: open, claimed, ready and dead letters', async ({ a }) => {
      const failing = messages(3, { retriesMax: 0 });
      await a.store.accept(failing, NOW);
      const failed = (await a.claims(NOW)).map((claim) => settlementOf(claim, ERROR, NOW));
      await a.store.settle(failed, NOW);
      // Without free slots, nothing is claimed at acceptance.
      await a.claims(NOW, { slots: 0 });
      const due = [...messages(4), ...messages(3, { host: 'b.example:443' })];
      await a.store.accept([...due, ...messages(2, { accountId: OTHER_ACCOUNT })], NOW + SECOND);
      await a.store.accept(messages(2, { dueAt: NOW + 60 * SECOND }), NOW + SECOND);
      await a.claims(NOW + SECOND, { slots: 2 });
      for (const limit of LIMITS) {
        assert.deepEqual(await counted(a.store, 'open', limit), { ' ': 11 });
        assert.deepEqual(await counted(a.store, 'claimed', limit), { ' ': 2 });
        assert.deepEqual(await counted(a.store, 'deadLetters', limit), { ' ': 3 });
        assert.deepEqual(await ready(a.store, limit), { count: 7, oldestAt: NOW, oldestParkingAt: null });
      }
    });

    test('attempts that await an ack are counted apart from those that a node has claimed', async ({ a }) => {
      const awaitAckMs = 600 * SECOND;
      const awaiting = [...messages(3, { awaitAckMs }), ...messages(2, { accountId: OTHER_ACCOUNT, awaitAckMs })];
      await a.store.accept(awaiting, NOW);
      const settled = (await a.claims(NOW)).map((claim) => settlementOf(claim, answered(202), NOW));
      await a.store.settle(settled, NOW);
      await a.store.accept(messages(2), NOW);
      await a.claims(NOW);
      for (const limit of LIMITS) {
        assert.deepEqual(await counted(a.store, 'acks', limit), { ' ': 5 });
        assert.deepEqual(await counted(a.store, 'claimed', limit), { ' ': 2 });
        assert.deepEqual(await counted(a.store, 'open', limit), { ' ': 7 });
      }
    });

    test('the lines of each account are counted apart', async ({ a }) => {
      const flow = (key: string) => ({ key, limits: { parallelism: 1, rate: null, periodMs: SECOND } });
      await a.store.accept([queued(), queued(), queued({ queueName: 'a' })], NOW);
      await a.store.accept([queued({ accountId: OTHER_ACCOUNT })], NOW);
      await a.store.accept([...messages(4, { flow: flow('k') }), message({ flow: flow('l') })], NOW);
      for (const limit of LIMITS) {
        const queues = { [`${ACCOUNT} ${QUEUE}`]: 2, [`${ACCOUNT} a`]: 1, [`${OTHER_ACCOUNT} ${QUEUE}`]: 1 };
        assert.deepEqual(await counted(a.store, 'queues', limit), queues);
        assert.deepEqual(await counted(a.store, 'flowKeys', limit), { [`${ACCOUNT} k`]: 3 });
      }
    });

    test('the oldest ready message is the first of its backlog; what parks counts apart, what is suspended not', async ({
      a,
    }) => {
      const of = (host: string, at: number, some = {}) => message({ host, dueAt: at, ...some });
      const old = of('old.example:443', NOW - 50 * SECOND, { accountId: OTHER_ACCOUNT });
      await a.claims(NOW, { slots: 0 });
      await a.store.accept([old, of('a.example:443', NOW - 9 * SECOND), of('b.example:443', NOW - 20 * SECOND)], NOW);
      await a.store.accept([of('c.example:443', NOW - 90 * SECOND, { outage: 'park' })], NOW);
      await a.claims(NOW, { slots: 0 });
      const before = { count: 4, oldestAt: NOW - 50 * SECOND, oldestParkingAt: NOW - 90 * SECOND };
      for (const limit of LIMITS) assert.deepEqual(await ready(a.store, limit), before);
      await a.store.setSuspended(OTHER_ACCOUNT, NOW, NOW);
      const after = { ...before, count: 3, oldestAt: NOW - 20 * SECOND };
      for (const limit of LIMITS) assert.deepEqual(await ready(a.store, limit), after);
    });
  });
}
