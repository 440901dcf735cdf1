// How many header names one message may hide, and that more are refused before any work is done for them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const MOST = eachMax('redactionNames');
const shared = sharedRider();
const NOWHERE = 'http://127.0.0.1:9';

function fields(count: number): string {
  return Array.from({ length: count }, (_, index) => `header[X-${index}]`).join(',');
}

test('Redact-Fields names as many headers as the budget has, and not one more', async (t) => {
  const rider = shared();
  const receiver = await startReceiver(t);
  const taken = await rider.published(receiver.url, {
    headers: { 'Service-Redact-Fields': fields(MOST), [`Service-Forward-X-${MOST - 1}`]: 'secret' },
  });
  const { header } = await rider.message(taken);
  assert.match(header[`X-${MOST - 1}`]![0]!, /^REDACTED:/);
  const twice = `${fields(MOST)},${fields(MOST)},body`;
  assert.equal((await rider.publish(receiver.url, { headers: { 'Service-Redact-Fields': twice } })).status, 201);
  const refused = await rider.publish(receiver.url, { headers: { 'Service-Redact-Fields': fields(MOST + 1) } });
  assert.match(refusal(refused, 400, 'bad_header'), new RegExp(`^Service-Redact-Fields: .*limit is ${MOST}`));
});

test('half a million names are refused in their slot, and another account is served meanwhile', async (t) => {
  const rider = shared();
  const { token } = await rider.account('other');
  const receiver = await startReceiver(t);
  const element = (count: number) => ({
    destination: NOWHERE,
    headers: { 'Service-Redact-Fields': fields(count) },
  });
  const attack = rider.batch([element(500_000), element(1000)]);
  const id = await rider.published(receiver.url, { token });
  assert.equal((await rider.ended(id, token)).state, 'DELIVERED');
  const answer = await attack;
  assert.equal(answer.status, 400);
  const codes = answer.json<{ code: string }[]>().map(({ code }) => code);
  // The first is more than an element of a batch may be; the second is parsed.
  assert.deepEqual(codes, ['bad_body', 'bad_header']);
});
