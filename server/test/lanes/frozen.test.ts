// A process that stood still for longer than a lease: a laptop that was closed, `docker pause`. All of its lanes stood
// still together, and none of them is dead.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { endServers, ServerProcess } from '../crash/server-process.ts';
import { ask } from '../support/client.ts';
import { temporaryFolder } from '../support/harness.ts';
import { type Reply, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';

const LANES = 3;
/** So many new connections reach every lane, but for a chance that is smaller than that of a broken machine. */
const MANY = 60;
/** Longer than a lease, which is 15 s. */
const FROZEN_MS = 17_000;

after(endServers);

test('a process that stood still does not take its own lanes for dead: nothing is sent again, nothing counts as a crash', async (t) => {
  const answer = Promise.withResolvers<Reply>();
  const receiver = await startReceiver(t, () => answer.promise);
  const flags = ['--data', temporaryFolder(t), '--lanes', String(LANES), '--host-concurrency', '400'];
  const server = new ServerProcess(flags);
  const { api, token } = await server.ready;
  const headers = { Authorization: `Bearer ${token}`, Connection: 'close' };
  const metric = async (name: string) => {
    const { text } = await ask(api, '/metrics', {});
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (.*)$`, 'm').exec(text)?.[1]);
  };
  await waitFor('all lanes to listen', async () => (await metric('postrider_lanes')) === LANES);
  const published = await Promise.all(
    Array.from({ length: MANY }, (_, index) =>
      ask(api, `/v2/publish/${receiver.url}/${index}`, { method: 'POST', headers }),
    ),
  );
  await receiver.received(MANY);

  server.freeze();
  const thawsAt = performance.now() + FROZEN_MS;
  await waitFor('the leases to be over', () => performance.now() > thawsAt);
  server.thaw();

  // It is awake when it has delivered something new.
  const next = await startReceiver(t);
  await ask(api, `/v2/publish/${next.url}/`, { method: 'POST', headers });
  await next.received(1);
  answer.resolve(200);
  await waitFor('all to be delivered', async () => (await metric('postrider_messages_ended_total')) > MANY);
  assert.equal(receiver.arrivals.length, MANY, 'each arrives once');
  for (const { text } of published) {
    const { messageId } = JSON.parse(text) as { messageId: string };
    const { attempts, state } = (await ask(api, `/v2/messages/${messageId}`, { headers })).json<{
      attempts: unknown[];
      state: string;
    }>();
    assert.deepEqual([state, attempts.length], ['DELIVERED', 1]);
  }
});
