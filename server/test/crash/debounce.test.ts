// kill -9 while messages take the places of others: what was acknowledged is sent, or a newer message in its place; one
// message at most waits for a key; and a count never goes back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lengthOf } from '../support/campaign.ts';
import { debounceCampaign, type Published } from './debounce-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { chooseSeed } from './trial.ts';

const KILLS = lengthOf({ short: 1, rest: 2, whole: 5 });

/** For one key: the counts of one message go up by one for each publish, and a message that was left never comes back. */
function checkReplies(published: readonly Published[]): void {
  let id = '';
  let count = 0;
  let unknown = 0;
  const left = new Set<string>();
  for (const { key, number, reply } of published) {
    if (reply === null) {
      unknown += 1;
      continue;
    }
    const about = `${key} ${number}: ${JSON.stringify(reply)} after ${id} ${count}, ${unknown} unknown`;
    if (reply.messageId === id) {
      assert.ok(reply.debounced > count && reply.debounced <= count + 1 + unknown, about);
    } else {
      assert.ok(!left.has(reply.messageId), about);
      assert.ok(reply.debounced >= 1 && reply.debounced <= 1 + unknown, about);
      left.add(id);
    }
    id = reply.messageId;
    count = reply.debounced;
    unknown = 0;
  }
}

test(`a server that is killed ${KILLS} times loses no newest message of a debounce key`, {
  timeout: 300_000,
}, async (t) => {
  const seed = chooseSeed();
  const about = `seed ${seed} (CRASH_SEED)`;
  await inScratchFolder('debounce', async (folder) => {
    const { published, bodies, waiting, newestOf } = await debounceCampaign(folder, seed, KILLS);
    for (const keys of waiting) assert.equal(new Set(keys).size, keys.length, `${about}: ${keys} wait`);
    for (const ofKey of published) {
      checkReplies(ofKey);
      const last = ofKey.findLast(({ reply }) => reply !== null)!;
      assert.ok(newestOf(last.key) >= last.number, `${about}: ${last.key} ${last.number} is lost`);
    }
    for (const [id, sent] of bodies) assert.equal(new Set(sent).size, 1, `${about}: ${id} was sent as ${sent}`);
    const all = published.flat();
    const unknown = all.filter(({ reply }) => reply === null).length;
    t.diagnostic(`${all.length} publishes, ${unknown} unknown, ${bodies.size} messages`);
  });
});
