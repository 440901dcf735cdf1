// Three nodes over one PostgreSQL: whatever happens to nodes, database and network, nothing that was acknowledged is
// lost, nothing is repeated that was not cut off, queues keep their order, and the work of a dead node goes on.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inScratchFolder } from '../crash/scratch-folder.ts';
import { chooseSeed } from '../crash/trial.ts';
import { part } from '../support/campaign.ts';
import { clusterCampaign } from './campaign.ts';

test('a cluster with constant faults keeps every promise', { timeout: 600_000 }, async (t) => {
  const seed = chooseSeed();
  await inScratchFolder('cluster', async (folder) => {
    const report = await clusterCampaign({ seed, isBrief: part !== 'whole' });
    const { history, faults, takeovers, problems } = report;
    for (const { name, inFlight, probed } of faults) {
      const { probes, refusedMsMax, wellMs } = probed ?? {};
      t.diagnostic(
        `${name}: ${inFlight} in flight` +
          (probed ? `, ${probes} probes, answered within ${ms(refusedMsMax)}, well after ${ms(wellMs)}` : ''),
      );
    }
    for (const { fault, claims, ms: took } of takeovers) {
      t.diagnostic(`${fault}: ${claims} claims taken over after ${ms(took)}`);
    }
    const asked = Map.groupBy(history.publishes, ({ outcome }) => outcome);
    const inFlight = faults.reduce((sum, fault) => sum + fault.inFlight, 0);
    t.diagnostic(
      `${history.stored.length} messages; publishes: ${asked.get('ok')?.length ?? 0} ok, ` +
        `${asked.get('refused')?.length ?? 0} refused, ${asked.get('unknown')?.length ?? 0} unknown; ` +
        `${history.arrivals.length} arrivals, ${report.extraArrivals} of them extra for ${inFlight} in flight; ${report.alerts}`,
    );
    if (problems.length > 0) writeFileSync(join(folder, 'history.json'), JSON.stringify({ seed, ...report }));
    assert.deepEqual(problems.slice(0, 20), [], `seed ${seed} (CRASH_SEED), ${problems.length} broken promises`);
    assert.ok(takeovers.length > 0 && asked.has('refused'), 'the faults met a cluster at work');
  });
});

function ms(value: number | undefined): string {
  return `${Math.round(value ?? 0)} ms`;
}
