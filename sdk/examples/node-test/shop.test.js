// With the test runner of Node.js: node --test

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPostrider } from 'postrider-sdk/testing';
import { startShop } from '../shop.js';

// One service for all tests of the file. For one test only: await using postrider = await startPostrider();
let postrider;
before(async () => {
  postrider = await startPostrider();
});
after(() => postrider.close());

test('a charge is retried after 1 s, 7.4 s and 55 s, then given up with a failure callback', async () => {
  await using shop = await startShop(postrider.client);
  const { clock } = postrider;
  const orderedAt = await clock.now();
  shop.isBankDown = true;
  await shop.order('o-1');
  const order = shop.orders.get('o-1');

  await clock.advance('599s');
  assert.equal(shop.asked, 0, 'a customer has ten minutes');

  await clock.advance('1s');
  assert.equal(shop.asked, 1);
  assert.equal(order.state, 'accepted');

  await clock.advance('2m');
  assert.equal(shop.asked, 4);
  assert.equal(order.state, 'given up');

  // The retries came at their own times within these two minutes, to the millisecond.
  const { attempts } = await postrider.client.messages.get(order.messageId);
  const firstAt = orderedAt + 600_000;
  const afterMs = attempts.map(({ startedAt }) => startedAt - firstAt);
  assert.deepEqual(afterMs, [0, 1000, 1000 + 7390, 1000 + 7390 + 54_599]);
});

test('a charge that succeeds in the second try is not given up', async () => {
  await using shop = await startShop(postrider.client);
  shop.isBankDown = true;
  await shop.order('o-2');
  await postrider.clock.advance('10m');
  shop.isBankDown = false;
  await postrider.clock.advance('1d');
  assert.equal(shop.asked, 2);
  assert.equal(shop.orders.get('o-2').state, 'charged');
});
