// The client's `flowControl`: what a key lets through, read and changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OracleAccount, refused, startOracle } from '../../support/qstash-client.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const oracle = await startOracle();

test('flowControl.get: shows the limits of a key and what waits behind it, as its types say', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t, () => 'hang');
  const before = Math.floor(Date.now() / 1000);
  const flowControl = { key: 'key', parallelism: 1, rate: 10, period: '1h' } as const;
  for (let n = 0; n < 3; n += 1) await client.publishJSON({ url: receiver.url, body: n, retries: 0, flowControl });
  await receiver.received(1);
  const { ratePeriodStart, ...info } = await client.flowControl.get('key');
  assert.deepEqual(info, {
    flowControlKey: 'key',
    waitListSize: 2,
    parallelismMax: 1,
    parallelismCount: 1,
    rateMax: 10,
    rateCount: 1,
    ratePeriod: 3600,
    isPaused: false,
    isPinnedParallelism: false,
    isPinnedRate: false,
  });
  assert.ok(ratePeriodStart >= before && ratePeriodStart <= Date.now() / 1000, 'in seconds');
});

test('flowControl.get: an unknown key is refused with 404', async () => {
  const { client } = await oracle.account();
  assert.match(await refused(404, () => client.flowControl.get('nobody')), /nobody/);
});

test('flowControl.pause: holds what comes, and flowControl.resume lets it go', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const flowControl = { key: 'key', parallelism: 5 };
  await client.publishJSON({ url: receiver.url, body: 1, flowControl });
  await receiver.received(1);
  await client.flowControl.pause('key');
  await client.publishJSON({ url: receiver.url, body: 2, flowControl });
  const info = await client.flowControl.get('key');
  assert.deepEqual([info.isPaused, info.waitListSize], [true, 1]);
  await client.flowControl.resume('key');
  await receiver.received(2);
  assert.equal((await client.flowControl.get('key')).isPaused, false);
});

test('flowControl.pin: holds limits against what messages say, until flowControl.unpin', async () => {
  const { client } = await oracle.account();
  await client.flowControl.pin('key', { parallelism: 4, rate: 20, period: 30 });
  assert.deepEqual(await limits(client), { max: [4, 20, 30], pinned: [true, true] });
  await waits(client, { parallelism: 1, rate: 2 });
  assert.deepEqual(await limits(client), { max: [4, 20, 30], pinned: [true, true] });
  await client.flowControl.unpin('key', { parallelism: true });
  await waits(client, { parallelism: 2, rate: 3 });
  assert.deepEqual(await limits(client), { max: [2, 20, 30], pinned: [false, true] });
  await client.flowControl.unpin('key', { rate: true });
  await waits(client, { parallelism: 2, rate: 3 });
  assert.deepEqual(await limits(client), { max: [2, 3, 1], pinned: [false, false] });
});

test('flowControl.resetRate: begins a new period', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t);
  const flowControl = { key: 'key', rate: 1, period: '1d' } as const;
  await client.publishJSON({ url: receiver.url, body: 1, flowControl });
  await client.publishJSON({ url: receiver.url, body: 2, flowControl });
  await receiver.received(1);
  await waitFor('one waiting', async () => (await client.flowControl.get('key')).waitListSize === 1);
  await client.flowControl.resetRate('key');
  await receiver.received(2);
});

test('flowControl.getGlobalParallelism: what is under way and what may be', async (t) => {
  const { client } = await oracle.account();
  const receiver = await startReceiver(t, () => 'hang');
  await client.publishJSON({ url: receiver.url, retries: 0 });
  await receiver.received(1);
  const { parallelismMax, parallelismCount } = await client.flowControl.getGlobalParallelism();
  assert.ok(parallelismCount >= 1 && parallelismCount <= parallelismMax);
});

async function limits(client: OracleAccount['client']) {
  const info = await client.flowControl.get('key');
  return {
    max: [info.parallelismMax, info.rateMax, info.ratePeriod],
    pinned: [info.isPinnedParallelism, info.isPinnedRate],
  };
}

/** A message that says these limits, and is not due for an hour. */
async function waits(client: OracleAccount['client'], said: { parallelism: number; rate: number }): Promise<void> {
  await client.publishJSON({ url: 'https://example.com/', delay: '1h', flowControl: { key: 'key', ...said } });
}
