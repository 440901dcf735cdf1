// A statement is compiled once. SQLite can be made to compile it anew for every run, which costs more than most queries.

import assert from 'node:assert/strict';
import { constants, DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Store } from '../../../src/store/ports/store.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { flowing } from '../../conformance/flow-control.ts';
import { ACCOUNT, KEYS, limits, message, messages, NOW, OK, queued, settlementOf } from '../../conformance/given.ts';
import { claimDue } from '../../support/claim-due.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { WatchedExecutor } from '../watched-executor.ts';

test('what every message needs is compiled once, not for each message again', async (t) => {
  const prepare = t.mock.method(DatabaseSync.prototype, 'prepare');
  const executor = new WatchedExecutor();
  t.after(() => executor.close());
  const onBroken = (error: Error) => assert.fail(error);
  const store = createSqliteStore({ executor, clock: new ManualClock(NOW), node: 'nod_a', onBroken });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  const connection = prepare.mock.calls.at(-1)!.this as DatabaseSync;
  const compiled = new Set<string>();
  // Asked whenever a statement is compiled, with each column that it reads. To set it lets all of them be compiled anew.
  connection.setAuthorizer((_action, table, column) => {
    compiled.add(`${table}.${column}`);
    return constants.SQLITE_OK;
  });
  await deliverSome(store, NOW);
  await deliverSome(store, NOW + 10);
  assert.ok(compiled.size > 0);
  compiled.clear();
  await deliverSome(store, NOW + 20);
  assert.deepEqual([...compiled], []);
});

async function deliverSome(store: Store, now: number): Promise<void> {
  const due = { createdAt: now, dueAt: now };
  await store.accept(
    [
      ...messages(20, due),
      ...Array.from({ length: 20 }, (_, index) => flowing({ parallelism: 2 }, due, `k${index % 4}`)),
      ...Array.from({ length: 20 }, (_, index) => queued({ ...due, queueName: `q${index % 4}` })),
      message({ ...due, dueAt: now + 1 }),
      queued({ ...due, queueName: 'later', dueAt: now + 1 }),
    ],
    now,
  );
  for (let left = 62; left > 0; ) {
    const { claims } = await claimDue(store, now + 1, limits());
    assert.ok(claims.length > 0);
    left -= claims.length;
    await store.settle(
      claims.map((claim) => settlementOf(claim, OK, now + 1)),
      now + 1,
    );
  }
}
