// api.md, Hosts: how the attempts to each host went, as its sender reads it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService } from '../../support/harness.ts';
import { inTurn, startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const startRider = ridersOfOneService();

interface HostView {
  readonly host: string;
  readonly state: string;
  readonly failingSince?: number;
  readonly attempts: number;
  readonly delivered: number;
  readonly successShare?: number;
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly lastAttemptAt?: number;
  readonly lastFailure?: { readonly at: number; readonly responseStatus?: number; readonly error?: string };
  readonly waiting: number;
}

const NO_RETRY = { headers: { 'Service-Retries': '0' } };

test('a host fails from its first failure on until it responds with anything but a 5xx', async (t) => {
  const rider = await startRider(t);
  const receiver = await startReceiver(t, inTurn(200, 503, 500, 404));
  const host = new URL(receiver.url).host;
  const send = async () => rider.ended(await rider.published(receiver.url, NO_RETRY));
  // An attempt is measured a moment after its end is stored.
  const read = (attempts: number) =>
    waitFor(`${attempts} attempts to be measured`, async () => {
      const answer = await rider.call('GET', `/v2/hosts/${encodeURIComponent(host)}`);
      const view = answer.status === 200 && answer.json<HostView>();
      return view && view.attempts === attempts && view;
    });

  await send();
  const well = await read(1);
  assert.deepEqual(
    [well.host, well.state, well.attempts, well.delivered, well.successShare, well.waiting],
    [host, 'well', 1, 1, 1, 0],
  );
  assert.ok(well.p50Ms! > 0 && well.p95Ms! >= well.p50Ms!);
  assert.equal('lastFailure' in well, false);

  await send();
  await read(2);
  const failedAt = rider.clock.now();
  rider.clock.advance(60_000);
  await send();
  const failing = await read(3);
  assert.deepEqual(
    [failing.state, failing.failingSince, failing.attempts, failing.delivered],
    ['failing', failedAt, 3, 1],
  );
  assert.deepEqual(failing.lastFailure, { at: rider.clock.now(), responseStatus: 500 });

  await send();
  const again = await read(4);
  assert.deepEqual([again.state, 'failingSince' in again, again.attempts, again.delivered], ['well', false, 4, 1]);
  assert.equal(again.successShare, 0.25);
});

test('a host that cannot be reached, what waits for it, and the hosts of others', async (t) => {
  const rider = await startRider(t);
  const other = await startRider(t);
  const url = 'http://127.0.0.1:9/x';
  await rider.published(url, { headers: { 'Service-Retries': '1', 'Service-Retry-Delay': '600000' } });
  await rider.published(url, { headers: { 'Service-Delay': '1h' } });
  const [host] = await waitFor('the attempt to be measured', async () => {
    const hosts = await rider.manage<HostView[]>('GET', '/v2/hosts');
    return hosts.length > 0 && hosts;
  });
  assert.deepEqual([host!.host, host!.state, host!.attempts, host!.waiting], ['127.0.0.1:9', 'failing', 1, 2]);
  assert.ok(host!.lastFailure!.error!.length > 0);
  assert.deepEqual(await other.manage<HostView[]>('GET', '/v2/hosts'), []);
});

test('a host that nothing was sent to is not found, with or without a port', async (t) => {
  const rider = await startRider(t);
  for (const host of ['example.com', 'example.com:8443', '%5B::1%5D:443', 'x'.repeat(300)]) {
    refusal(await rider.call('GET', `/v2/hosts/${host}`), 404, 'host_not_found');
  }
});
