// Section 6 of the spec, rule 2: a callback uses the retry setting of the original request. Also its own settings,
// which the spec leaves open.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, ridersOfOneService } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const startRider = ridersOfOneService();

for (const kind of ['Callback', 'Failure-Callback'] as const) {
  const status = kind === 'Callback' ? 200 : 489;

  test(`6 rule 2: a ${kind} is retried as often as the original request specified, with its backoff`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t, () => status);
    const reports = await startReceiver(t, () => 500);
    const headers = { 'Service-Retries': '2', [`Service-${kind}`]: reports.url };
    await rider.accepted(receiver.url, { headers });
    const callbackId = (await reports.received(1))[0]!.header('Service-Message-Id')!;
    assert.equal((await rider.attempted(callbackId, 1)).maxRetries, 2);
    await rider.advance(1000);
    await rider.attempted(callbackId, 2);
    await rider.advance(7390);
    const callback = await rider.ended(callbackId);
    assert.equal(callback.state, 'FAILED');
    assert.deepEqual(
      callback.attempts.map(({ startedAt }) => startedAt - callback.createdAt),
      [0, 1000, 8390],
    );
    assert.equal(reports.arrivals.length, 3);
    for (const arrival of reports.arrivals) assert.equal(arrival.header('Service-Message-Id'), callbackId);
  });

  test(`6 rule 2: a ${kind} has the default retries of the tier when the original request left them empty`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t, () => status);
    const reports = await startReceiver(t);
    const { token } = await rider.account('payer', 'paid');
    for (const [index, [whose, retries]] of [[rider.token!, 3] as const, [token, 5] as const].entries()) {
      await rider.accepted(receiver.url, { token: whose, headers: { [`Service-${kind}`]: reports.url } });
      const arrivals = await reports.received(index + 1);
      const callbackId = arrivals[index]!.header('Service-Message-Id')!;
      assert.equal((await rider.message(callbackId, whose)).maxRetries, retries);
    }
  });

  test(`6 rule 2: a ${kind} may be given settings of its own`, async (t) => {
    const rider = await startRider(t);
    const receiver = await startReceiver(t, () => status);
    const reports = await startReceiver(t);
    const headers = {
      'Service-Retries': '2',
      'Service-Forward-X-Tag': 'original',
      [`Service-${kind}`]: reports.url,
      [`Service-${kind}-Method`]: 'PUT',
      [`Service-${kind}-Retries`]: '6',
      [`Service-${kind}-Delay`]: '5s',
      [`Service-${kind}-Forward-X-Tag`]: 'report',
    };
    const sourceId = await rider.accepted(receiver.url, { headers });
    await rider.ended(sourceId);
    await rider.advance(4999);
    assert.equal(reports.arrivals.length, 0);
    await rider.advance(1);
    const [call] = await reports.received(1);
    assert.equal(call!.method, 'PUT');
    assert.deepEqual(call!.values('X-Tag'), ['report']);
    assert.equal((await rider.message(call!.header('Service-Message-Id')!)).maxRetries, 6);
    assert.deepEqual(receiver.arrivals[0]!.values('X-Tag'), ['original']);
  });

  test(`6 rule 2: a bad setting of a ${kind} is refused with the name of its header`, async (t) => {
    const rider = await startRider(t);
    const callback = { [`Service-${kind}`]: 'https://example.com' };
    for (const [setting, value, statusCode, code, says] of [
      ['Retries', 'x', 400, 'bad_header', `Service-${kind}-Retries: `],
      ['Method', 'HEAD', 400, 'bad_header', `Service-${kind}-Method: `],
      ['Delay', 'soon', 400, 'bad_header', `Service-${kind}-Delay: `],
      ['Timeout', '0', 400, 'bad_header', `Service-${kind}-Timeout: `],
      ['Forward-Host', 'x', 400, 'bad_forward_header', `Service-${kind}-Forward-Host: `],
      ['Retries', '101', 412, 'limit_exceeded', `Service-${kind}-Retries (101)`],
    ] as const) {
      const headers = { ...callback, [`Service-${kind}-${setting}`]: value };
      const error = refusal(await rider.enqueue('q', 'https://example.com', { headers }), statusCode, code);
      assert.ok(error.startsWith(says), error);
    }
  });
}
