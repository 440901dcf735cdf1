// kill -9 while receivers work: an ack that was accepted decides how its message ends, and nothing is sent after it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lengthOf } from '../support/campaign.ts';
import { acksCampaign, isOk } from './acks-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { chooseSeed } from './trial.ts';

const KILLS = lengthOf({ short: 1, rest: 2, whole: 6 });

test(`a server that is killed ${KILLS} times loses no ack, and forgets no attempt that awaits one`, {
  timeout: 300_000,
}, async (t) => {
  const seed = chooseSeed();
  const about = `seed ${seed} (CRASH_SEED)`;
  await inScratchFolder('acks', async (folder) => {
    const { published, noted, states, repeated } = await acksCampaign(folder, seed, KILLS);
    assert.ok(published.length > 0, about);
    const accepted = new Set<string>();
    for (const each of noted) {
      // A kill between the 202 and its record makes the delivery once more, but none that was acknowledged.
      if (each.kind === 'arrived')
        assert.ok(!accepted.has(each.messageId), `${about}: ${each.messageId} was sent again`);
      else if (each.status === 200) accepted.add(each.messageId);
      else assert.equal(each.status, 410, `${about}: ${each.path}`);
    }
    for (const [messageId, state] of states) {
      assert.ok(accepted.has(messageId), `${about}: ${messageId} is ${state} without an ack`);
      assert.equal(state, isOk(messageId) ? 'DELIVERED' : 'FAILED', `${about}: ${messageId}`);
    }
    t.diagnostic(`${published.length} messages, ${noted.length} notes, ${repeated} acks sent again`);
  });
});
