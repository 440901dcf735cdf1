// A database that is far away: every round trip takes long. That is no reason to refuse anything.

import { test } from 'node:test';
import { waitFor } from '../support/wait.ts';
import { Nodes } from './nodes.ts';
import { proxiedDatabase } from './proxied-database.ts';

const LATER = { 'Upstash-Delay': '1h' };
const ROUNDS = 2;
const AT_ONCE = 4;

test('a node whose database is 400 ms and then 800 ms away refuses nobody once it knows, and one starts there too', async (t) => {
  const { url, proxy } = await proxiedDatabase(t);
  const nodes = new Nodes(t, url);
  const [near] = await nodes.start(1);
  const publish = (node = near!, path = 'publish') =>
    node.call('POST', `/v2/${path}/http://127.0.0.1:9/`, { headers: LATER, body: 'x' });
  for (const ms of [400, 800]) {
    proxy.slow(ms);
    await waitFor('a node that knows how far it is', async () => {
      const answers = await Promise.all([publish(), publish(near, 'enqueue/line')]);
      return answers.every(({ status }) => status === 201);
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      // Those that arrive while others are written wait for them, and for no other reason. On a busy machine a reply may
      // come so late that the database seems to be gone, for a moment.
      await waitFor(`a node that refuses nobody ${ms} ms away`, async () => {
        const asked = Array.from({ length: AT_ONCE }, (_, number) =>
          publish(near, number % 2 ? 'enqueue/line' : 'publish'),
        );
        return (await Promise.all(asked)).every(({ status }) => status === 201);
      });
    }
  }
  proxy.slow(400);
  const [far] = await nodes.start(1);
  await waitFor('a node that has started far away', async () => (await publish(far!)).status === 201);
});
