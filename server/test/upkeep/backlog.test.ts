// The counter of what waits: lines that are counted in several pieces, and a service whose metrics nobody reads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BacklogKind, type BacklogPiece, READY_START } from '../../src/store/ports/backlog.ts';
import { BacklogCounter } from '../../src/upkeep/backlog.ts';

const line = (name: string, count: number) => ({ accountId: 'acc_1', name, count });

/** Returns the pieces of a kind one after the other. */
function storeOf(pieces: Partial<Record<BacklogKind, readonly (readonly ReturnType<typeof line>[])[]>>) {
  let calls = 0;
  return {
    get calls() {
      return calls;
    },
    async countBacklog(kind: BacklogKind, after: readonly (string | number)[] | null): Promise<BacklogPiece> {
      calls += 1;
      const all = pieces[kind] ?? [[]];
      const index = after === null ? 0 : Number(after[0]);
      return { groups: all[index]!, after: index + 1 < all.length ? [index + 1] : null };
    },
    async countReady(after: unknown) {
      assert.equal(after, READY_START);
      return { count: 2, oldestAt: 7, oldestParkingAt: null, after: null };
    },
  };
}

function clockAt() {
  let ms = 0;
  return {
    monotonicMs: () => ms,
    advance(by: number) {
      ms += by;
    },
  };
}

test('lines that continue in the next piece are counted once, and the longest are kept', async () => {
  const many = Array.from({ length: 30 }, (_, index) => line(`q${String(index).padStart(2, '0')}`, index));
  const store = storeOf({
    queues: [[line('a', 3), line('b', 4)], [line('b', 100)], [line('b', 100), line('c', 1)], many],
    open: [[line('', 10_000)], [line('', 5)]],
  });
  const counter = new BacklogCounter(store, clockAt());
  assert.equal(counter.read(), null);
  await counter.run(50);
  const { queues, open, ready, oldestAt, at, flowKeys } = counter.read()!;
  assert.deepEqual([open, ready, oldestAt, at, flowKeys], [10_005, 2, 7, 50, []]);
  assert.deepEqual(queues[0], line('b', 204));
  assert.deepEqual(
    queues.map(({ count }) => count),
    [204, 29, 28, 27, 26, 25, 24, 23, 22, 21],
  );
});

test('nothing is counted while nobody reads the metrics; the first read begins', async () => {
  const store = storeOf({});
  const clock = clockAt();
  const counter = new BacklogCounter(store, clock);
  let woken = 0;
  counter.onStart(() => {
    woken += 1;
  });
  await counter.run(1);
  assert.equal(store.calls, 0);
  assert.equal(counter.read(), null);
  assert.equal(woken, 1);
  assert.equal(await counter.run(2), 15_000);
  assert.ok(store.calls > 0);
  assert.ok(counter.read());
  assert.equal(woken, 1, 'the next count comes by itself');
  clock.advance(301_000);
  const before = store.calls;
  await counter.run(3);
  assert.equal(store.calls, before);
  assert.equal(counter.read(), null, 'an old count is not shown');
});

test('a count that takes long is repeated less often', async () => {
  const clock = clockAt();
  const slow = storeOf({});
  const store = {
    ...slow,
    countReady() {
      clock.advance(1000);
      return slow.countReady(READY_START);
    },
  };
  const counter = new BacklogCounter(store, clock);
  counter.read();
  assert.equal(await counter.run(1), 100_000);
});
