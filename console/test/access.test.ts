// Who gets in, what they may do, and how they get out.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { IN_BROWSER_WITH_CURL, openPage, sharedBrowser } from './browser.ts';
import { type Service, sharedService, startService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const shell = promisify(execFile);

async function tokenWith(scopes: readonly ('publish' | 'read' | 'manage' | 'admin')[]) {
  const { client } = service();
  const { accountId } = await client.getAccount();
  return client.createToken({ accountId, name: 'test', scopes });
}

/** In production the page cannot know the token. It says so, and its commands work once TOKEN is set. */
async function checkCommands(page: Page, { url, client, token }: Service): Promise<void> {
  // Accepts, and sends nothing to example.com.
  await client.saveQueue({ queueName: 'hello', paused: true });
  for (const [path, answer] of [
    ['messages', /"messageId"/],
    ['topics', /"name":"orders"/],
    ['schedules', /"scheduleId"/],
  ] as const) {
    await page.goto(`${url}/console/${path}`);
    await page.getByText('export TOKEN=').waitFor();
    const command = await page.getByRole('group', { name: 'command' }).innerText();
    assert.ok(!command.includes(token));
    const { stdout } = await shell('sh', ['-c', command], { env: { ...process.env, TOKEN: token } });
    assert.match(stdout, answer, command);
  }
  // The root leads here too.
  await page.goto(url);
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
}

suite('access', IN_BROWSER_WITH_CURL, () => {
  test('the printed link opens signed in, and the token leaves the address bar', async () => {
    const { page, context } = await openPage(browser(), service().link);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    assert.doesNotMatch(page.url(), /#/);
    const [cookie] = await context.cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    assert.equal(await page.evaluate('document.cookie'), '');
    await page.reload();
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await context.close();
  });

  test('a wrong token is refused in words, a right one signs in and stays on the page that was asked for', async () => {
    const { page, context } = await openPage(browser(), `${service().url}/console/failures?x=1`);
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The token is not known, has expired or was revoked').waitFor();
    await page.getByLabel('Token').fill(service().token);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Failures' }).waitFor();
    assert.match(page.url(), /failures\?x=1$/);
    const copied = await context.cookies();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    assert.deepEqual(await context.cookies(), []);
    await page.reload();
    await page.getByLabel('Token').waitFor();
    await context.addCookies(copied);
    await page.reload();
    await page.getByLabel('Token').waitFor();
    await context.close();
  });

  test('a token that is revoked signs out by itself', async () => {
    const { token, tokenId, accountId } = await tokenWith(['read']);
    const { page, context } = await openPage(browser(), `${service().url}/console#t=${token}`);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await service().client.revokeToken(accountId, tokenId);
    await page
      .getByRole('alert')
      .getByText(/You were signed out/)
      .waitFor();
    await context.close();
  });

  test('a token with only the scope read sees everything and can change nothing', async () => {
    const { publish, sink, ended, url, client } = service();
    const dead = await publish(sink('status/500'), { settings: { Retries: '0' } });
    await ended(dead);
    const waiting = await publish(sink('ok'), { queue: 'seen', settings: { Delay: '1h' } });
    await client.addEndpoints('seen', [{ url: sink('ok') }]);
    const { token } = await tokenWith(['read']);
    const { page, context } = await openPage(browser(), `${url}/console#t=${token}`);
    await page.getByText('read only').waitFor();
    const disabled = async (path: string, ...names: string[]) => {
      await page.goto(`${url}/console/${path}`);
      for (const name of names) {
        const each = page.getByRole('button', { name, exact: true }).first();
        await each.waitFor();
        assert.equal(await each.isDisabled(), true, `${path}: ${name}`);
      }
    };
    await disabled(`messages/${dead}`, 'Retry', 'Retry with edits', 'Delete');
    await disabled(`messages/${waiting}`, 'Change', 'Cancel');
    await disabled('failures', 'Retry all');
    await disabled('queues', 'Pause');
    await disabled('topics/seen', 'Send to all endpoints', 'Save endpoints', 'Add endpoint');
    await disabled('send', 'Send');
    await disabled('bulk', 'Retry…');
    await page.goto(`${url}/console/settings`);
    await page.getByText('need a token with the scope “manage”').waitFor();
    await page.getByText('need a token with the scope “admin”').waitFor();
    await context.close();
  });

  test('a token without the scope read gets an error that says so', async () => {
    const { token } = await tokenWith(['publish']);
    const { page, context } = await openPage(browser(), `${service().url}/console#t=${token}`);
    await page
      .getByRole('alert')
      .getByText(/lacks the scope "read"/)
      .waitFor();
    await context.close();
  });

  test('a link asks before it replaces the signed-in token, also in an open page', async () => {
    const { url, link, client } = service();
    const other = await client.createAccount({ name: 'sender-of-the-link' });
    const made = await client.createToken({ accountId: other.id, name: 'bait', scopes: ['publish', 'read'] });
    const { page, context } = await openPage(browser(), link);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    const before = await context.cookies();
    const accountNow = async () => {
      const answer = await page.evaluate(
        "fetch('/v2/account', { headers: { 'X-Postrider-Console': '1' } }).then((answer) => answer.json())",
      );
      return (answer as { name: string }).name;
    };
    await page.goto(`${url}/console#t=${made.token}`);
    await page.getByRole('heading', { name: 'Switch to another account or token?' }).waitFor();
    assert.doesNotMatch(page.url(), /#/);
    await page.getByText('sender-of-the-link').waitFor();
    assert.deepEqual(await context.cookies(), before);
    await page.getByRole('button', { name: 'Stay signed in' }).click();
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    assert.equal(await accountNow(), 'dev');
    // In the open page only what stands behind # changes.
    await page.evaluate(`location.hash = '#t=${made.token}'`);
    await page.getByRole('heading', { name: 'Switch to another account or token?' }).waitFor();
    await page.getByRole('button', { name: 'Switch', exact: true }).click();
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    assert.equal(await accountNow(), 'sender-of-the-link');
    await context.close();
  });

  test('in production a link asks before it signs in', async () => {
    const production = await startService({ command: 'serve' });
    try {
      const { url, link } = production;
      const { page, context } = await openPage(browser(), link);
      await page.getByRole('heading', { name: 'Sign in with this link?' }).waitFor();
      assert.deepEqual(await context.cookies(), []);
      await page.getByText('default').waitFor();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByLabel('Token').waitFor();
      await page.goto(`${url}/console/failures#t=${production.token}`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Failures' }).waitFor();
      await page.goto(`${url}/console#t=${production.token}`);
      await page.getByRole('navigation', { name: 'Screens' }).waitFor();
      await checkCommands(page, production);
      await context.close();
    } finally {
      await production.close();
    }
  });
});
