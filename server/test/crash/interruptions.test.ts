// What we do to messages ourselves, by crashing and by being restarted, fails none of them; and the message that brings
// the process down is held. The long versions: npm run torture -- interruptions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interruptionsCampaign, type Ordeal } from './interruptions-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';

const ORDEALS: readonly (readonly [what: string, ordeal: Ordeal, messages: number, times: number])[] = [
  ['killed five times', 'kills', 300, 5],
  ['started four times and dead after a second', 'starts', 300, 4],
  ['restarted twice with a drain that is too short', 'drains', 80, 2],
  ['brought down by one of its messages', 'poison', 60, 1],
];

for (const [what, ordeal, messages, times] of ORDEALS) {
  test(`a server with a backlog that is ${what} fails and loses nothing`, { timeout: 300_000 }, async (t) => {
    await inScratchFolder('interruptions', async (folder) => {
      const report = await interruptionsCampaign({ ordeal, messages, times, flags: ['--data', folder] });
      t.diagnostic(
        `${report.messages} messages, ${report.ends} ends, ${report.repeats} repeats, ${report.held} held, ${report.seconds.toFixed(1)} s`,
      );
      assert.deepEqual(report.problems.slice(0, 10), []);
      assert.ok(ordeal !== 'poison' || report.ends >= 3, 'the poison was deadly');
      assert.ok(report.repeats > 0, 'the ends met attempts under way');
    });
  });
}
