// The main action of every screen, in a real browser against a real service with real deliveries.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { acknowledge } from 'postrider-sdk';
import { startReceiver } from '../../server/test/support/receiver.ts';
import { waitFor } from '../../server/test/support/wait.ts';
import { IN_BROWSER, noticed, openPage, openScreen, sharedBrowser } from './browser.ts';
import { type Service, sharedService, startService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const LIVE_TRIES_MAX = 30;
const NO_RETRY = { settings: { Retries: '0' } };

/** Opens a screen signed in, lets the test act, and requires that the page had nothing to complain about. */
async function onScreen(path: string, act: (page: Page, service: Service) => Promise<void>): Promise<void> {
  const opened = await openScreen(browser(), service(), path);
  try {
    await act(opened.page, service());
    assert.deepEqual(opened.complaints, []);
    assert.deepEqual(opened.strangers, []);
  } finally {
    await opened.context.close();
  }
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });

suite('the screens', IN_BROWSER, () => {
  test('messages appear live within a second and are updated in place', () =>
    onScreen('messages', async (page, { publish, sink }) => {
      await page.getByRole('button', { name: 'Pause live updates' }).getByText('Live').waitFor();
      // The best of many: other tests may keep the machine busy.
      const tookMs: number[] = [];
      let id = '';
      let n = 0;
      while (n < 3 || (n < LIVE_TRIES_MAX && Math.min(...tookMs) >= 1000)) {
        n += 1;
        const before = Date.now();
        id = await publish(sink(`ok?live=${n}`), { queue: 'live' });
        await page
          .getByRole('row')
          .filter({ hasText: `/dev/sink/ok?live=${n}` })
          .waitFor();
        tookMs.push(Date.now() - before);
      }
      assert.ok(Math.min(...tookMs) < 1000, tookMs.join());
      const row = page.getByRole('row').filter({ hasText: `/dev/sink/ok?live=${n}` });
      await row.getByText('Delivered').waitFor();
      await row.getByRole('link').click();
      await page.getByRole('complementary', { name: 'Message' }).getByText(id).waitFor();
      assert.match(page.url(), new RegExp(`/console/messages/${id}$`));
    }));

  test('while the mouse is over the list, new messages are announced and move nothing', () =>
    onScreen('messages', async (page, { publish, sink, ended }) => {
      await ended(await publish(sink('ok?under=the-mouse')));
      // With all that it will say, so that nothing else can change its place.
      const row = page.getByRole('row').filter({ hasText: 'under=the-mouse' }).filter({ hasText: 'Delivered' });
      await row.waitFor();
      await row.hover();
      const announced = page.getByRole('button', { name: /^\d+ new$/ });
      const announcedCount = async () => Number.parseInt((await announced.textContent()) ?? '', 10);
      await publish(sink('ok?came=later'));
      // Now it is known that the mouse is over the list. More than that may be announced, from elsewhere.
      await announced.waitFor();
      // The button lies over the list: a mouse that is over the button is still over the list.
      await announced.hover();
      const [place, before] = [await row.boundingBox(), await announcedCount()];
      await publish(sink('ok?came=later'));
      await waitFor('one more announced', async () => (await announcedCount()) > before);
      assert.deepEqual(await row.boundingBox(), place);
      assert.equal(await page.getByRole('row').filter({ hasText: 'came=later' }).count(), 0);
      // More may have come since, from elsewhere.
      await announced.click();
      await page.getByRole('row').filter({ hasText: 'came=later' }).first().waitFor();
    }));

  test('while live updates are paused, nothing changes', () =>
    onScreen('messages', async (page, { publish, sink, ended }) => {
      await page.getByRole('table', { name: 'Messages' }).waitFor();
      await button(page, 'Pause live updates').click();
      await button(page, 'Resume live updates').getByText('Paused').waitFor();
      await ended(await publish(sink('ok?while=paused')));
      // A list that is not paused shows it.
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByRole('row').filter({ hasText: 'while=paused' }).waitFor();
      await other.close();
      assert.equal(await page.getByRole('row').filter({ hasText: 'while=paused' }).count(), 0);
      await button(page, 'Resume live updates').click();
      await page.getByRole('row').filter({ hasText: 'while=paused' }).waitFor();
    }));

  test('filters are in the address: they survive a reload, going back, and being shared', () =>
    onScreen('messages', async (page, { publish, sink, ended }) => {
      await ended(await publish(sink('status/500?of=filters'), NO_RETRY));
      await ended(await publish(sink('ok?of=filters'), { settings: { Label: 'wanted' } }));
      await page.getByRole('searchbox', { name: 'Search messages' }).fill('label:wanted of=filters');
      await page.keyboard.press('Enter');
      await page.getByRole('list', { name: 'Filters' }).getByText('wanted').waitFor();
      await page.getByRole('row').filter({ hasText: '/dev/sink/status/500?of=filters' }).waitFor({ state: 'detached' });
      const rows = page.getByRole('row').filter({ hasText: 'of=filters' });
      // While the list is being loaded, it has no rows.
      await rows.first().waitFor();
      assert.equal(await rows.count(), 1);
      assert.match(page.url(), /\?(?=.*label=wanted)(?=.*text=of%3Dfilters)/);
      await page.reload();
      await rows.first().waitFor();
      assert.equal(await rows.count(), 1);
      assert.equal(await page.getByRole('searchbox').inputValue(), 'of=filters');
      await button(page, /^Failed/).click();
      await page.getByText('No message matches').waitFor();
      await page.goBack();
      await rows.first().waitFor();
      assert.doesNotMatch(page.url(), /state=/);
      await page.goForward();
      await page.getByText('No message matches').waitFor();
      await button(page, 'Remove filter label wanted').click();
      await page.getByRole('row').filter({ hasText: '/dev/sink/status/500?of=filters' }).waitFor();
    }));

  test('a message shows its timeline, and why it is not delivered yet', () =>
    onScreen('messages', async (page, { publish, sink, url }) => {
      const id = await publish(sink('fail?times=1'), {
        body: '{"big":9007199254740993,"deep":{"a":[1.50]}}',
        settings: { 'Retry-Delay': '3600000', Callback: sink('ok?callback') },
      });
      await page.goto(`${url}/console/messages/${id}`);
      const drawer = page.getByRole('complementary', { name: 'Message' });
      await drawer.getByText('Waiting for the next attempt').waitFor();
      await drawer.getByText('9007199254740993').waitFor();
      await drawer.getByText('1.50').waitFor();
      await drawer.getByText('Attempt 1', { exact: true }).waitFor();
      await drawer.getByRole('progressbar', { name: 'Wait before the next attempt' }).waitFor();
      await drawer.getByText('callback http').waitFor();
      await button(page, 'Deliver now').click();
      await drawer.getByText('Attempt 2', { exact: true }).waitFor();
      await drawer.getByText(/after it was accepted/).waitFor();
      await drawer.getByRole('tab', { name: 'Last response' }).click();
      await drawer.getByRole('tabpanel').getByText('"sink"').waitFor();
    }));

  test('a debounced message shows how many publishes it has merged', () =>
    onScreen('messages', async (page, { publish, sink, url }) => {
      const settings = { 'Debounce-Key': 'cart 7', Debounce: '1h' };
      let id = '';
      for (const body of ['one', 'two', 'three']) id = await publish(sink('ok?debounced'), { body, settings });
      await page.goto(`${url}/console/messages/${id}`);
      const drawer = page.getByRole('complementary', { name: 'Message' });
      const fact = (name: string, value: string) => drawer.getByText(new RegExp(`^${name}\\s*${value}$`)).first();
      await fact('debounce key', 'cart 7').waitFor();
      await fact('publishes merged', '3').waitFor();
      await drawer.getByText('three', { exact: true }).waitFor();
    }));

  test('a message shows its priority, its expiry and what it does while its host is down; a queue shows what it gives', () =>
    onScreen('messages', async (page, { publish, sink, url, client }) => {
      const settings = { Delay: '1h', Priority: '9', Outage: 'park', Expires: '2h', 'Retry-Jitter': '20%' };
      const id = await publish(sink('ok?urgent'), { settings });
      await page.goto(`${url}/console/messages/${id}`);
      const drawer = page.getByRole('complementary', { name: 'Message' });
      const fact = (name: string, value: string) => drawer.getByText(new RegExp(`^${name}\\s*${value}$`)).first();
      await fact('priority', '9').waitFor();
      await fact('outage', 'park').waitFor();
      await drawer.getByText(/^Expires in 1h 59m|^Expires in 2h/).waitFor();
      await client.saveQueue({ queueName: 'urgent', priority: 8, expires: '10m', outage: 'park' });
      await page.goto(`${url}/console/queues`);
      const card = page.getByRole('article').filter({ hasText: 'urgent' });
      for (const text of ['expire after 10m', 'priority 8', 'outage: park']) await card.getByText(text).waitFor();
    }));

  test('the expiry, the priority and the outage of a queue are set and removed, and nothing else is changed', () =>
    onScreen('queues', async (page, { client, url }) => {
      await client.saveQueue({ queueName: 'given', parallelism: 3, priority: 2 });
      await page.goto(`${url}/console/queues`);
      const card = page.getByRole('article', { name: 'Queue given' });
      await card.getByRole('button', { name: 'Settings of given' }).click();
      const dialog = page.getByRole('dialog', { name: 'Settings of given' });
      const save = dialog.getByRole('button', { name: 'Save' });
      assert.equal(await save.isDisabled(), true, 'nothing was changed yet');
      await dialog.getByLabel('Expires').fill('10m');
      await dialog.getByLabel('Priority').fill('');
      await dialog.getByLabel('While a host is down').selectOption('park');
      await save.click();
      await noticed(page, 'The settings of “given” are saved');
      for (const text of ['expire after 10m', 'outage: park']) await card.getByText(text).waitFor();
      const { expires, priority, outage, parallelism } = await client.getQueue('given');
      assert.deepEqual([expires, priority, outage, parallelism], ['10m', undefined, 'park', 3]);
      await card.getByRole('button', { name: 'Settings of given' }).click();
      await dialog.getByLabel('Expires').fill('soon');
      await save.click();
      await noticed(page, 'Expires');
      await dialog.getByRole('button', { name: 'Keep as it is' }).click();
      await client.deleteQueue('given');
    }));

  test('a message that awaits its ack shows how far its receiver is, and then how it has ended', () =>
    onScreen('messages', async (page, { publish, sink, url, token }) => {
      const id = await publish(sink('status/202'), { settings: { 'Await-Ack': '1h' } });
      const ackUrl = await waitFor('the delivery with its ack URL', async () => {
        const headers = { Authorization: `Bearer ${token}` };
        const text = await (await fetch(`${url}/v2/dev/requests`, { headers })).text();
        return /https?:[^"]*\/v2\/acks\/[^"]+/.exec(text)?.[0];
      });
      await page.goto(`${url}/console/messages/${id}`);
      const drawer = page.getByRole('complementary', { name: 'Message' });
      await drawer.getByText(/^Attempt 1 awaits its ack/).waitFor();
      await acknowledge(ackUrl, { progress: 0.4, note: 'frame 400 of 1000' });
      const bar = drawer.getByRole('progressbar', { name: 'Progress of the receiver' });
      await bar.waitFor();
      assert.equal(await bar.getAttribute('value'), '40');
      await drawer.getByText('frame 400 of 1000').first().waitFor();
      await acknowledge(ackUrl, { ok: true });
      await drawer.getByText('Delivered', { exact: true }).first().waitFor();
      await bar.waitFor({ state: 'detached' });
    }));

  test('a waiting message is cancelled after a question', () =>
    onScreen('messages', async (page, { publish, sink, url, client }) => {
      const id = await publish(sink('ok'), { settings: { Delay: '1h' } });
      await page.goto(`${url}/console/messages/${id}`);
      await button(page, 'Cancel').click();
      await button(page, 'Cancel it').click();
      await page.getByRole('complementary').getByText('Cancelled').first().waitFor();
      assert.equal((await client.getMessage(id)).state, 'CANCELLED');
    }));

  test('failures are grouped, show the response, and are all retried with one click', () =>
    onScreen('failures', async (page, { publish, sink, ended, client }) => {
      for (let i = 0; i < 3; i += 1)
        assert.equal(await ended(await publish(sink(`status/502?n=${i}`), NO_RETRY)), 'FAILED');
      const group = page.getByRole('article', { name: /3 messages to .*502/ });
      await group.waitFor();
      await group.getByRole('button', { name: 'Sample' }).click();
      await group.getByText('502', { exact: true }).last().waitFor();
      await group.getByRole('button', { name: 'Retry all' }).click();
      await noticed(page, 'Sending 3 again');
      await page.getByRole('link', { name: 'Watch it' }).click();
      await page.getByText('Retried 3').waitFor();
      const { messages } = await client.listMessages({ path: ['/dev/sink/status/502'] });
      assert.equal(messages.filter(({ sourceMessageId }) => sourceMessageId !== undefined).length, 3);
    }));

  test('a dead letter is retried with edits, and the page goes to the new message', () =>
    onScreen('messages', async (page, { publish, sink, ended, url, client }) => {
      const id = await publish(sink('status/500?edit'), NO_RETRY);
      await ended(id);
      await page.goto(`${url}/console/messages/${id}`);
      await button(page, 'Retry with edits').click();
      const dialog = page.getByRole('dialog', { name: 'Retry with edits' });
      await dialog.getByLabel('URL').fill(sink('ok?mended'));
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await page.waitForURL((now) => !now.href.endsWith(id) && now.href.includes('/messages/msg_'));
      await page.getByRole('complementary').getByText('Delivered', { exact: true }).first().waitFor();
      const made = await client.getMessage(page.url().split('/').at(-1)!);
      assert.deepEqual([made.url, made.sourceMessageId], [sink('ok?mended'), id]);
      // Linked both ways, and not to be sent again once more.
      await page.getByRole('complementary').getByRole('link', { name: id }).click();
      await page.getByText('sent again as').waitFor();
      assert.equal(await button(page, 'Retry with edits').count(), 0);
      await page.getByRole('complementary').getByRole('link', { name: made.messageId }).click();
      await page.waitForURL((now) => now.href.includes(made.messageId));
      // The counts are of what the filter means.
      await page.goto(`${url}/console/messages?state=FAILED&retried=true`);
      await page.getByText('sent again', { exact: true }).first().waitFor();
      const { states } = await client.countMessages({ retried: 'true' });
      assert.ok(states.FAILED > 0 && states.DELIVERED === 0);
      await button(page, `Failed ${states.FAILED}`).waitFor();
      await button(page, 'Delivered 0').waitFor();
    }));

  test('a waiting message is changed: its time, its URL and its body; what somebody else changed is not overwritten', () =>
    onScreen('messages', async (page, { publish, sink, ended, url, client }) => {
      const id = await publish(sink('status/500?change'), { settings: { Delay: '1h' } });
      await page.goto(`${url}/console/messages/${id}`);
      await button(page, 'Change').click();
      const dialog = page.getByRole('dialog', { name: 'Change this message' });
      const submit = dialog.getByRole('button', { name: 'Change it' });
      assert.equal(await submit.isDisabled(), true, 'nothing was changed yet');
      await dialog.getByLabel('URL').fill(sink('ok?changed'));
      await dialog.getByLabel('Body').fill('changed');
      await client.updateMessage(id, { delay: '2h' });
      await submit.click();
      await page.getByText('now has the version 0-1').waitFor();
      await dialog.getByRole('button', { name: 'Keep as it is' }).click();
      // The dialog shows the message as the page has it, which reads it again every moment.
      await page.getByRole('tab', { name: 'Raw' }).click();
      await page.getByText('"version": "0-1"').first().waitFor();
      await button(page, 'Change').click();
      await dialog.getByLabel('URL').fill(sink('ok?changed'));
      await dialog.getByLabel('Body').fill('changed');
      await dialog.getByLabel('Wait from now on').fill('0s');
      await submit.click();
      await page.getByRole('complementary').getByText('Delivered', { exact: true }).first().waitFor();
      await ended(id);
      const made = await client.getMessage(id);
      assert.deepEqual([made.url, made.body, made.version], [sink('ok?changed'), 'changed', '1-2']);
      assert.equal(await button(page, 'Change').count(), 0);
    }));

  test('the settings and headers of a waiting message are changed, and its timeline says which', () =>
    onScreen('messages', async (page, { publish, sink, url, client }) => {
      const settings = { Delay: '1h', Retries: '1', 'Forward-Trial': 'before', 'Forward-Kept': 'yes' };
      const id = await publish(sink('ok?settings'), { settings, body: 'same' });
      await page.goto(`${url}/console/messages/${id}`);
      await button(page, 'Change').click();
      const dialog = page.getByRole('dialog', { name: 'Change this message' });
      await dialog.getByLabel('Retries').fill('4');
      await dialog.getByLabel('Priority').fill('8');
      await dialog.getByLabel('Expires, from now on').fill('2h');
      await dialog.getByLabel('While its host is down').selectOption('park');
      await dialog.getByLabel(/^Value of Forward-trial$/i).fill('after');
      await dialog.getByRole('button', { name: 'Add setting' }).click();
      await dialog.getByLabel('Name of setting 3').fill('Timeout');
      await dialog.getByLabel('Value of Timeout').fill('7s');
      await dialog.getByRole('button', { name: 'Change it' }).click();
      await noticed(page, 'Changed');
      const drawer = page.getByRole('complementary', { name: 'Message' });
      await drawer.getByText('Changed', { exact: true }).waitFor();
      await drawer.getByText('headers, retries, timeout, priority, expiry, outage').waitFor();
      const made = await client.getMessage(id);
      assert.deepEqual([made.maxRetries, made.priority, made.outage, made.timeoutMs], [4, 8, 'park', 7000]);
      assert.ok(made.expiresAt !== undefined);
      const named = Object.entries(made.header).map(([name, values]) => [name.toLowerCase(), ...values].join(' '));
      assert.ok(named.includes('trial after') && named.includes('kept yes'), named.join());
      assert.deepEqual([made.body, made.url], ['same', sink('ok?settings')]);
      await client.cancelMessage(id);
    }));

  test('a topic is created, edited, reordered, and sent a test message', () =>
    onScreen('topics', async (page, { sink, client }) => {
      await button(page, 'New topic').click();
      const dialog = page.getByRole('dialog', { name: 'New topic' });
      await dialog.getByLabel('Name').fill('news');
      await dialog.getByLabel(/^Endpoints/).fill(`${sink('ok?a')}\n${sink('ok?b')}`);
      await dialog.getByRole('button', { name: 'Create topic' }).click();
      await page.getByRole('heading', { name: 'news' }).waitFor();
      await button(page, 'Add endpoint').click();
      await page.getByLabel('URL of endpoint 3').fill(sink('status/500?c'));
      await button(page, 'Move endpoint 2 up').click();
      await button(page, 'Save endpoints').click();
      await noticed(page, 'Topic “news” is saved');
      const urls = (await client.getTopic('news')).endpoints.map((endpoint) => endpoint.url);
      assert.deepEqual(urls, [sink('ok?b'), sink('ok?a'), sink('status/500?c')]);
      await button(page, 'Send to all endpoints').click();
      const sent = page.getByRole('list', { name: 'What was sent' });
      await sent.getByText('Failed').waitFor();
      assert.equal(await sent.getByText('Delivered').count(), 2);
    }));

  test('the overview shows counts and charts, and links to the messages', () =>
    onScreen('overview', async (page, { publish, sink, ended }) => {
      await ended(await publish(sink('ok')));
      await page.getByRole('img', { name: /Messages by minute: [1-9]/ }).waitFor();
      await page.getByText(/Time from the moment a message could start/).waitFor();
      await page.getByRole('link', { name: /^Delivered/ }).click();
      await page.waitForURL(/messages\?state=DELIVERED/);
    }));

  test('a queue says why it is not moving, is paused, widened, resumed and purged', () =>
    onScreen('queues', async (page, { publish, sink, client }) => {
      await publish(sink('status/500'), { queue: 'stuck', settings: { 'Retry-Delay': '3600000' } });
      await publish(sink('ok'), { queue: 'stuck' });
      const card = page.getByRole('article', { name: 'Queue stuck' });
      await card.getByRole('button', { name: 'Why is it waiting?' }).click();
      await card.getByText('Waiting for the next attempt').waitFor();
      await card.getByText('Head').waitFor();
      await card.getByRole('button', { name: 'Pause' }).click();
      await card.getByText('paused', { exact: true }).waitFor();
      await card.getByText('The queue is paused').waitFor();
      await card.getByLabel('Parallelism of stuck').fill('4');
      await card.getByRole('button', { name: 'Set', exact: true }).click();
      await noticed(page, 'Up to 4 at once');
      await card.getByRole('button', { name: 'Resume' }).click();
      await noticed(page, 'Queue “stuck” is resumed');
      assert.equal((await client.getQueue('stuck')).parallelism, 4);
      await card.getByRole('button', { name: 'Purge stuck' }).click();
      const dialog = page.getByRole('dialog');
      const purge = dialog.getByRole('button', { name: /delete/i });
      assert.equal(await purge.isDisabled(), true);
      await dialog.getByRole('textbox').fill('stuck');
      await purge.click();
      await card.waitFor({ state: 'detached' });
    }));

  test('a host shows how its attempts went', () =>
    onScreen('hosts', async (page, { publish, sink }) => {
      // The other screens send to the sink by its address.
      const failing = sink('status/503').replace('127.0.0.1', 'localhost');
      await publish(failing, { settings: { Retries: '0' } });
      const card = page.getByRole('article', { name: `Host ${new URL(failing).host}` });
      await card.getByText('failing', { exact: true }).waitFor();
      await card.getByText(/the destination returned 503/).waitFor();
      await card.getByText('0 waiting').waitFor();
      await card.getByRole('button', { name: 'Park' }).click();
      await card.getByText('parked', { exact: true }).waitFor();
      await card.getByText(/by hand/).waitFor();
      await card.getByRole('button', { name: 'Resume' }).click();
      await card.getByText(/opens with 1 at once/).waitFor();
    }));

  test('a host that failed ten times in a row is parked: its next probe, what waits and how long attempts took are shown', (t) =>
    onScreen('hosts', async (page, { publish, ended, client, url }) => {
      const { url: failing } = await startReceiver(t, () => 503);
      const { host } = new URL(failing);
      const first = await publish(failing, { settings: { Outage: 'park', 'Retry-Delay': '1', Retries: '20' } });
      const parked = async () => (await client.getHost(host).catch(() => null))?.state === 'parked';
      await waitFor('the host to be parked', parked);
      const waiting = await publish(failing, { settings: { Outage: 'park' } });
      const card = page.getByRole('article', { name: `Host ${host}` });
      await card.getByText('parked', { exact: true }).waitFor();
      await card.getByText(/· next probe/).waitFor();
      await card.getByText(/^[1-9]\d* waiting$/).waitFor();
      await card.getByText(/^\d+ m?s \/ \d+ m?s$|^\S+ \/ \S+$/).waitFor();
      assert.equal(await card.getByText(/by hand/).count(), 0);
      const message = await client.getMessage(first);
      assert.ok(message.attempts.length >= 10);
      await page.goto(`${url}/console/messages/${first}`);
      const drawer = page.getByRole('complementary', { name: 'Message' });
      await drawer.getByText('Host parked', { exact: true }).waitFor();
      for (const id of [first, waiting]) await client.cancelMessage(id);
      await ended(waiting);
      await client.resumeHost(host);
    }));

  test('the audit shows who has changed what; a part of an entry, or typed text, narrows it down', () =>
    onScreen('audit?result=nonsense', async (page, { client }) => {
      await page
        .getByRole('alert')
        .getByText(/result: must be done, refused/i)
        .waitFor();
      await button(page, 'Remove filter result nonsense').click();
      await client.saveQueue({ queueName: 'audited-a' });
      await client.saveQueue({ queueName: 'audited-b' });
      await client.pauseQueue('audited-none').catch(() => {});
      const entries = page.getByRole('list', { name: 'Entries' }).getByRole('listitem');
      const entry = (text: string) => entries.filter({ hasText: text });
      await entry('audited-a').getByText('POST /v2/queues', { exact: true }).waitFor();
      await entry('audited-none').getByText('404 queue_not_found').waitFor();
      await button(page, 'done').click();
      await entry('audited-none').waitFor({ state: 'detached' });
      await entry('audited-b').getByRole('link', { name: 'audited-b' }).click();
      await entry('audited-a').waitFor({ state: 'detached' });
      assert.match(page.url(), /audit\?(?=.*result=done)(?=.*target=audited-b)/);
      await page.goBack();
      await entry('audited-a').waitFor();
      await page.getByRole('searchbox', { name: 'Filter the audit' }).fill('nothing-like-this');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
      await button(page, 'Remove filter target nothing-like-this').click();
      await button(page, 'All accounts').click();
      await entry('audited-a')
        .getByText(/account acc_/)
        .waitFor();
      await page.reload();
      await entry('audited-a')
        .getByText(/account acc_/)
        .waitFor();
      assert.match(page.url(), /all=true/);
    }));

  test('a message is built in the form, shown as code, and sent', () =>
    onScreen('send', async (page, { sink, client }) => {
      await button(page, 'Enqueue').click();
      await page.getByLabel('Queue', { exact: true }).fill('by-hand');
      await page.getByLabel(/^Destination/).fill(sink('ok?from=builder'));
      await page.getByLabel('Body').fill('{"it\'s":"me"}');
      await button(page, 'Add setting').click();
      await page.getByLabel('Name of setting 1').fill('Label');
      await page.getByLabel('Value of Label').fill('hand-made');
      const code = page.getByRole('tabpanel');
      await code.getByText('Service-Label: hand-made').waitFor();
      assert.match(
        await code.innerText(),
        /\/v2\/enqueue\/by-hand\/http:\/\/127\.0\.0\.1:\d+\/dev\/sink\/ok\?from=builder/,
      );
      await page.getByRole('tab', { name: 'TypeScript' }).click();
      await code.getByText('postrider.queue("by-hand").enqueue(').waitFor();
      await page.getByRole('tab', { name: 'Python' }).click();
      await code.getByText('requests.post(').waitFor();
      await button(page, 'Send').click();
      await page.getByRole('list', { name: 'What was sent' }).getByText('Delivered').waitFor();
      const { messages } = await client.listMessages({ label: ['hand-made'] });
      assert.equal((await client.getMessage(messages[0]!.messageId)).body, '{"it\'s":"me"}');
      await page.goto(`${service().url}/console/send?from=${messages[0]!.messageId}`);
      assert.equal(await page.getByLabel('Value of Label').inputValue(), 'hand-made');
    }));

  test('a schedule is created with a preview of its next runs, then run, paused and resumed', () =>
    onScreen('send?mode=schedule', async (page, { sink, client }) => {
      await page.getByLabel(/^Destination/).fill(sink('ok?scheduled'));
      await page.getByLabel('Value of Cron').fill('CRON_TZ=Europe/Berlin 0 9 * * 1-5');
      await page.getByText('At 09:00, Monday to Friday, in Europe/Berlin').waitFor();
      await page
        .getByText(/09:00 Europe\/Berlin/)
        .first()
        .waitFor();
      await page.getByLabel('While a message is open').selectOption('skip');
      await button(page, 'Create schedule').click();
      const card = page.getByRole('article', { name: /^Schedule scd_/ });
      await card.getByText(sink('ok?scheduled')).waitFor();
      await card.getByText('skips while one is open').waitFor();
      await card.getByRole('button', { name: 'Run now' }).click();
      await card
        .getByRole('list', { name: 'Last results' })
        .getByRole('link', { name: /Delivered 200/ })
        .waitFor();
      await card.getByRole('button', { name: 'Pause' }).click();
      await card.getByText('paused').waitFor();
      await card.getByRole('button', { name: 'Resume' }).click();
      await card.getByRole('button', { name: 'Pause' }).waitFor();
      assert.equal((await client.listSchedules())[0]!.isPaused, false);
      await card
        .getByRole('list', { name: 'Last messages' })
        .getByText(/ended after/)
        .waitFor();
      await card.getByLabel('Times').fill('@every 1h');
      await card.getByLabel(/^Jitter/).fill('90s');
      await card.getByRole('button', { name: 'Save the change' }).click();
      await card.getByText('jitter 1m 30s').waitFor();
      const { cron, jitter, overlap } = (await client.listSchedules())[0]!;
      assert.deepEqual([cron, jitter, overlap], ['@every 1h', 90, 'skip']);
    }));

  test('a bulk operation counts, asks for confirmation, shows its progress after a reload, and is stopped', () =>
    onScreen('bulk?action=cancel&label=many', async (page, { client, sink }) => {
      const element = { destination: sink('ok'), headers: { 'Service-Delay': '1h', 'Service-Label': 'many' } };
      await client.batch(Array.from({ length: 200 }, () => element));
      await page.getByText('200 messages match').waitFor();
      await page.getByRole('slider').fill('10');
      await button(page, 'Cancel…').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox').fill('200');
      await dialog.getByRole('button', { name: 'Cancel 200' }).click();
      const bar = page.getByRole('progressbar', { name: 'Cancelling: progress' }).first();
      await bar.waitFor();
      await page.reload();
      await bar.waitFor();
      await button(page, 'Stop').click();
      await page.getByText('stopped', { exact: true }).waitFor();
      assert.equal((await client.listBulk()).jobs[0]!.state, 'stopped');
    }));

  test('settings: a token is created, shown once, shown as used, and revoked; the outage is set; keys are rotated', () =>
    onScreen('settings', async (page, { client, url }) => {
      await page.getByLabel('New token').fill('reader');
      await page.getByRole('checkbox', { name: 'publish' }).uncheck();
      await page.getByRole('checkbox', { name: 'read' }).check();
      await button(page, 'Create token').click();
      const token = (await page.getByRole('group', { name: 'the token' }).innerText()).trim();
      const answer = await fetch(`${url}/v2/account`, { headers: { Authorization: `Bearer ${token}` } });
      assert.deepEqual(((await answer.json()) as { token: { scopes: string[] } }).token.scopes, ['read']);
      await button(page, 'Revoke reader').click();
      await button(page, 'Revoke it').click();
      await noticed(page, 'The token is revoked');
      await button(page, 'Revoke reader').waitFor({ state: 'detached' });
      assert.equal((await fetch(`${url}/v2/account`, { headers: { Authorization: `Bearer ${token}` } })).status, 401);
      await page.getByLabel('Outage of the account').selectOption('park');
      await button(page, 'Set').click();
      await noticed(page, 'While a host is down, messages park');
      assert.equal((await client.getAccount()).outage, 'park');
      await client.setOutage('retry');
      const before = await client.getKeys();
      await button(page, 'Rotate keys').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
      await noticed(page, 'The next key is now the current one');
      assert.equal((await client.getKeys()).current, before.next);
    }));

  test('settings: a token is limited, and shows when it expires and from where it may be used', () =>
    onScreen('settings', async (page, { client }) => {
      await page.getByLabel('New token').fill('limited');
      await page.getByLabel('Allowed addresses').fill('10.0.0.1');
      await button(page, 'Create token').click();
      await page.getByText(/for this one address write 10\.0\.0\.1\/32/).waitFor();
      await page.getByLabel('Expires').selectOption('in 90 days');
      await page.getByLabel('Allowed addresses').fill('10.0.0.0/8, fd00::/8');
      await button(page, 'Create token').click();
      await page.getByRole('group', { name: 'the token' }).waitFor();
      const row = page.getByRole('listitem').filter({ hasText: 'limited' });
      await row.getByText('from 10.0.0.0/8 and 1 more').waitFor();
      await row.getByText(/^expires in (89d 23h|90d)$/).waitFor();
      assert.equal(await page.getByLabel('Allowed addresses').inputValue(), '');
      const { accountId } = await client.getAccount();
      const short = { accountId, name: 'short', scopes: ['read'], expiresIn: '1ms' } as const;
      await client.createToken(short);
      await page.reload();
      await page
        .getByRole('listitem')
        .filter({ hasText: 'short' })
        .getByText(/^expired/)
        .waitFor();
    }));

  test('settings: an account is deleted once its name is typed, and is shown until it is gone', () =>
    onScreen('settings', async (page, { client }) => {
      await page.getByLabel('New account').fill('leaving');
      await button(page, 'Create account').click();
      await button(page, 'Delete account').click();
      const dialog = page.getByRole('dialog');
      const confirm = dialog.getByRole('button', { name: 'Delete it', exact: true });
      assert.equal(await confirm.isDisabled(), true);
      await dialog.getByRole('textbox').fill('leaving');
      await confirm.click();
      await noticed(page, 'Account “leaving” is being deleted');
      await page.getByText('being deleted since').waitFor();
      const { accounts } = await client.listAccounts();
      assert.ok(accounts.find(({ name }) => name === 'leaving')!.deletingSince! > 0);
      assert.equal(await button(page, 'Create token').count(), 0);
    }));

  test('the sink shows the received requests, with their signatures checked', () =>
    onScreen('sink', async (page) => {
      await button(page, 'Send one: Fails twice').click();
      const row = page.getByRole('listitem').filter({ hasText: '/dev/sink/fail?times=2' }).first();
      await row.getByText('signature verified').waitFor();
      await row.getByText('503').waitFor();
      await row.getByRole('button').click();
      // Not of the row: the first may be another by now, because the message is sent again.
      await page.getByText('"preset"').first().waitFor();
    }));

  test('the palette finds every screen by a few letters', () =>
    onScreen('overview', async (page) => {
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Go to' }).fill('sched');
      await page.keyboard.press('Enter');
      await page.waitForURL(/schedules$/);
      await page.keyboard.press('g');
      await page.keyboard.press('q');
      await page.waitForURL(/queues$/);
    }));
});

test('ages and countdowns go by a manual clock, which is shown', IN_BROWSER, async (t) => {
  const { url, link, client, sink, publish, close } = await startService({ flags: ['--clock', 'manual'] });
  t.after(close);
  const { page, context, complaints } = await openPage(browser(), link);
  t.after(() => context.close());
  await publish(sink('ok?later'), { settings: { Delay: '4d' } });
  const row = page.getByRole('row').filter({ hasText: '/dev/sink/ok?later' });
  await row.getByText('in 4d').waitFor();
  const { now } = await client.setClock({ advance: '3d' });
  await page.getByText(new Date(now).toISOString().replace('T', ' ').replace('Z', ' UTC')).waitFor();
  await page.goto(`${url}/console/messages`);
  await row.getByText('in 1d').waitFor();
  assert.deepEqual(complaints, []);
});
