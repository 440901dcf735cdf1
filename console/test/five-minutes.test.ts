// The first five minutes of a newcomer, as one walk: the server is started as the README says, its printed link is
// opened, its printed command is run, a message is made to fail and retried, and a topic is made and sent to.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startProcess } from '../../server/test/support/process.ts';
import { IN_BROWSER_WITH_CURL, openPage, sharedBrowser } from './browser.ts';

const browser = sharedBrowser();
const shell = promisify(execFile);
const EMPTY_PAGES = [
  ['Queues', 'Deliver in order', /"messageId"/],
  ['Topics', 'One message, many receivers', /"name":"orders"/],
  ['Schedules', 'Deliver at regular times', /"scheduleId"/],
] as const;
const FIVE_MINUTES_MS = 5 * 60_000;

test('a new user sees a message arrive, fixes a failed one, and sends to a topic', {
  ...IN_BROWSER_WITH_CURL,
  timeout: FIVE_MINUTES_MS,
}, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'postrider-newcomer-'));
  t.after(() => rmSync(data, { recursive: true, force: true, maxRetries: 5 }));
  const server = startProcess(t, ['dev', '--port', '0', '--data', data, '--log-level', 'silent']);
  await server.prints('stdout', /"world"/);
  const link = /Console {2}(\S+)/.exec(server.stdout)?.[1];
  const printed = /Try {6}(curl [\s\S]+)$/.exec(server.stdout)?.[1];
  assert.ok(link && printed, server.stdout);
  const run = (command: string) => shell('sh', ['-c', command]);

  // The page is empty, and says what to do.
  const { page, complaints, strangers, context } = await openPage(browser(), link, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const go = (name: string) => page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }).click();
  await page.getByText('Send your first message').waitFor();
  await page.getByRole('button', { name: 'Copy command' }).click();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.match(copied, /^curl -X POST/);

  // What is printed works, and so does what the page says; both arrive while one looks.
  const before = Date.now();
  await run(printed);
  const row = page.getByRole('row').filter({ hasText: '/dev/sink/ok' });
  await row.getByText('Delivered').waitFor();
  assert.ok(Date.now() - before < 10_000, 'it took too long to arrive');
  await run(copied);
  await row.nth(1).waitFor();
  await row.first().getByRole('link').click();
  const drawer = page.getByRole('complementary', { name: 'Message' });
  await drawer.getByText('"hello"').waitFor();
  await page.keyboard.press('Escape');

  // The built-in receiver shows it too, with its signature checked.
  await go('Sink');
  await page.getByText('signature verified').first().waitFor();

  // The root, as people type it, leads to the console.
  await page.goto(new URL('/', page.url()).href);
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();

  // One that fails lands in Failures, where a command makes one; one click sends it again.
  await go('Failures');
  await page.getByText('Nothing has failed').waitFor();
  await run(await page.getByRole('group', { name: 'command' }).innerText());
  const group = page.getByRole('article', { name: /1 message to .*503/ });
  await group.waitFor();
  await group.getByRole('link', { name: 'List' }).click();
  await page.getByRole('row').filter({ hasText: 'status/503' }).getByRole('link').click();
  const failed = page.url();
  await drawer.getByText('Failed: kept as a dead letter').waitFor();
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  await page.waitForURL((url) => url.href !== failed);
  await drawer.getByText('created by').waitFor();

  // Every other page that has nothing yet shows a command, which works as it is pasted and fills the page.
  const { origin } = new URL(page.url());
  await run(`curl -X DELETE '${origin}/v2/queues/hello?force=true' -H 'Authorization: Bearer dev_postrider'`);
  for (const [screen, empty, answer] of EMPTY_PAGES) {
    await go(screen);
    await page.getByText(empty).waitFor();
    const { stdout } = await run(await page.getByRole('group', { name: 'command' }).innerText());
    assert.match(stdout, answer, screen);
    await page.getByText(empty).waitFor({ state: 'hidden' });
  }

  // Two endpoints in a new topic: one message, two rows.
  await go('Topics');
  await page.getByRole('button', { name: 'New topic' }).click();
  await page.getByLabel('Name').fill('news');
  await page.getByLabel(/^Endpoints/).fill(`${origin}/dev/sink/ok?first\n${origin}/dev/sink/ok?second`);
  await page.getByRole('button', { name: 'Create topic' }).click();
  await page.getByRole('button', { name: 'Send to all endpoints' }).click();
  const sent = page.getByRole('list', { name: 'What was sent' });
  await sent.getByText('Delivered').nth(1).waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Messages' }).click();
  await page.getByRole('row').filter({ hasText: 'ok?first' }).waitFor();
  await page.getByRole('row').filter({ hasText: 'ok?second' }).waitFor();

  assert.deepEqual(complaints, []);
  assert.deepEqual(strangers, []);
  await context.close();
});
