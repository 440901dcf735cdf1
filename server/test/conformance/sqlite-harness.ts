// SQLite as the suite sees it: several nodes over one executor, in memory or on a thread with a directory.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Executor, inlineExecutor, threadExecutor } from '../../src/store/sqlite/executor.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import type { HarnessFactory, StoreHarness } from './harness.ts';

type ManualClock = Parameters<HarnessFactory>[0]['clock'];

function over(executor: Executor, clock: ManualClock, cleanUp: () => Promise<void>): StoreHarness {
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
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await executor.close();
      await cleanUp();
    },
  };
}

export const inMemory: HarnessFactory = async ({ clock }) => over(inlineExecutor(':memory:'), clock, async () => {});

export const onThread: HarnessFactory = async ({ clock }) => {
  const directory = await mkdtemp(join(tmpdir(), 'postrider-conformance-'));
  return over(await threadExecutor(directory), clock, () => rm(directory, { recursive: true }));
};
