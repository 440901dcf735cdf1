// `--http-reader node`: node:http reads every request, by public calls alone. Publishes, keep-alive, pipelining and refusals are those
// of the other reader: the tests of these files run once more. Slow bodies are cut off here too.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { WholeRequestReader } from '../../../src/inbound/server/whole-request.ts';
import { sharedRider } from '../../support/harness.ts';
import { RawCaller } from '../../support/raw-caller.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';
import { poolUsed } from '../isolation/pools.ts';
import { pour } from '../isolation/raw-receiver.ts';

process.env.POSTRIDER_TEST_HTTP_READER = 'node';
await import('../publish/one-connection.test.ts');
await import('../security/strict-requests.test.ts');

const byNode = sharedRider();
const quick = sharedRider({ callerTimes: { bodyMs: 400, lookMs: 50 } });
const byBoth = sharedRider({ flags: ['--http-reader', 'own'] });

test('the setting says who reads a publish that arrives whole', async (t) => {
  const read = mock.method(WholeRequestReader.prototype, 'read');
  t.after(() => read.mock.restore());
  const receiver = await startReceiver(t);
  await byNode().published(receiver.url, { body: 'by node:http' });
  assert.equal(read.mock.callCount(), 0);
  await byBoth().published(receiver.url, { body: 'without it' });
  assert.ok(read.mock.callCount() > 0);
  await waitFor('both deliveries', () => receiver.arrivals.length === 2);
});

test('a body that brings next to nothing is cut off with 408, and its bytes are free again', async (t) => {
  const rider = quick();
  const caller = (await RawCaller.dial(t, rider.url)).listen();
  const head = `Host: localhost\r\nAuthorization: Bearer ${rider.token}\r\nContent-Length: 4000`;
  caller.say(`POST /v2/publish/http://127.0.0.1:9/ HTTP/1.1\r\n${head}\r\n\r\n[`);
  await waitFor('the body to be held', async () => (await poolUsed(rider, 'uploads')) === 4000);
  await caller.hears(408);
  assert.match(caller.text, /"code":"body_too_slow"/);
  assert.equal(await poolUsed(rider, 'uploads'), 0);
});

test('a large body arrives whole, and one over the limit is refused while it comes', async (t) => {
  const rider = byNode();
  const receiver = await startReceiver(t);
  const body = 'x'.repeat(900_000);
  await rider.published(receiver.url, { body });
  await waitFor('the delivery', () => receiver.arrivals.length === 1);
  assert.equal(String(receiver.arrivals[0]!.body), body);
  assert.equal((await rider.publish(receiver.url, { body: 'x'.repeat(2_000_000) })).status, 412);
});

test('whoever goes on with a refused body in chunks of one byte is cut off', async (t) => {
  const rider = byNode();
  const caller = await RawCaller.dial(t, rider.url);
  caller.say(`POST /v2/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
  caller.socket.resume();
  const closed = new Promise((resolve) => caller.socket.once('close', resolve));
  pour(caller.socket, '1\r\n \r\n'.repeat(1000));
  await closed;
});
