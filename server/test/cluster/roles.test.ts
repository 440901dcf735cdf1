// Nodes that only accept and nodes that only deliver.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal } from '../support/harness.ts';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { Nodes } from './nodes.ts';

/** A node that is told of work takes it up at once; one that is not looks again only after some seconds. */
const PROMPT_MS = 1000;
/** One that looks again by itself may be in time by chance, but not so often in a row. A busy machine gets many tries. */
const IN_A_ROW = 10;
const TRIES_MAX = 60;

test('an api node accepts and never delivers; a deliver node delivers it at once and accepts nothing', async (t) => {
  const receiver = await startReceiver(t);
  const nodes = await Nodes.onNewDatabase(t);
  const [api] = await nodes.start(1, '--role', 'api');
  const waiting = await Promise.all(Array.from({ length: 5 }, () => api!.published(receiver.url)));
  const life = async () => (await nodes.tables.lives())[0]?.leftMs ?? 0;
  // It lives on: its engine has had every opportunity.
  await waitFor('the first sign of life to grow old', async () => (await life()) < 12_000);
  await waitFor('the next one', async () => (await life()) > 13_000);
  assert.equal(receiver.arrivals.length, 0);
  assert.equal(await nodes.tables.countOpen(), waiting.length);

  const [deliver] = await nodes.start(1, '--role', 'deliver');
  await receiver.received(waiting.length);
  for (let [more, inARow] = [1, 0]; inARow < IN_A_ROW; more += 1) {
    const publishedMs = performance.now();
    await api!.published(receiver.url);
    await receiver.received(waiting.length + more);
    const tookMs = performance.now() - publishedMs;
    inARow = tookMs < PROMPT_MS ? inARow + 1 : 0;
    assert.ok(more < TRIES_MAX, `delivered after ${Math.round(tookMs)} ms`);
  }
  refusal(await deliver!.call('POST', `/v2/publish/${receiver.url}`), 503, 'deliver_only');
  assert.equal((await deliver!.call('GET', '/v2/messages')).status, 200);
});
