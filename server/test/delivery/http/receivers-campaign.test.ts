// A short run of the campaign `npm run torture -- receivers`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { receiversCampaign } from './receivers-campaign.ts';

test('receivers that close, reset, split and add at any stage: the same verdicts as undici, and no response goes to another message', async () => {
  for (const seed of [3, 101]) {
    const { problems, reused } = await receiversCampaign({ seed, receivers: 3, requests: 30 });
    assert.deepEqual(problems, [], `npm run torture -- receivers --runs 1 --seed ${seed}`);
    assert.ok(reused > 0, `no connection was used again with seed ${seed}`);
  }
});

test('the campaign sees a connection that is used again at once', async () => {
  const { problems } = await receiversCampaign({ seed: 3, isRestless: true });
  assert.ok(problems.length > 0);
});
