// A hundred thousand messages in one list: all of them can be reached, few are in the page, and it scrolls smoothly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IN_BROWSER, openPage, sharedBrowser } from './browser.ts';
import { sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const MESSAGES = 100_000;
const BATCH = 1000;
const FRAMES = 90;
/** What a frame may cost, in work and not in time, which says more of the machine than of the list. */
const ROWS_MAX = 80;
const LAYOUTS_PER_FRAME_MAX = 3;

test('a hundred thousand rows scroll smoothly', { ...IN_BROWSER, timeout: 480_000 }, async () => {
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
  const devtools = await context.newCDPSession(page);
  await devtools.send('Performance.enable');
  const layouts = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'LayoutCount')?.value ?? Number.NaN;
  };
  const layoutsBefore = await layouts();
  const { rows, blankFrames } = await page.evaluate<{ rows: number; blankFrames: number }>(`new Promise((resolve) => {
    const list = document.querySelector('[role=rowgroup][tabindex]');
    const seen = { rows: 0, blankFrames: 0 };
    let frames = 0;
    const step = () => {
      const box = list.getBoundingClientRect();
      const middle = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      if (!middle?.closest('[role=row][aria-rowindex]')) seen.blankFrames += 1;
      seen.rows = Math.max(seen.rows, document.querySelectorAll('[role=row][aria-rowindex]').length);
      frames += 1;
      if (frames > ${FRAMES}) resolve(seen);
      else {
        list.scrollTop -= 1500;
        requestAnimationFrame(() => requestAnimationFrame(step));
      }
    };
    step();
  })`);
  const layoutsPerFrame = ((await layouts()) - layoutsBefore) / FRAMES;
  assert.ok(rows < ROWS_MAX, `${rows} rows are in the page`);
  assert.ok(layoutsPerFrame < LAYOUTS_PER_FRAME_MAX, `${layoutsPerFrame} layouts for each step`);
  // A frame or two may be lost to other work on the machine.
  assert.ok(blankFrames <= 2, `${blankFrames} of ${FRAMES} frames were shown without their rows`);
  await context.close();
});
