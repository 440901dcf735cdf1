// What waits for its transaction: an account has its share of it, in messages and in bytes, and other accounts are
// accepted while the store is busy with what one account sent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeMax } from '../../../src/rules/limits/budgets.ts';
import { Pool } from '../../../src/runtime/collections/pool.ts';
import { StoreUnavailable } from '../../../src/store/ports/store.ts';
import { Inbox } from '../../../src/store/shared/inbox.ts';
import { message, messages } from '../../conformance/given.ts';
import { refusal, sharedRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const shared = sharedRider();
const MIB = 1024 * 1024;

function isUnavailable(reason: StoreUnavailable['reason']) {
  return (error: unknown) => error instanceof StoreUnavailable && error.reason === reason;
}

test('an account has half of the messages when it is alone, and another finds room beside it', async () => {
  const inbox = new Inbox();
  const gate = Promise.withResolvers<void>();
  const wait = () => gate.promise;
  const most = nodeMax('inboxMessages') / 2;
  const held = [inbox.hold(messages(most), wait)];
  await assert.rejects(inbox.hold([message()], wait), isUnavailable('share'));
  held.push(inbox.hold([message({ accountId: 'acc_other' })], wait));
  assert.equal(inbox.messages.used, most + 1);
  gate.resolve();
  await Promise.all(held);
  assert.equal(inbox.messages.used, 0);
  assert.equal(inbox.bytes.used, 0);
});

test('bytes have a share too; a body that many messages share counts once', async () => {
  const inbox = new Inbox(new Pool(1000), new Pool(100 * MIB));
  const gate = Promise.withResolvers<void>();
  const wait = () => gate.promise;
  const body = new Uint8Array(40 * MIB);
  const held = [inbox.hold([message({ body }), message({ body }), message({ body })], wait)];
  assert.equal(inbox.bytes.used, 40 * MIB);
  await assert.rejects(inbox.hold([message({ body })], wait), isUnavailable('share'));
  await assert.rejects(
    inbox.hold([message({ accountId: 'acc_other', body: new Uint8Array(70 * MIB) })], wait),
    isUnavailable('overloaded'),
  );
  assert.equal(inbox.messages.used, 3);
  gate.resolve();
  await Promise.all(held);
  assert.equal(inbox.bytes.used, 0);
});

test('what fails to be written waits no longer', async () => {
  const inbox = new Inbox();
  await assert.rejects(
    inbox.hold(messages(3), () => Promise.reject(new Error('not now'))),
    { message: 'not now' },
  );
  assert.equal(inbox.messages.used, 0);
});

test('over its share an account is told 429 and when to try again; another account is accepted and delivered', async (t) => {
  const rider = shared();
  const [attacker, other] = [await rider.account('many'), await rider.account('beside-the-many')];
  const receiver = await startReceiver(t);
  const endpoints = Array.from({ length: 100 }, (_, index) => ({ url: `http://127.0.0.1:9/${index}` }));
  await rider.manage('POST', '/v2/topics/wide/endpoints', { endpoints }, attacker.token);
  const elements = Array.from({ length: 45 }, () => ({ destination: 'wide', headers: { 'Service-Delay': '1d' } }));
  const attacks = Array.from({ length: 6 }, () => rider.batch(elements, { token: attacker.token }));
  const id = await rider.published(receiver.url, { token: other.token });
  assert.equal((await rider.ended(id, other.token)).state, 'DELIVERED');
  const answers = await Promise.all(attacks);
  const refused = answers.filter(({ status }) => status !== 201);
  assert.ok(refused.length > 0 && refused.length < answers.length, answers.map(({ status }) => status).join(' '));
  for (const answer of refused) {
    refusal(answer, 429, 'share_used');
    assert.equal(answer.headers['retry-after'], '1');
  }
  await waitFor('nothing to wait', async () =>
    /^postrider_pool_used\{pool="inboxMessages"\} 0$/m.test((await rider.call('GET', '/metrics')).text),
  );
});
