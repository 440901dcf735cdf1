// Wrong clocks, freezes and starts of one to four lanes in a random order: nothing goes early or twice, nothing is deleted
// or held, and no tick is skipped or doubled. The long version: npm run torture -- clocks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredTime } from '../../src/store/ports/delivery-store.ts';
import { isShort, lengthOf } from '../support/campaign.ts';
import { noFakedClock } from '../support/faked-machine.ts';
import { clocksCampaign } from './clocks-campaign.ts';
import { clocksOfProcess } from './clocks-process.ts';
import { inScratchFolder } from './scratch-folder.ts';

/** The first showed a start that counted the correction of a small step as time that has passed. */
const SEEDS = lengthOf({ short: [60], rest: [1], whole: [60, 1, 3] });
const PROCESS_SEED = 7;
const PROCESS_STEPS = 3;
/** So many runs at most until one meets a start that a wrong rule gets wrong; most do. */
const BLIND_RUNS_MAX = 20;

test('a service in virtual time keeps every promise, whatever its clocks do', async (t) => {
  for (const seed of SEEDS) {
    const { problems, ...counts } = await clocksCampaign({ seed });
    t.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
    assert.deepEqual(problems.slice(0, 5), [], `npm run torture -- clocks --only virtual --runs 1 --seed ${seed}`);
  }
});

if (!isShort) {
  test('the campaign sees a start that takes the correction of a wrong clock for time that has passed', async () => {
    const misread = ({ kept, ...rest }: StoredTime, wallAt: number): StoredTime => {
      const shownMs = kept ? wallAt - kept.wallAt : 0;
      const isBelieved = shownMs > 0 && shownMs < 86_400_000;
      if (!kept || !isBelieved) return { ...rest, kept };
      return {
        ...rest,
        kept: { ...kept, wallAt, trustedAt: kept.trustedAt + shownMs, orderAt: kept.orderAt + shownMs },
      };
    };
    for (let seed = 1; seed <= BLIND_RUNS_MAX; seed += 1) {
      const { problems } = await clocksCampaign({ seed, misread });
      if (problems.length > 0) return;
    }
    assert.fail('no run has noticed it');
  });

  test('a real process with lanes keeps every promise when it is frozen and its clock is turned', {
    skip: noFakedClock(),
  }, async (t) => {
    await inScratchFolder('clocks', async (folder) => {
      const report = await clocksOfProcess({ folder, seed: PROCESS_SEED, steps: PROCESS_STEPS });
      const { problems, ...counts } = report;
      t.diagnostic(JSON.stringify(counts));
      assert.deepEqual(problems.slice(0, 5), [], `npm run torture -- clocks --only process --seed ${PROCESS_SEED}`);
      assert.ok(report.freezes > 0 && report.lanes > 1, 'it was frozen, with lanes');
    });
  });
}
