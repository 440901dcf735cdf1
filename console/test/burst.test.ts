// The live list when messages come faster than anybody can read, and when the service hangs: it shows the newest ones,
// counts each new one once, says when it is not live, and goes on by itself.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createClient } from 'postrider-sdk';
import { startProcess } from '../../server/test/support/process.ts';
import { waitFor } from '../../server/test/support/wait.ts';
import { IN_BROWSER, openPage, openScreen, sharedBrowser } from './browser.ts';
import { type Service, sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
/** Far more than one lookup reads. */
const BATCH = 500;
const ROUNDS = 4;

/** Publishes many messages at once. Returns their ids. */
async function publishMany({ client, sink }: Service, label: string): Promise<string[]> {
  const element = { destination: sink('ok?burst'), headers: { 'Service-Label': label } };
  const answer = (await client.batch(new Array(BATCH).fill(element))) as readonly { readonly messageId: string }[];
  return answer.map(({ messageId }) => messageId);
}

const topRow = (page: Page) =>
  page.evaluate<string>(
    "(document.querySelector('[role=row][aria-rowindex=\"2\"] a')?.getAttribute('href') ?? '').match(/msg_\\w+/)?.[0] ?? ''",
  );

const isLive = (page: Page) =>
  page.getByRole('button', { name: 'Pause live updates' }).getByText('Live', { exact: true }).waitFor();

suite('a burst', IN_BROWSER, () => {
  test('the newest rows are shown all the time, in two tabs, and the list says that it cannot show each', async () => {
    const { page, context, complaints } = await openScreen(browser(), service(), 'messages?label=fast');
    const other = await context.newPage();
    await other.goto(page.url());
    const tabs = [page, other];
    for (const tab of tabs) await isLive(tab);
    const said = page.getByText(/^[\d,]+\/s, showing the newest 200\./).waitFor();
    for (let round = 1; round <= ROUNDS; round += 1) {
      const ids = await publishMany(service(), 'fast');
      // Also while many of the rounds before are not delivered yet.
      for (const tab of tabs)
        await waitFor(`a message of round ${round} on top`, async () => ids.includes(await topRow(tab)));
    }
    await said;
    // Then the list is complete again, and says no more than that.
    for (const tab of tabs) {
      await tab.getByRole('row').filter({ hasText: 'Delivered' }).nth(5).waitFor();
      await tab.getByText(/showing the newest/).waitFor({ state: 'detached' });
      assert.equal(await tab.getByRole('button', { name: / new$/ }).count(), 0);
    }
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test('while somebody reads, each new message is counted once', async () => {
    const { publish, sink, client } = service();
    const first = await publish(sink('ok?burst'), { settings: { Label: 'counted' } });
    const { page, context } = await openScreen(browser(), service(), 'messages?label=counted');
    await isLive(page);
    await page.getByRole('row').filter({ hasText: 'burst' }).hover();
    // Announced alone: now it is known that the mouse is over the list.
    await publish(sink('ok?burst'), { settings: { Label: 'counted' } });
    await page.getByRole('button', { name: '1 new', exact: true }).waitFor();
    let last: string[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) last = await publishMany(service(), 'counted');
    await waitFor('the end of all deliveries', async () => {
      const { states } = await client.countMessages({ label: ['counted'] });
      return states.DELIVERED === ROUNDS * BATCH + 2;
    });
    // All events of those came before the one of this message.
    await publish(sink('ok?burst'), { settings: { Label: 'counted' } });
    const button = page.getByRole('button', { name: / new$/ });
    await waitFor('all of them announced', async () => (await button.innerText()).includes('2,002'));
    assert.equal((await button.innerText()).trim(), '2,002 new');
    assert.equal(await topRow(page), first);
    await button.click();
    await waitFor('the rows to be shown', async () => (await topRow(page)) !== first);
    assert.ok(!last.includes(await topRow(page)), 'the newest is the one that came after all');
    await context.close();
  });
});

test(
  'while the service hangs, the list says since when it is not live, and goes on by itself after that',
  IN_BROWSER,
  async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'postrider-hang-'));
    const started = startProcess(t, ['dev', '--host', '127.0.0.1', '--port', '0', '--data', data, '--json']);
    t.after(() => rmSync(data, { recursive: true, force: true, maxRetries: 5 }));
    const { api, token = 'dev_postrider' } = await started.ready();
    const client = createClient({ baseUrl: api, token });
    const { page, context } = await openPage(browser(), `${api}/console#t=${token}`);
    t.after(() => context.close());
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    const other = await context.newPage();
    await other.goto(`${api}/console/messages`);
    for (const tab of [page, other]) await isLive(tab);
    started.signal('SIGSTOP');
    try {
      for (const tab of [page, other]) {
        const button = tab.getByRole('button', { name: 'Pause live updates' });
        await button.getByText(/Not live since \d/).waitFor();
        assert.equal(await button.getByText('Live', { exact: true }).count(), 0);
      }
    } finally {
      started.signal('SIGCONT');
    }
    for (const tab of [page, other]) await isLive(tab);
    await client.publish({ url: `${api}/dev/sink/ok?after=the-pause` });
    for (const tab of [page, other]) await tab.getByRole('row').filter({ hasText: 'after=the-pause' }).waitFor();
  },
);
