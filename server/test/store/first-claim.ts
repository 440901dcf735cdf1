// A program for sqlite-million.test.ts: opens a directory as the server does, makes the first claim, and prints how
// long that took and how much memory.

import { threadExecutor } from '../../src/store/sqlite/executor.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { systemWorld } from '../../src/world.ts';
import { limits } from '../conformance/given.ts';
import { claimDue } from '../support/claim-due.ts';

const [directory, now] = process.argv.slice(2);
const { clock } = systemWorld();
const rssBefore = process.memoryUsage.rss();
const startedAt = clock.monotonicMs();
const store = createSqliteStore({
  executor: await threadExecutor(directory!),
  clock,
  node: 'nod_first',
  onBroken: (error) => {
    throw error;
  },
});
const orphans = await store.orphanedClaims('nod_first');
const { claims, nextDueAt } = await claimDue(store, Number(now), limits({ slots: 64 }));
const tookMs = clock.monotonicMs() - startedAt;
const rssGrowth = process.memoryUsage.rss() - rssBefore;
await store.close();
process.stdout.write(
  JSON.stringify({ tookMs, rssGrowth, claimed: claims.length, orphaned: orphans.length, nextDueAt }),
);
