// Calls that lock the row of their account wait for one another in the node, and not at the server: there each would hold a
// connection, and the last of many would be refused on a slow machine, because it has waited too long for the lock.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Store } from '../../../src/store/ports/store.ts';
import { alert } from '../../conformance/alerts.ts';
import { ACCOUNT, KEYS, NOW, OTHER_ACCOUNT } from '../../conformance/given.ts';
import { job } from '../../conformance/jobs.ts';
import { type Databases, withClient } from '../../postgres/databases.ts';
import { openPatiently } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';

/** More than there are connections. */
const MANY = 50;

let server: Databases;
let database: string;
let store: Store;

before(async () => {
  server = await sharedServer();
  database = await server.createDatabase();
  store = await openPatiently({ url: server.url(database), node: 'nod_a' });
  await store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await store.createAccount({ id: OTHER_ACCOUNT, name: 'other', tier: 'free', createdAt: NOW }, KEYS);
});

after(async () => {
  await store.close();
  await server.dropDatabase(database);
});

const CALLS: readonly [string, (n: number) => Promise<unknown>][] = [
  ['bulk operations', (n) => store.createJob(job({ id: `job_${n}` }))],
  ['alerts', (n) => store.saveAlert(alert({ id: `alr_${n}` }), MANY)],
];

for (const [what, call] of CALLS) {
  test(`while another session holds the account, of many new ${what} one waits for it at the server`, async () => {
    await withClient(server.url(database), async (holder) => {
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [ACCOUNT]);
      const calls = Array.from({ length: MANY }, (_, n) => call(n));
      const ended = Promise.allSettled(calls);
      // Behind them in the line for a connection.
      await store.saveQueue(OTHER_ACCOUNT, 'q', { parallelism: 1 }, NOW);
      const { rows } = await holder.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity
           WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
      );
      assert.ok(rows[0]!.n <= 1, `${rows[0]!.n} wait at the server`);
      await holder.query('COMMIT');
      await ended;
      // However long the account was held: those that came later are there.
      await calls.at(-1);
    });
  });
}
