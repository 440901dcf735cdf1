// A hundred thousand messages in one list: all of them can be reached, few are in the page, and it scrolls smoothly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage, sharedBrowser } from './browser.ts';
import { sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const MESSAGES = 100_000;
const BATCH = 1000;
/** A frame of 60 a second takes 17 ms; a machine that is busy with other tests gets some slack. */
const FRAME_MS_MEDIAN_MAX = 50;

test('a hundred thousand rows scroll smoothly', { timeout: 240_000 }, async () => {
  const { client, url, link } = service();
  const element = { destination: 'http://127.0.0.1:1/later', headers: { 'Service-Delay': '1d' } };
  for (let made = 0; made < MESSAGES; made += BATCH) await client.batch(new Array(BATCH).fill(element));
  const { page, context } = await openPage(browser(), link);
  await page.getByRole('table', { name: 'Messages' }).waitFor();
  await page.goto(`${url}/console/messages?state=CREATED`);
  await page.getByRole('row').nth(5).waitFor();
  // Down to the end, as fast as the pages come.
  const reached = await page.evaluate<number>(`new Promise((resolve) => {
    const list = document.querySelector('[role=rowgroup][tabindex]');
    const go = () => {
      list.scrollTop = list.scrollHeight;
      const rows = document.querySelectorAll('[role=row][aria-rowindex]');
      const last = Number(rows[rows.length - 1]?.getAttribute('aria-rowindex') ?? 0);
      if (last > ${MESSAGES}) resolve(last);
      else setTimeout(go, 10);
    };
    go();
  })`);
  assert.equal(reached, MESSAGES + 1);
  const scroll = () =>
    page.evaluate<{ median: number; rows: number }>(`new Promise((resolve) => {
    const list = document.querySelector('[role=rowgroup][tabindex]');
    const frames = [];
    let rows = 0;
    let last = performance.now();
    const step = (now) => {
      frames.push(now - last);
      last = now;
      list.scrollTop -= 1500;
      rows = Math.max(rows, document.querySelectorAll('[role=row][aria-rowindex]').length);
      if (frames.length < 90) requestAnimationFrame(step);
      else resolve({ median: frames.sort((a, b) => a - b)[45], rows });
    };
    requestAnimationFrame(step);
  })`);
  // The best of three: other tests may keep the machine busy.
  const runs = [await scroll(), await scroll(), await scroll()];
  const rows = Math.max(...runs.map((run) => run.rows));
  const median = Math.min(...runs.map((run) => run.median));
  assert.ok(rows < 80, `${rows} rows are in the page`);
  assert.ok(median < FRAME_MS_MEDIAN_MAX, `a frame takes ${median} ms`);
  await context.close();
});
