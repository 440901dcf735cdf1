// SQLite as the suite sees it: several nodes over one executor, in memory or on a thread with a directory.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/store/ports/store.ts';
import { openDatabase, openReader } from '../../src/store/sqlite/files/open.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { inlineExecutor, threadExecutor } from '../../src/store/sqlite/thread/executor.ts';
import type { Executor } from '../../src/store/sqlite/thread/executor-port.ts';
import { ACCOUNT_TABLES, countAccountRows, withRows } from '../store/account-rows.ts';
import { STORED_BODIES, type StoredBodies } from '../store/stored-bodies.ts';
import type { HarnessFactory, StoreHarness } from './harness.ts';

type ManualClock = Parameters<HarnessFactory>[0]['clock'];

function over(
  executor: Executor,
  clock: ManualClock,
  look: <T>(sql: string) => T,
  cleanUp: () => Promise<void>,
): StoreHarness {
  // The executor is everybody's: no node closes it for the others.
  const shared: Executor = { ...executor, close: async () => {} };
  const stores: Store[] = [];
  return {
    open(node) {
      const onBroken = (error: Error) => {
        throw error;
      };
      const store = createSqliteStore({ executor: shared, clock, node, onBroken });
      stores.push(store);
      return store;
    },
    letTimePass: async (ms) => clock.advance(ms),
    storedBodies: async () => ({ ...look<StoredBodies>(STORED_BODIES) }),
    async rowsOf(accountId) {
      const { names } = look<{ names: string }>(ACCOUNT_TABLES.sqlite);
      return withRows(look(countAccountRows(names, accountId)));
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await executor.close();
      await cleanUp();
    },
  };
}

export const inMemory: HarnessFactory = async ({ clock }) => {
  const database = openDatabase(':memory:');
  const look = <T>(sql: string) => database.get<T>(sql)!;
  return over(inlineExecutor(database), clock, look, async () => {});
};

export const onThread: HarnessFactory = async ({ clock }) => {
  const directory = await mkdtemp(join(tmpdir(), 'postrider-conformance-'));
  const look = <T>(sql: string) => {
    const { database, close } = openReader(directory);
    try {
      return database.get<T>(sql)!;
    } finally {
      close();
    }
  };
  return over(await threadExecutor(directory), clock, look, () => rm(directory, { recursive: true }));
};
