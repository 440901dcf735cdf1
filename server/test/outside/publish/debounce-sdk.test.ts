// The SDK with a debounce key: it adds no deduplication id of its own, and shows for how many messages one stands.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Postrider } from '../../../../sdk/src/postrider.ts';
import { ridersOfOneService } from '../../support/harness.ts';

const riderOf = ridersOfOneService();

test('publish and batch of the SDK take the place of the one that waits', async (t) => {
  const rider = await riderOf(t);
  const postrider = new Postrider({ baseUrl: rider.url, token: rider.token!, headerPrefix: 'Service-' });
  const url = 'http://127.0.0.1:1/';
  const given = { debounceKey: 'cart', debounce: '5s', debounceMax: '1m' } as const;
  const first = await postrider.publish({ url, body: 'one', ...given });
  const second = await postrider.publish({ url, body: 'two', ...given });
  assert.deepEqual([second.messageId, first.debounced, second.debounced], [first.messageId, 1, 2]);
  const results = await postrider.batch([
    { url, body: 'three', ...given },
    { url, body: 'plain' },
  ]);
  assert.deepEqual(results.length, 2);
  const message = await postrider.messages.get(first.messageId);
  assert.deepEqual([message?.debounceKey, message?.debounced, message?.body], ['cart', 3, 'three']);
});
