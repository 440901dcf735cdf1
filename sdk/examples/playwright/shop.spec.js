// With Playwright: npx playwright test. The service and the shop are fixtures, one of each for a test.

import { test as base, expect } from '@playwright/test';
import { startPostrider } from 'postrider-sdk/testing';
import { startShop } from '../shop.js';

const test = base.extend({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads which fixtures a fixture needs from its pattern
  postrider: async ({}, use) => {
    const postrider = await startPostrider();
    await use(postrider);
    await postrider.close();
  },
  shop: async ({ postrider }, use) => {
    const shop = await startShop(postrider.client);
    await use(shop);
    await shop[Symbol.asyncDispose]();
  },
});

test('a customer sees that the charge was given up', async ({ page, postrider, shop }) => {
  shop.isBankDown = true;
  await shop.order('o-1');
  await page.goto(shop.url);
  await expect(page.locator('#o-1')).toHaveText('o-1: accepted');
  await postrider.clock.advance('1h');
  await page.reload();
  await expect(page.locator('#o-1')).toHaveText('o-1: given up');
});
