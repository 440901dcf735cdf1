// Two versions side by side: a newer one adds a column to every table while the nodes of this one work.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseSeed } from '../crash/trial.ts';
import { sharedServer } from '../postgres/server.ts';
import { schemaCampaign } from './schema-campaign.ts';

test('a column more in every table, beside nodes of two versions under load: nothing is refused, lost or left behind', {
  timeout: 600_000,
}, async (t) => {
  const seed = chooseSeed();
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  const report = await schemaCampaign({ seed, url: server.url(name), cleanup: t, versions: 1, nodes: 2 });
  const { problems, columns, calls, messages, refused } = report;
  t.diagnostic(`${columns} columns, ${calls} calls, ${messages} messages, ${refused} calls refused with 503`);
  assert.deepEqual(problems.slice(0, 20), [], `seed ${seed} (CRASH_SEED), ${problems.length} broken promises`);
});
