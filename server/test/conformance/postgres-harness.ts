// PostgreSQL as the suite sees it: several nodes over one database, which is the test's own or is emptied for it.

import { after } from 'node:test';
import { type Clock, systemWorld } from '../../src/runtime/world.ts';
import type { Store } from '../../src/store/ports/store.ts';
import { withClient } from '../postgres/databases.ts';
import { openPatiently } from '../postgres/open-patiently.ts';
import { sharedServer } from '../postgres/server.ts';
import { ACCOUNT_TABLES, countAccountRows, withRows } from '../store/account-rows.ts';
import { STORED_BODIES, type StoredBodies } from '../store/stored-bodies.ts';
import type { ManualClock } from '../support/manual-clock.ts';
import type { HarnessFactory, StoreHarness } from './harness.ts';

/**
 * What a store reads passes only when the test lets it pass: work that takes long on a busy machine is no work of a later
 * time. A connection waits on real timers.
 */
function timersBy(clock: ManualClock): Clock {
  return { ...systemWorld().clock, monotonicMs: () => clock.monotonicMs() };
}

function over(url: string, clock: ManualClock, cleanUp: () => Promise<void>): StoreHarness {
  const stores: Store[] = [];
  return {
    async open(node) {
      const store = await openPatiently({ knownForMs: 0, url, node, timers: timersBy(clock) });
      stores.push(store);
      return store;
    },
    // Who is alive is judged by the server's clock, which nobody can move: what it is compared with is moved instead.
    async letTimePass(ms) {
      await run(url, 'UPDATE nodes SET alive_until = alive_until - make_interval(secs => $1)', [ms / 1000]);
    },
    storedBodies: () =>
      withClient(url, async (client) => {
        const { rows } = await client.query<Record<keyof StoredBodies, string>>(STORED_BODIES);
        const { count, bytes, unused, wrong } = rows[0]!;
        return { count: Number(count), bytes: Number(bytes), unused: Number(unused), wrong: Number(wrong) };
      }),
    rowsOf: (accountId) =>
      withClient(url, async (client) => {
        const { rows } = await client.query<{ names: string }>(ACCOUNT_TABLES.postgres);
        const counted = await client.query<Record<string, string>>(countAccountRows(rows[0]!.names, accountId));
        return withRows(counted.rows[0]!);
      }),
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await cleanUp();
    },
  };
}

export const ownDatabase: HarnessFactory = async ({ clock }) => {
  const server = await sharedServer();
  const database = await server.createDatabase();
  return over(server.url(database), clock, () => server.dropDatabase(database));
};

/** For hundreds of short runs, one after the other: the same database, emptied before each. */
export function oneDatabase(): HarnessFactory {
  let made: Promise<{ readonly url: string; readonly empty: string }> | null = null;
  let cleanUp = async () => {};
  after(() => cleanUp());
  const make = async () => {
    const server = await sharedServer();
    const database = await server.createDatabase();
    cleanUp = () => server.dropDatabase(database);
    const url = server.url(database);
    return { url, empty: `TRUNCATE ${(await emptyTables(url)).join(', ')} RESTART IDENTITY` };
  };
  return async ({ clock }) => {
    made ??= make();
    const { url, empty } = await made;
    await run(url, empty);
    return over(url, clock, async () => {});
  };
}

/** The tables that a fresh database has nothing in. What the migrations wrote into others is to stay. */
function emptyTables(url: string): Promise<string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    const empty: string[] = [];
    for (const { name } of rows) {
      const { rowCount } = await client.query(`SELECT FROM ${name} LIMIT 1`);
      if (rowCount === 0) empty.push(name);
    }
    return empty;
  });
}

async function run(url: string, sql: string, values: readonly unknown[] = []): Promise<void> {
  await withClient(url, (client) => client.query(sql, [...values]));
}
