// With Vitest: npx vitest run

import { startPostrider } from 'postrider-sdk/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startShop } from '../shop.js';

let postrider;
let shop;

beforeAll(async () => {
  postrider = await startPostrider();
  shop = await startShop(postrider.client);
});

afterAll(async () => {
  await shop?.[Symbol.asyncDispose]();
  await postrider?.close();
});

test('a charge is given up when the bank is down for too long', async () => {
  shop.isBankDown = true;
  await shop.order('o-1');
  await postrider.clock.advance('10m');
  expect(shop.asked).toBe(1);
  await postrider.clock.advance('1h');
  expect(shop.asked).toBe(4);
  expect(shop.orders.get('o-1').state).toBe('given up');
});

test('a charge succeeds when the bank is back', async () => {
  shop.isBankDown = true;
  await shop.order('o-2');
  await postrider.clock.advance('10m');
  shop.isBankDown = false;
  await postrider.clock.advance('1s');
  expect(shop.orders.get('o-2').state).toBe('charged');
});
