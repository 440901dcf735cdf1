// A data directory as a killed service leaves it, with something of every kind in it, and the service itself, which is
// still there to be asked what it held.

import assert from 'node:assert/strict';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from '../support/client.ts';
import { type Rider, startRider, temporaryFolder } from '../support/harness.ts';
import { type Arrival, type Cleanup, type Receiver, type Reply, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';

const DAY_MS = 86_400_000;
/** Longer than minutes are counted apart. */
const COUNTED_MS = 14 * 3_600_000;
const LARGE_BYTES = 9 * 1024 * 1024;
/** A day; what has failed once waits so long, on both sides of a move. */
const WAIT = { 'Service-Retry-Delay': String(DAY_MS) };

export interface Filled {
  readonly rider: Rider;
  readonly receiver: Receiver;
  /** A copy of the rider's, made while an attempt was under way. */
  readonly directory: string;
  /** Of the accounts, to read everything with. */
  readonly tokens: readonly string[];
  readonly publishOnly: string;
  readonly revoked: string;
  /** The cookie of somebody who is signed in to the console. */
  readonly session: string;
  /** The message whose attempt was under way. */
  readonly claimed: string;
  readonly delayed: string;
  readonly retrying: string;
  readonly large: { readonly id: string; readonly body: Buffer };
  readonly onceId: string;
}

/** Where a message waits for its second attempt, every receiver fails; the rest is taken. */
function firstAnswers({ target }: Arrival): Reply {
  if (target.startsWith('/hang')) return 'hang';
  if (target.startsWith('/accepted')) return 202;
  if (target.startsWith('/fail')) return { status: 503, headers: { 'X-Odd': 'caf\u00e9' }, body: 'not now \u{1F600}' };
  return { status: 200, body: '{"fine":"\\u0000 žluťoučký \u{1F680}"}' };
}

export async function filledDirectory(t: Cleanup): Promise<Filled> {
  const receiver = await startReceiver(t, firstAnswers);
  const data = temporaryFolder(t);
  const flags = ['--tiers', '{"free":{"bodyBytesMax":null,"retriesMax":null,"delayMsMax":null}}'];
  const rider = await startRider(t, { data, now: Date.now() - COUNTED_MS, flags });
  const to = (path: string) => `${receiver.url}/${path}`;
  const ended: string[] = [];

  // Accounts and tokens.
  const acme = await rider.account('acme', 'paid');
  const { token: publishOnly } = await rider.tokenFor(acme.accountId, ['publish']);
  const gone = await rider.tokenFor(acme.accountId, ['read']);
  await rider.manage('DELETE', `/v2/admin/accounts/${acme.accountId}/tokens/${gone.tokenId}`);
  const signedIn = await ask(rider.url, '/console/session', {
    method: 'POST',
    headers: { 'X-Postrider-Console': '1' },
    body: JSON.stringify({ token: acme.token }),
  });
  const session = signedIn.headers['set-cookie']![0]!.split(';')[0]!;
  ended.push(await rider.published(to('acme'), { token: acme.token, body: 'for acme' }));
  await rider.ended(ended[0]!, acme.token);
  // By now it is counted by the hour.
  await rider.advance(COUNTED_MS);

  // Delivered, with all that a message can carry; failed, and kept; cancelled.
  const rich = await rider.published(to('ok?a=1'), {
    body: Buffer.from([0, 255, 1, 254]),
    headers: {
      'Content-Type': 'application/octet-stream',
      'Service-Label': 'red,blue',
      'Service-Callback': to('callback'),
      'Service-Forward-X-Name': 'v\u00e9',
      'Service-Redact-Fields': 'body, header[X-Name]',
      'Service-Deduplication-Id': 'once',
    },
  });
  await rider.ended(rich);
  const odd = { 'Service-Label': 'žluť \u{1F680},"quoted"', 'Service-Flow-Control-Key': 'clé-\u{1F511}' };
  const limits = { 'Service-Flow-Control-Value': 'parallelism=3' };
  const batch = await rider.batch([
    { destination: to('ok'), headers: { ...odd, ...limits }, body: 'příliš \u{1F40E} \u0000 end' },
    { destination: to('ok'), queue: 'done', body: '' },
    { destination: 'not a place' },
  ]);
  assert.equal(batch.status, 201, batch.text);
  const failed = await rider.published(to('fail/dead'), {
    body: 'dead',
    headers: { 'Service-Retries': '0', 'Service-Failure-Callback': to('gave-up'), 'Service-Label': 'red' },
  });
  await rider.ended(failed);

  // What waits: for the clock, for a retry, for its turn, for its key, for a resume.
  const delayed = await rider.published(to('later'), { body: 'later', headers: { 'Service-Delay': '1d' } });
  const body = Buffer.alloc(LARGE_BYTES, 'postrider \u{1F40E} ');
  const large = { id: await rider.published(to('large'), { body, headers: { 'Service-Delay': '30h' } }), body };
  const retrying = await rider.published(to('fail/retrying'), { body: 'again', headers: WAIT });
  await rider.attempted(retrying, 1);
  const head = await rider.accepted(to('fail/line'), { queue: 'line', body: 'line 1', headers: WAIT });
  await rider.attempted(head, 1);
  for (const n of [2, 3]) await rider.accepted(to('line'), { queue: 'line', body: `line ${n}` });
  await rider.accepted(to('line'), { queue: 'line', body: 'line 9', headers: { 'Service-Delay': '5d' } });
  await rider.manage('POST', '/v2/queues', { queueName: 'keyed', parallelism: 2 });
  for (const [index, key] of ['a', 'b', 'a', 'b', 'a'].entries()) {
    const id = await rider.accepted(to(`fail/keyed/${key}`), {
      queue: 'keyed',
      body: `${key} ${index}`,
      headers: { ...WAIT, 'Service-Order-Key': key },
    });
    if (index < 2) await rider.attempted(id, 1);
  }
  await rider.manage('POST', '/v2/queues', { queueName: 'paused', paused: true });
  await rider.accepted(to('paused'), { queue: 'paused', body: 'held' });
  await rider.manage('POST', '/v2/flowControl/held/pin?parallelism=1&rate=5&period=60');
  await rider.manage('POST', '/v2/flowControl/held/pause');
  const flow = (key: string, value: string) => ({
    'Service-Flow-Control-Key': key,
    'Service-Flow-Control-Value': value,
  });
  for (const n of [1, 2]) {
    await rider.published(to('flow'), { body: `held ${n}`, headers: flow('held', 'parallelism=2') });
    const slow = await rider.published(to('flow'), {
      body: `slow ${n}`,
      headers: flow('slow', 'rate=1, period=3d'),
    });
    if (n === 1) await rider.ended(slow);
  }

  // Topics, schedules, bulk operations.
  const endpoints = [{ name: 'one', url: to('ok/one') }, { url: to('ok/two') }];
  await rider.manage('POST', '/v2/topics/news/endpoints', { endpoints });
  await rider.manage('PATCH', '/v2/topics/news', { headers: { 'Service-Retries': '1' } });
  assert.equal((await rider.publish('news', { body: 'extra' })).status, 201);
  // One body for two messages that have ended, and for two that wait.
  for (const headers of [{}, { 'Service-Delay': '4d' }]) {
    assert.equal((await rider.publish('news', { body: 'to many '.repeat(1000), headers })).status, 201);
  }
  for (const [id, cron] of [
    ['yearly', '0 0 1 1 *'],
    ['asleep', 'CRON_TZ=Europe/Prague 0 9 * * *'],
  ] as const) {
    const headers = { 'Service-Cron': cron, 'Service-Schedule-Id': id, 'Service-Forward-X-A': 'b' };
    const made = await rider.call('POST', `/v2/schedules/${to('ok/scheduled')}`, {
      headers,
      body: `tick \u{23F0} ${id}`,
    });
    assert.equal(made.status, 201, made.text);
  }
  await rider.manage('POST', '/v2/schedules/asleep/pause');
  await rider.manage('POST', '/v2/schedules/yearly/run');
  const target = { url: to('ok/alert'), format: 'slack' };
  await rider.manage('PUT', '/v2/alerts/bills', { rule: { type: 'messageFailed', label: 'bill' }, target });
  for (const n of [1, 2]) {
    const headers = { 'Service-Delay': '1d', 'Service-Label': `bulk-${n}` };
    await rider.published(to('bulk'), { headers });
  }
  for (const label of ['bulk-1', 'bulk-2']) {
    const job = await rider.manage<{ jobId: string }>('POST', '/v2/bulk', { action: 'cancel', filter: { label } });
    if (label === 'bulk-2') await rider.manage('POST', `/v2/bulk/${job.jobId}/stop`);
  }
  await waitFor('the bulk operations to end', async () => {
    await rider.advance(1000);
    const { jobs } = await rider.manage<{ jobs: { state: string }[] }>('GET', '/v2/bulk');
    return jobs.every(({ state }) => state !== 'running');
  });
  await rider.manage(
    'DELETE',
    `/v2/messages/${await rider.published(to('no'), { headers: { 'Service-Delay': '2d' } })}`,
  );

  const taken = await rider.published(to('accepted'), { headers: { 'Service-Await-Ack': '12h' } });
  await waitFor('an attempt to await its ack', async () => 'ack' in (await rider.message(taken)));
  const claimed = await rider.published(to('hang'), { body: 'under way', headers: { 'Service-Label': 'hanging' } });
  await receiver.received(receiver.arrivals.length + (receiver.arrivals.some(isHanging) ? 0 : 1));
  await rider.quiet();
  const directory = temporaryFolder(t);
  for (const name of readdirSync(data).filter((each) => /\.db(-wal)?$/.test(each))) {
    cpSync(join(data, name), join(directory, name));
  }
  return {
    rider,
    receiver,
    directory,
    tokens: [rider.token!, acme.token],
    publishOnly,
    revoked: gone.token,
    session,
    claimed,
    delayed,
    retrying,
    large,
    onceId: rich,
  };
}

function isHanging({ target }: Arrival): boolean {
  return target.startsWith('/hang');
}
