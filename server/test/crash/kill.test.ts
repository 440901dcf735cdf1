// kill -9: whatever the moment, nothing that was acknowledged is lost, nothing is repeated that was not under way, and
// queues keep their order. The long version: npm run torture -- kill.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkHistory } from '../checker/check.ts';
import { isShort, lengthOf } from '../support/campaign.ts';
import { killCampaign } from './kill-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { chooseSeed } from './trial.ts';

const KILLS = lengthOf({ short: 3, rest: 8, whole: 20 });
/** Promised is a second; a machine that runs other tests beside this one may need more. */
const RECOVERY_MS_MAX = 10_000;

test(`a server that is killed ${KILLS} times under load keeps every promise`, { timeout: 600_000 }, async (t) => {
  const seed = chooseSeed();
  await inScratchFolder('kill', async (folder) => {
    const report = await killCampaign({ directory: folder, seed, kills: KILLS });
    const { history } = report;
    const asked = Map.groupBy(history.publishes, ({ outcome }) => outcome);
    t.diagnostic(
      `${KILLS} kills (${report.killedAtStart} while starting), ${history.stored.length} messages, ` +
        `${asked.get('ok')?.length ?? 0} publishes ok and ${asked.get('unknown')?.length ?? 0} unknown, ` +
        `${history.arrivals.length} arrivals, ${report.extraArrivals} of them extra for ${report.inFlight} in flight, ` +
        `recovery ${Math.round(report.recoveryMsMax)} ms at most`,
    );
    const broken = checkHistory(history);
    assert.deepEqual(broken.slice(0, 20), [], `seed ${seed} (CRASH_SEED), ${broken.length} broken promises`);
    assert.deepEqual(report.refusals, [], 'a running server refuses none of this');
    assert.ok(report.extraArrivals <= report.inFlight);
    // A few kills may all meet a server that starts.
    if (!isShort) assert.ok(report.inFlight > 0 && asked.has('ok'), 'the kills met a server at work');
    assert.ok(report.recoveryMsMax < RECOVERY_MS_MAX);
  });
});
