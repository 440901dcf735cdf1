// What an error repeats of a request is cut: a batch has an error for each of its elements, and its answer would be as
// large as the request.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const TEXT_MAX = eachMax('errorLength') + 1;
const LONG = 'h'.repeat(100_000);
const shared = sharedRider();

test('a batch with long names of headers is answered in short, and its good element is delivered', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const bad = [
    { destination: receiver.url, headers: { [LONG]: 5 } },
    { destination: receiver.url, headers: { [`Service-Forward-${LONG}\n`]: 'x' } },
    {
      destination: receiver.url,
      headers: { [`Service-Callback-Forward-${LONG}`]: 'x', 'Service-Callback': 'http://a' },
    },
    { destination: receiver.url, headers: { 'Service-Method': LONG } },
    { destination: LONG },
    { destination: receiver.url, queue: LONG },
    { destination: receiver.url, headers: { 'Idempotency-Key': `${LONG}:` } },
  ];
  const answer = await rider.batch([...bad, { destination: receiver.url }]);
  assert.equal(answer.status, 201);
  const entries = answer.json<{ error?: string; messageId?: string }[]>();
  for (const { error } of entries.slice(0, -1)) assert.ok(error!.length <= TEXT_MAX, `${error!.length} characters`);
  assert.equal((await rider.ended(entries.at(-1)!.messageId!)).state, 'DELIVERED');
});

test('an unknown path or name is repeated in short', async () => {
  const rider = shared();
  const long = 'x'.repeat(50_000);
  assert.ok(refusal(await rider.call('GET', `/v3/${long}`), 404, 'not_found').length <= TEXT_MAX);
  const filter = { retried: 'maybe', label: [{ [long]: 1 }] };
  const answer = await rider.call('DELETE', '/v2/messages', { body: JSON.stringify(filter) });
  assert.ok(answer.text.length <= 2 * TEXT_MAX);
});

test('a console page that is thousands of folders deep is not made', async () => {
  const rider = shared();
  assert.equal((await rider.call('GET', `/console/${'/'.repeat(50_000)}`, { token: null })).status, 404);
  assert.notEqual((await fetch(`${rider.url}/console/messages/msg_1`)).status, 404);
});
