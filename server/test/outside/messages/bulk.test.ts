// Bulk operations: counted first, done at a pace, watched, stopped, and gone on with after a restart.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Rider, refusal, ridersOfOneService, temporaryFolder } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

interface JobView {
  readonly jobId: string;
  readonly action: string;
  readonly state: string;
  readonly matched: number;
  readonly done: number;
}

const NOWHERE = 'http://127.0.0.1:1/';
const read = (rider: Rider, { jobId }: JobView) => rider.manage<JobView>('GET', `/v2/bulk/${jobId}`);
const start = (rider: Rider, body: object) => rider.manage<JobView>('POST', '/v2/bulk', body);

async function delayed(rider: Rider, count: number, label = 'red'): Promise<void> {
  const headers = { 'Service-Delay': '1d', 'Service-Label': label };
  await rider.batch(Array(count).fill({ destination: NOWHERE, headers }));
}

async function open(rider: Rider): Promise<number> {
  const { messages } = await rider.manage<{ messages: unknown[] }>('GET', '/v2/messages?state=CREATED');
  return messages.length;
}

/** How far it was whenever that changed, to the end. */
function progress(rider: Rider, job: JobView): Promise<number[]> {
  const seen: number[] = [];
  return waitFor('the job to be done', async () => {
    await rider.advance(500);
    const { done, state } = await read(rider, job);
    if (done !== (seen.at(-1) ?? 0)) seen.push(done);
    return state === 'done' && seen;
  });
}

test('POST /v2/bulk: a dry run counts and changes nothing', async (t) => {
  const rider = await startRider(t);
  await delayed(rider, 5);
  await delayed(rider, 2, 'blue');
  const answer = await rider.call('POST', '/v2/bulk', {
    body: JSON.stringify({ action: 'cancel', filter: { label: 'red' }, dryRun: true }),
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json(), { action: 'cancel', matched: 5 });
  assert.equal(await open(rider), 7);
  assert.deepEqual(await rider.manage('GET', '/v2/bulk'), { jobs: [] });
});

test('POST /v2/bulk: cancels at its pace, and leaves alone what came after it was asked for', async (t) => {
  const rider = await startRider(t);
  await delayed(rider, 5);
  const job = await start(rider, { action: 'cancel', filter: { label: 'red' }, perSecond: 2 });
  assert.deepEqual([job.state, job.matched, job.done], ['running', 5, 0]);
  rider.clock.advance(1);
  await delayed(rider, 1);
  assert.deepEqual(await progress(rider, job), [2, 4, 5]);
  assert.equal(await open(rider), 1);
  const { jobs } = await rider.manage<{ jobs: JobView[] }>('GET', '/v2/bulk');
  assert.deepEqual(jobs, [await read(rider, job)]);
});

test('POST /v2/bulk: retries dead letters, or deletes them', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, () => 500);
  for (const path of ['/a', '/b', '/c']) {
    await rider.ended(await rider.published(receiver.url + path, { headers: { 'Service-Retries': '0' } }));
  }
  receiver.answer = () => 200;
  const path = ['/a', '/b'];
  await progress(rider, await start(rider, { action: 'retry', filter: { path } }));
  assert.deepEqual(
    (await receiver.received(5))
      .slice(3)
      .map(({ target }) => target)
      .sort(),
    ['/a', '/b'],
  );
  await progress(rider, await start(rider, { action: 'delete', filter: { all: 'true' } }));
  assert.deepEqual(await rider.manage('GET', '/v2/dlq'), { messages: [] });
});

test('POST /v2/bulk: delete takes what was sent again where it is asked for, and counts the same', async (t) => {
  const rider = await startRider(t);
  const publish = () => rider.published(NOWHERE, { headers: { 'Service-Retries': '0', 'Service-Label': 'red' } });
  const dead = [await publish(), await publish()];
  for (const messageId of dead) await rider.ended(messageId);
  const { messageId } = await rider.manage<{ messageId: string }>('POST', `/v2/dlq/retry/${dead[0]}`);
  await rider.ended(messageId);
  const count = async (filter: object) =>
    (await start(rider, { action: 'delete', dryRun: true, filter: { label: 'red', ...filter } })).matched;
  assert.deepEqual([await count({}), await count({ retried: 'true' }), await count({ retried: 'any' })], [2, 1, 3]);
  const post = (action: string, retried: string) =>
    rider.call('POST', '/v2/bulk', { body: JSON.stringify({ action, filter: { retried }, dryRun: true }) });
  assert.deepEqual((await post('delete', 'true')).json(), { action: 'delete', matched: 1 });
  for (const retried of ['false', 'any']) {
    assert.match(refusal(await post('cancel', retried), 400, 'bad_filter'), /^filter: retried is not enough/);
    const direct = await rider.call('DELETE', `/v2/dlq?retried=${retried}`);
    assert.match(refusal(direct, 400, 'bad_filter'), /^retried: cannot be the only filter/);
  }
  assert.deepEqual(
    await progress(rider, await start(rider, { action: 'delete', filter: { all: true, retried: 'any' } })),
    [3],
  );
});

test('POST /v2/bulk/{id}/stop: what is done stays done, the rest is left', async (t) => {
  const rider = await startRider(t);
  await delayed(rider, 10);
  const job = await start(rider, { action: 'cancel', filter: { label: 'red' }, perSecond: 1 });
  await waitFor('some progress', async () => {
    await rider.advance(500);
    return (await read(rider, job)).done > 0;
  });
  const stopped = await rider.manage<JobView>('POST', `/v2/bulk/${job.jobId}/stop`);
  assert.equal(stopped.state, 'stopped');
  await rider.advance(60_000);
  assert.equal((await read(rider, job)).done, stopped.done);
  assert.equal(await open(rider), 10 - stopped.done);
  refusal(await rider.call('POST', `/v2/bulk/${job.jobId}/stop`), 404, 'job_not_found');
});

test('POST /v2/bulk: goes on after a restart from where it was', async (t) => {
  const data = temporaryFolder(t);
  const first = await startRider(t, { data });
  await delayed(first, 4);
  const job = await start(first, { action: 'cancel', filter: { label: 'red' }, perSecond: 1 });
  await waitFor('some progress', async () => {
    await first.advance(500);
    return (await read(first, job)).done > 0;
  });
  await first.close();
  const second = await startRider(t, { data, now: first.clock.now() });
  assert.equal((await progress(second, job)).at(-1), 4);
  assert.equal(await open(second), 0);
});

test('POST /v2/bulk: an empty filter, an unknown one and an unknown action are refused', async (t) => {
  const rider = await startRider(t);
  const post = (body: object) => rider.call('POST', '/v2/bulk', { body: JSON.stringify(body) });
  refusal(await post({ action: 'cancel', filter: {} }), 400, 'bad_filter');
  refusal(await post({ action: 'cancel', filter: { all: false } }), 400, 'bad_filter');
  assert.equal((await post({ action: 'cancel', filter: { all: true }, dryRun: true })).status, 200);
  refusal(await post({ action: 'cancel', filter: { colour: 'red' } }), 400, 'bad_filter');
  refusal(await post({ action: 'explode', filter: { all: 'true' } }), 400, 'bad_body');
  refusal(await post({ action: 'cancel', filter: { all: 'true' }, perSecond: 0 }), 400, 'bad_body');
});
