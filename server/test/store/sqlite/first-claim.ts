// A program for sqlite-million.test.ts: opens a directory as the server does, makes the first claim, and prints how
// much of the processor and of the memory that took.

import { systemWorld } from '../../../src/runtime/world.ts';
import { createSqliteStore } from '../../../src/store/sqlite/store.ts';
import { threadExecutor } from '../../../src/store/sqlite/thread/executor.ts';
import { limits } from '../../conformance/given.ts';
import { claimDue } from '../../support/claim-due.ts';

const [directory, now] = process.argv.slice(2);
const { clock } = systemWorld();
const rssBefore = process.memoryUsage.rss();
const before = process.cpuUsage();
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
const { user, system } = process.cpuUsage(before);
const tookMs = (user + system) / 1000;
const rssGrowth = process.memoryUsage.rss() - rssBefore;
await store.close();
process.stdout.write(
  JSON.stringify({ tookMs, rssGrowth, claimed: claims.length, orphaned: orphans.length, nextDueAt }),
);
