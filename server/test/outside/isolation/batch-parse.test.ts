// What a batch costs before it is accepted: elements are counted while they arrive and parsed one by one, so that no text
// is parsed whole and no turn of the event loop is long.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const NOWHERE = 'http://127.0.0.1:9';
const MIB = 1024 * 1024;
const shared = sharedRider();

function postBatch(token: string | null) {
  const { hostname, port } = new URL(shared().url);
  const headers = { Authorization: `Bearer ${token}`, 'Transfer-Encoding': 'chunked' };
  return httpRequest({ hostname, port, method: 'POST', path: '/v2/batch', headers });
}

test('brackets without number are refused at the first element too many, while the rest is still to come', async (t) => {
  const rider = shared();
  const { token } = await rider.account('beside-the-brackets');
  const receiver = await startReceiver(t);
  const attack = postBatch(rider.token);
  attack.write(`[${'[],'.repeat(1000)}`);
  const id = await rider.published(receiver.url, { token });
  assert.equal((await rider.ended(id, token)).state, 'DELIVERED');
  const answered = once(attack, 'response');
  attack.write('[],[]');
  const [response] = await answered;
  assert.equal(response.statusCode, 400);
  let text = '';
  for await (const chunk of response) text += chunk;
  assert.equal(JSON.parse(text).code, 'batch_too_long');
  attack.destroy();
});

test('99 MB of brackets are refused without being parsed', async (t) => {
  const rider = shared();
  let parsed = 0;
  const parse = JSON.parse;
  t.mock.method(JSON, 'parse', (text: string, reviver?: Parameters<typeof parse>[1]) => {
    parsed += text.length;
    return parse(text, reviver);
  });
  const body = Buffer.alloc(99 * 1_000_000, ',[]');
  body[0] = 0x5b;
  const answer = await rider.call('POST', '/v2/batch', { body });
  refusal(answer, 400, 'batch_too_long');
  assert.ok(parsed < 100_000, `${parsed} characters were parsed`);
});

test('a large batch is parsed element by element, a bounded amount in one turn of the event loop', async (t) => {
  const rider = shared();
  const elements = Array.from({ length: 500 }, () => ({
    destination: NOWHERE,
    body: 'x'.repeat((2 * MIB) / 50),
    queue: '!',
  }));
  const body = JSON.stringify(elements);
  let inTurn = 0;
  let mostInTurn = 0;
  let longest = 0;
  const parse = JSON.parse;
  t.mock.method(JSON, 'parse', (text: string, reviver?: Parameters<typeof parse>[1]) => {
    longest = Math.max(longest, text.length);
    inTurn += text.length;
    mostInTurn = Math.max(mostInTurn, inTurn);
    return parse(text, reviver);
  });
  let isOver = false;
  const countTurn = () => {
    inTurn = 0;
    if (!isOver) setImmediate(countTurn);
  };
  countTurn();
  const answer = await rider.call('POST', '/v2/batch', { body });
  isOver = true;
  assert.equal(answer.status, 400);
  assert.ok(longest < MIB, `${longest} characters were parsed at once`);
  assert.ok(mostInTurn < 6 * MIB, `${mostInTurn} characters were parsed in one turn`);
});

test('an element of brackets, a deep one and one that is far too long are refused in their slots', async () => {
  const rider = shared();
  const destination = `${NOWHERE}/ok`;
  const ok = { destination, headers: { 'Service-Delay': '1d' } };
  const many = { destination, extra: Array.from({ length: 5000 }, () => []) };
  const deep = { destination, extra: parseDeep(100) };
  const long = { destination, body: 'x'.repeat(7 * MIB) };
  const answer = await rider.batch([ok, many, deep, long, ok]);
  assert.equal(answer.status, 201, answer.text.slice(0, 300));
  const slots = answer.json<{ messageId?: string; code?: string; error?: string }[]>();
  assert.deepEqual(
    slots.map(({ messageId, code }) => (messageId === undefined ? code : 'accepted')),
    ['accepted', 'bad_body', 'bad_body', 'bad_body', 'accepted'],
  );
  assert.match(slots[1]!.error!, /keys and values; the limit is 2000/);
  assert.match(slots[2]!.error!, /nested 101 levels deep; the limit is 64/);
  assert.match(slots[3]!.error!, /bytes; the limit is/);
});

test('hostile JSON as the body of a management call is refused', async () => {
  const rider = shared();
  for (const body of [`[${'[],'.repeat(300_000)}[]]`, '['.repeat(500_000)]) {
    for (const path of ['/v2/queues', '/v2/bulk', '/v2/topics/t/endpoints', '/v2/dlq/retry']) {
      refusal(await rider.call('POST', path, { body }), 400, 'bad_body');
    }
  }
});

function parseDeep(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}
