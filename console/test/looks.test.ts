// What everybody needs: both themes, a phone, a keyboard, an assistive technology, a proxy with a path of its own, and a
// small download.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { waitFor } from '../../server/test/support/wait.ts';
import { DESKTOP, IN_BROWSER_WITH_CURL, openPage, PHONE, sharedBrowser } from './browser.ts';
import { sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DIST = join(import.meta.dirname, '..', 'dist');
const shell = promisify(execFile);
const GZIPPED_BYTES_MAX = 250 * 1024;

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

async function seriousProblems(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResult>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

/** Everything has come that a screen asks for at first. */
const isShown = (page: Page) =>
  waitFor('the screen', () =>
    page.evaluate<boolean>(
      "document.querySelector('main h1') !== null && !document.querySelector('main .loading, aside .loading')",
    ),
  );

suite('looks', IN_BROWSER_WITH_CURL, () => {
  let paths: readonly string[] = [];
  before(async () => {
    const { publish, sink, ended, client } = service();
    const delivered = await publish(sink('ok'), { queue: 'q', body: '{"a":[1,"two",null]}', settings: { Label: 'l' } });
    const retrying = await publish(sink('fail?times=9'), { settings: { 'Retry-Delay': '600000' } });
    const dead = await publish(sink('status/500'), { settings: { Retries: '0' } });
    await ended(delivered);
    await ended(dead);
    await publish(sink('ok'), { queue: 'q', settings: { Delay: '1h' } });
    await client.addEndpoints('news', [{ url: sink('ok') }]);
    await client.createSchedule({ destination: sink('ok'), settings: { Cron: '0 9 * * *', 'Schedule-Id': 's' } });
    await client.runSchedule('s');
    await client.startBulk('cancel', { label: ['none'] }, 1);
    const screens = [
      'messages',
      'failures',
      'topics',
      'topics/news',
      'overview',
      'queues?queue=q',
      'hosts',
      'audit',
      'send',
      'schedules?schedule=s',
      'bulk',
      'settings',
      'sink',
    ];
    paths = [...screens, ...[delivered, retrying, dead].map((id) => `messages/${id}`)];
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`axe finds nothing serious, ${colorScheme}`, async () => {
      // Only so that axe can be put into the page; the policy itself is held by the other tests.
      const { page, context } = await openPage(browser(), service().link, { bypassCSP: true, colorScheme });
      await page.getByRole('table', { name: 'Messages' }).waitFor();
      const problems: string[] = [];
      for (const path of paths) {
        await page.goto(`${service().url}/console/${path}`);
        await page.getByRole('main').waitFor();
        await isShown(page);
        problems.push(...(await seriousProblems(page)).map((each) => `${path}: ${each}`));
      }
      assert.equal(await page.evaluate('document.documentElement.dataset.theme'), colorScheme);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Go to' }).waitFor();
      problems.push(...(await seriousProblems(page)).map((each) => `palette: ${each}`));
      assert.deepEqual(problems, []);
      await context.close();
    });
  }

  test('axe finds nothing serious on the sign-in page', async () => {
    const { page, context } = await openPage(browser(), `${service().url}/console/`, { bypassCSP: true });
    await page.getByLabel('Token').waitFor();
    assert.deepEqual(await seriousProblems(page), []);
    await context.close();
  });

  test('a chosen theme is kept', async () => {
    const { page, context } = await openPage(browser(), service().link, { colorScheme: 'light' });
    const theme = () => page.evaluate('document.documentElement.dataset.theme');
    await page.getByRole('button', { name: 'Dark theme' }).click();
    assert.equal(await theme(), 'dark');
    await page.reload();
    await page.getByRole('button', { name: 'Light theme' }).waitFor();
    assert.equal(await theme(), 'dark');
    await context.close();
  });

  test('every screen fits a phone: no horizontal overflow, and the menu reaches every screen', async () => {
    const { page, context, complaints } = await openPage(browser(), service().link, { viewport: PHONE });
    await page.getByRole('table', { name: 'Messages' }).waitFor();
    for (const path of paths) {
      await page.goto(`${service().url}/console/${path}`);
      await page.getByRole('main').waitFor();
      await isShown(page);
      const tooWide = await page.evaluate(
        `[...document.querySelectorAll('main *, aside *')].filter((each) => { const box = each.getBoundingClientRect(); return box.width > 0 && box.right > innerWidth + 1 && !each.closest('[class*=overflow-x-auto], [class*=overflow-auto], .truncate, .sr-only'); }).map((each) => each.outerHTML.slice(0, 120)).slice(0, 3)`,
      );
      assert.deepEqual(tooWide, [], path);
    }
    await page.goto(`${service().url}/console/messages`);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Topics' }).click();
    await page.waitForURL(/topics$/);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('a message can be opened and closed with the keyboard alone', async () => {
    const { page, context } = await openPage(browser(), service().link);
    await page.getByRole('row').nth(2).waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(/messages\/msg_/);
    const first = page.url();
    await page.keyboard.press('j');
    await page.waitForURL((url) => url.href !== first);
    await page.keyboard.press('k');
    await page.waitForURL(first);
    await page.keyboard.press('Escape');
    await page.waitForURL(/messages$/);
    await page.keyboard.press('/');
    assert.equal(await page.evaluate('document.activeElement.id'), 'search');
    await context.close();
  });

  test('the console works behind a proxy that serves it under a path', async (t) => {
    const target = new URL(service().url);
    const proxy = createServer((request, response) => {
      const path = request.url?.replace(/^\/tools\/post(?=\/)/, '') ?? '/';
      const { host: _host, ...headers } = request.headers;
      const passed = httpRequest(
        {
          host: target.hostname,
          port: target.port,
          path,
          method: request.method,
          headers: { ...headers, host: target.host },
        },
        (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(passed);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    t.after(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/post`;
    const { page, context, complaints } = await openPage(browser(), `${base}/console#t=${service().token}`);
    await page.getByRole('table', { name: 'Messages' }).waitFor();
    assert.equal(page.url(), `${base}/console/messages`);
    await page.getByRole('button', { name: 'Pause live updates' }).getByText('Live').waitFor();
    await page.getByRole('row').nth(1).getByRole('link').click();
    await page.reload();
    await page.getByRole('complementary', { name: 'Message' }).getByText('Timeline').waitFor();
    await page.goto(`${base}/`);
    await page.waitForURL(`${base}/console/messages`);
    await page.goto(`${base}/docs`);
    assert.match(
      await page.locator('#post-publish pre').first().innerText(),
      new RegExp(`curl -X POST ${base}/v2/publish/`),
    );
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('the docs page: contents, search, examples that run, both themes, a phone', async () => {
    const url = `${service().url}/docs`;
    for (const [colorScheme, viewport] of [
      ['light', DESKTOP],
      ['dark', PHONE],
    ] as const) {
      const { page, context } = await openPage(browser(), url, { bypassCSP: true, colorScheme, viewport });
      // Everything is made in the same few ways, and axe would take half a minute for all of it.
      const repeated = '#queues ~ section:not(#errors), #messages, article ~ article, nav li li ~ li, tr ~ tr ~ tr';
      await page.evaluate(`for (const each of document.querySelectorAll('${repeated}')) each.remove()`);
      assert.deepEqual(await seriousProblems(page), [], colorScheme);
      await context.close();
    }
    const { page, context, complaints, strangers } = await openPage(browser(), url, { viewport: PHONE });
    // On a phone the contents are closed at first, and nothing is wider than the screen.
    await page.getByText('Contents').click();
    await page.getByRole('navigation').getByRole('link', { name: 'GET queues', exact: true }).click();
    assert.match(page.url(), /#get-queues$/);
    assert.ok(await page.locator('#get-queues').isVisible());
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width);
    // Names of headers are found, also where they are folded away.
    await page.keyboard.press('/');
    await page.keyboard.type('flow-control-value');
    await page.getByText('3 calls').waitFor();
    assert.ok(await page.getByRole('cell', { name: 'Service-Flow-Control-Value' }).first().isVisible());
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox').fill('pause a queue no more messages');
    await page.getByText('1 call').waitFor();
    // The example is the command of this service, and works as it is pasted.
    await service().client.saveQueue({ queueName: 'orders' });
    const { stdout } = await shell('sh', ['-c', await page.locator('article:visible pre').first().innerText()]);
    assert.match(stdout, /"name":"orders".*"paused":true/);
    assert.deepEqual([complaints, strangers], [[], []]);
    await context.close();
  });
});

test('the compressed console is smaller than 250 KB', () => {
  const files = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(files.length > 3, 'the console is not built');
  const bytes = files.reduce(
    (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name)), { level: 9 }).length,
    0,
  );
  assert.ok(bytes <= GZIPPED_BYTES_MAX, `${bytes} bytes`);
});
