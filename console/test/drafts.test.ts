// What somebody has typed stays: when another part of the page is saved, and when the session ends meanwhile.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { waitFor } from '../../server/test/support/wait.ts';
import { IN_BROWSER, noticed, openPage, sharedBrowser } from './browser.ts';
import { sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const ALL_SCOPES = ['publish', 'read', 'manage', 'admin'] as const;

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function makeToken(scopes: readonly (typeof ALL_SCOPES)[number][] = ALL_SCOPES) {
  const { client } = service();
  const { accountId } = await client.getAccount();
  return client.createToken({ accountId, name: 'drafts', scopes });
}

async function signedInWith(token: string): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  const opened = await openPage(browser(), `${service().url}/console#t=${token}`);
  await opened.page.getByRole('navigation', { name: 'Screens' }).waitFor();
  return opened;
}

async function signInAgain(page: Page, token: string): Promise<void> {
  await page
    .getByRole('alert')
    .getByText(/You were signed out/)
    .waitFor();
  // Nothing of the session before is on the page, and the keyboard does not reach it.
  assert.equal(await page.getByRole('navigation', { name: 'Screens' }).count(), 0);
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
}

suite('drafts of a topic', IN_BROWSER, () => {
  test('saving the settings of a topic keeps the unsaved endpoints, and the other way round', async () => {
    const { client, sink, url, link } = service();
    await client.addEndpoints('kept', [{ url: sink('ok?1') }]);
    const { page, context, complaints } = await openPage(browser(), link);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await page.goto(`${url}/console/topics/kept`);
    await button(page, 'Add endpoint').click();
    await page.getByLabel('URL of endpoint 2').fill(sink('ok?2'));
    await button(page, 'Add setting').click();
    await page.getByLabel('Name of setting 1').fill('Retries');
    await page.getByLabel('Value of Retries').fill('1');
    await button(page, 'Save settings').click();
    await noticed(page, 'Default settings saved');
    await waitFor('nothing to save', () => button(page, 'Save settings').isDisabled());
    assert.equal(await page.getByLabel('URL of endpoint 2').inputValue(), sink('ok?2'));
    assert.equal((await client.getTopic('kept')).endpoints.length, 1);
    // Now a draft of the settings, while the endpoints are saved.
    await page.getByLabel('Value of Retries').fill('2');
    await button(page, 'Save endpoints').click();
    await noticed(page, 'Topic “kept” is saved');
    await page.getByText('Endpoints · 2').waitFor();
    assert.equal(await page.getByLabel('Value of Retries').inputValue(), '2');
    const topic = await client.getTopic('kept');
    assert.deepEqual(
      topic.endpoints.map((each) => each.url),
      [sink('ok?1'), sink('ok?2')],
    );
    assert.deepEqual(topic.headers, { 'Service-Retries': '1' });
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('what somebody else saves is shown, and a draft that would replace it says so', async () => {
    const { client, sink, url, link } = service();
    await client.addEndpoints('shared', [{ url: sink('ok?1') }]);
    const { page, context } = await openPage(browser(), link);
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await page.goto(`${url}/console/topics/shared`);
    await page.getByLabel('URL of endpoint 1').fill(sink('ok?mine'));
    await client.changeTopic('shared', { endpoints: [{ url: sink('ok?theirs') }] });
    // Any action reads the page again.
    await button(page, 'Send to all endpoints').click();
    await page.getByText('The saved endpoints were changed elsewhere').waitFor();
    assert.equal(await page.getByLabel('URL of endpoint 1').inputValue(), sink('ok?mine'));
    await button(page, 'Undo').click();
    assert.equal(await page.getByLabel('URL of endpoint 1').inputValue(), sink('ok?theirs'));
    await context.close();
  });
});

suite('drafts and the end of a session', IN_BROWSER, () => {
  test('a message that is being written is still there after signing in again, and is sent', async () => {
    const { client, sink, url } = service();
    const { token, tokenId, accountId } = await makeToken();
    const { page, context, complaints } = await signedInWith(token);
    await page.goto(`${url}/console/send`);
    await page.getByLabel(/^Destination/).fill(sink('ok?draft'));
    await page.getByLabel('Body').fill('half an hour of work');
    await button(page, 'Add setting').click();
    await page.getByLabel('Name of setting 1').fill('Label');
    await page.getByLabel('Value of Label').fill('kept-draft');
    // The reads go on as before: it is the action that finds out.
    await page.route('**/v2/overview*', () => {});
    await client.revokeToken(accountId, tokenId);
    await button(page, 'Send').click();
    await signInAgain(page, (await makeToken()).token);
    assert.equal(await page.getByLabel('Body').inputValue(), 'half an hour of work');
    assert.equal(await page.getByLabel('Value of Label').inputValue(), 'kept-draft');
    await button(page, 'Send').click();
    await page.getByRole('list', { name: 'What was sent' }).getByText('Delivered').waitFor();
    const { messages } = await client.listMessages({ label: ['kept-draft'] });
    assert.equal(messages.length, 1);
    assert.equal((await client.getMessage(messages[0]!.messageId)).body, 'half an hour of work');
    // Kept in the memory of the tab, and nowhere else.
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(localStorage)'), /half an hour|post|dev_/);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('a draft in a dialog and one of a topic are kept as well, and the list goes on live', async () => {
    const { client, sink, url, publish, ended } = service();
    await client.addEndpoints('signed-out', [{ url: sink('ok?1') }]);
    const dead = await publish(sink('status/500?dialog'), { settings: { Retries: '0' } });
    await ended(dead);
    const first = await makeToken();
    const { page, context } = await signedInWith(first.token);
    await page.goto(`${url}/console/messages/${dead}`);
    await button(page, 'Retry with edits').click();
    const dialog = page.getByRole('dialog', { name: 'Retry with edits' });
    await dialog.getByLabel('Body').fill('edited in the dialog');
    // Noticed by a read.
    await client.revokeToken(first.accountId, first.tokenId);
    const second = await makeToken();
    await signInAgain(page, second.token);
    assert.equal(await dialog.getByLabel('Body').inputValue(), 'edited in the dialog');
    await dialog.getByRole('button', { name: 'Keep as it is' }).click();
    await dialog.waitFor({ state: 'detached' });
    await button(page, 'Close').click();
    await page.getByRole('button', { name: 'Pause live updates' }).getByText('Live', { exact: true }).waitFor();
    await publish(sink('ok?after=sign-in'));
    await page.getByRole('row').filter({ hasText: 'after=sign-in' }).waitFor();
    await page.goto(`${url}/console/topics/signed-out`);
    await page.getByLabel('URL of endpoint 1').fill(sink('ok?changed'));
    await client.revokeToken(second.accountId, second.tokenId);
    await signInAgain(page, (await makeToken()).token);
    assert.equal(await page.getByLabel('URL of endpoint 1').inputValue(), sink('ok?changed'));
    await context.close();
  });

  test('a draft is not shown to another account, to a token with fewer rights, or after signing out', async () => {
    const { client, url } = service();
    const stranger = await client.createAccount({ name: 'stranger' });
    const other = await client.createToken({ accountId: stranger.id, name: 'other', scopes: ALL_SCOPES });
    for (const next of [other.token, (await makeToken(['publish', 'read'])).token, null]) {
      const { token, tokenId, accountId } = await makeToken();
      const { page, context } = await signedInWith(token);
      await page.goto(`${url}/console/send`);
      await page.getByLabel('Body').fill('for my eyes only');
      if (next === null) {
        await button(page, 'Sign out').click();
        await page.getByLabel('Token').fill(token);
        await page.keyboard.press('Enter');
      } else {
        await client.revokeToken(accountId, tokenId);
        await signInAgain(page, next);
      }
      await page.getByRole('heading', { name: 'Send' }).waitFor();
      assert.equal(await page.getByLabel('Body').inputValue(), '{"hello":"world"}');
      await context.close();
    }
  });
});
