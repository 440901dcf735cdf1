// A reader that ends, in the middle of a list or while nobody asks: lists are refused for a moment, and everything else
// goes on.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { withClient } from '../../postgres/databases.ts';
import { type Rider, startRider, temporaryFolder } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { isOnPostgres, storeOf } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';

interface Watched {
  readonly rider: Rider;
  /** Ends whatever reads for lists: the reader's thread, or the sessions that the database has for it. */
  endReaders(): Promise<unknown>;
}

async function startWatched(t: TestContext): Promise<Watched> {
  const data = temporaryFolder(t);
  const threads: Worker[] = [];
  const note = (worker: Worker) => threads.push(worker);
  process.on('worker', note);
  t.after(() => void process.off('worker', note));
  const rider = await startRider(t, { data });
  if (!isOnPostgres) return { rider, endReaders: () => threads.at(-1)!.terminate() };
  const store = await storeOf(data);
  t.after(() => store.release());
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'postrider reader' AND datname = current_database()`;
  return { rider, endReaders: () => withClient(store.flags[1]!, (client) => client.query(end)) };
}

test('a reader that ends is replaced; publishes and deliveries of others go on meanwhile', async (t) => {
  const receiver = await startReceiver(t);
  const { rider, endReaders } = await startWatched(t);
  const list = () => rider.call('GET', '/v2/messages?count=10');
  await rider.published(receiver.url);
  assert.equal((await list()).status, 200);
  for (const round of [1, 2, 3]) {
    // Nothing remembers its token, which is therefore looked up.
    const other = await rider.account(`other${round}`);
    const [lists] = await Promise.all([Promise.all(Array.from({ length: 20 }, list)), endReaders()]);
    for (const answer of lists) {
      assert.ok(answer.status === 200 || answer.status === 503, answer.text);
      if (answer.status === 503) assert.match(answer.headers['retry-after'] ?? '', /^\d+$/);
    }
    const id = await rider.published(receiver.url, { token: other.token });
    await waitFor(`the delivery of round ${round}`, async () => {
      // What reads it is the reader that is being replaced.
      const answer = await rider.call('GET', `/v2/messages/${id}`, { token: other.token });
      return answer.status === 200 && answer.json<{ state: string }>().state === 'DELIVERED';
    });
    await waitFor(`lists in round ${round}`, async () => (await list()).status === 200);
  }
  assert.equal(receiver.arrivals.length, 4);
});
