// A message that is sent again from the console: with every setting of the table and the same bytes, by the form and by
// the command that it shows. What is redacted is asked for.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import type { MessageWithAttempts, Published } from 'postrider-sdk';
import { CALLBACK_NAMES, SETTING_TABLE } from '../../server/src/rules/publish/setting-table.ts';
import { IN_BROWSER_WITH_CURL, openScreen, sharedBrowser } from './browser.ts';
import { type Service, sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();
const shell = promisify(execFile);

/** Outside of a queue. */
const FLOW = ['Flow-Control-Key', 'Flow-Control-Value', 'Priority'];
const QUEUED = ['Order-Key'];
/** With them the copy would be a duplicate, and not be accepted. */
const NOT_COPIED = ['Deduplication-Id', 'Content-Based-Deduplication'];
/** With them the copy would take the place of the message. They do not go together with a delay. */
const DEBOUNCED = ['Debounce-Key', 'Debounce', 'Debounce-Max'];
/** A publish takes one time of delivery, and one expiry. */
const REPLACED = ['Delay', 'Expires-At'];

/** A value for each setting of the table that is not its default. A setting without one here gets its example. */
const VALUES: Readonly<Record<string, string>> = {
  Method: 'PUT',
  Retries: '2',
  'Retry-Delay': '1000 * pow(2, retried)',
  'Retry-Jitter': '20%',
  Delay: '2h',
  'Not-Before': String(Math.floor(Date.now() / 1000) + 7200),
  Expires: '3h',
  Timeout: '1500ms',
  Callback: 'http://127.0.0.1:1/done?x=1&y=%20',
  'Failure-Callback': 'http://127.0.0.1:1/failed',
  'Forward-': `it's "quoted" $HOME \`id\` \\ 100% caf\xe9 {}`,
  'Header-Forward': 'true',
  Label: 'one, two',
  'Flow-Control-Key': 'shop',
  'Flow-Control-Value': 'parallelism=3, rate=10, period=1m',
  'Order-Key': `customer 7's`,
  'Redact-Fields': 'header[X-Absent]',
};

/** Every setting of the table that a message may have, those of its callbacks included. */
function everySetting(isQueued: boolean): Record<string, string> {
  const settings: Record<string, string> = {};
  const name = (setting: string) => (setting === 'Forward-' ? 'Forward-X-Odd' : setting);
  for (const { name: setting, of, example } of SETTING_TABLE) {
    if (of === 'schedule' || REPLACED.includes(setting) || DEBOUNCED.includes(setting)) continue;
    if (isQueued ? FLOW.includes(setting) : QUEUED.includes(setting)) continue;
    if (setting === 'Content-Based-Deduplication') continue;
    settings[name(setting)] =
      VALUES[setting] ?? `${example}${setting === 'Deduplication-Id' && isQueued ? '-queued' : ''}`;
    if (of === 'delivery')
      for (const callback of CALLBACK_NAMES) settings[`${callback}-${name(setting)}`] = VALUES[setting] ?? example;
  }
  for (const callback of CALLBACK_NAMES) {
    settings[`${callback}-Delay`] = '90s';
    settings[`${callback}-Retries`] = '1';
    settings[`${callback}-Timeout`] = '45s';
    settings[`${callback}-Method`] = 'PATCH';
    settings[`${callback}-Retry-Delay`] = '2000';
    settings[`${callback}-Retry-Jitter`] = '5%';
  }
  return settings;
}

/** A message without what each message has for itself. */
function content(message: MessageWithAttempts): object {
  const {
    messageId: _id,
    createdAt,
    expiresAt,
    state: _state,
    nextDeliveryTime: _next,
    callerIP: _ip,
    callerIp: _ip2,
    attempts: _attempts,
    endedAt: _ended,
    notBefore,
    ...same
  } = message;
  const expiresAfter = expiresAt === undefined ? null : Math.round((expiresAt - createdAt) / 1000);
  return { ...same, expiresAfter, notBefore: Math.round(notBefore / 1000) };
}

/** Opens Duplicate of a message. */
async function duplicate(messageId: string, act: (page: Page) => Promise<void>): Promise<void> {
  const { page, context, complaints } = await openScreen(browser(), service(), `messages/${messageId}`);
  await page.getByRole('link', { name: 'Duplicate' }).click();
  await page.getByRole('heading', { name: 'Send' }).waitFor();
  await act(page);
  assert.deepEqual(complaints, []);
  await context.close();
}

const command = (page: Page) => page.getByRole('group', { name: 'the request as cURL' }).textContent();

async function sendForm(page: Page, { client }: Service): Promise<MessageWithAttempts> {
  const sent = page.waitForResponse(
    (response) => response.request().method() === 'POST' && /\/v2\/(publish|enqueue)\//.test(response.url()),
  );
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  return client.getMessage(((await (await sent).json()) as Published).messageId);
}

async function runCommand(text: string, { client }: Service): Promise<MessageWithAttempts> {
  const running = shell('sh', [], { maxBuffer: 64 * 1024 * 1024 });
  // Typed, so to speak: an argument may not be as long as a command.
  running.child.stdin!.end(`${text} -sS\n`);
  const { stdout } = await running;
  assert.ok(stdout.includes('messageId'), stdout);
  return client.getMessage((JSON.parse(stdout) as Published).messageId);
}

/** Sends it again by the form and by the command, and compares both with the original. */
async function checkCopies(messageId: string): Promise<void> {
  const original = content(await service().client.getMessage(messageId));
  await duplicate(messageId, async (page) => {
    await page.getByRole('tabpanel').waitFor();
    const text = (await command(page))!;
    assert.deepEqual(content(await sendForm(page, service())), original);
    assert.deepEqual(content(await runCommand(text, service())), original, text);
  });
}

suite('a duplicate', IN_BROWSER_WITH_CURL, () => {
  for (const isQueued of [false, true]) {
    test(`has every setting of the message ${isQueued ? 'in a queue' : 'under a flow key'}`, async () => {
      const { publish, client } = service();
      const settings = everySetting(isQueued);
      const id = await publish('http://127.0.0.1:1/later?a=1&b=%2F', {
        ...(isQueued && { queue: 'copies' }),
        settings,
        contentType: 'text/plain; charset=utf-8',
        body: 'hello',
      });
      // The view of a message has everything that was asked for.
      const message = await client.getMessage(id);
      assert.equal(message.timeoutMs, 1500);
      assert.deepEqual(message.failureCallbackSettings, {
        method: 'PATCH',
        maxRetries: 1,
        retryDelayExpression: '2000',
        retryJitter: '5%',
        delayMs: 90_000,
        timeoutMs: 45_000,
      });
      await checkCopies(id);
      // A setting that is new in the table is either copied, or named here with the reason why not.
      await duplicate(id, async (page) => {
        await page.getByRole('tabpanel').waitFor();
        const text = (await command(page))!;
        for (const name of Object.keys(settings)) {
          if (NOT_COPIED.includes(name) || name === 'Header-Forward') continue;
          assert.ok(text.includes(`Service-${name}: `), `${name} is not in the command: ${text}`);
        }
      });
    });
  }

  const BODIES: readonly (readonly [string, string | Uint8Array, string?])[] = [
    ['quotes, newlines and emoji', `it's "x" $HOME \`id\` \\n\n\ttab 🎉 é\r\nend\n`, 'text/plain'],
    ['control characters', 'null \0 escape \x1b[201~ bell \x07', 'text/plain'],
    ['bytes that are no text', Uint8Array.from({ length: 512 }, (_, index) => index % 256), 'image/png'],
    ['a text without a content type', '@not-a-file'],
    ['a body that is larger than an argument may be', 'é'.repeat(150_000), 'text/plain'],
  ];
  for (const [name, body, contentType] of BODIES) {
    test(`has the same bytes: ${name}`, async () => {
      const settings = { Delay: '2h' };
      // Without a content type only bytes go without one.
      const sent = contentType === undefined ? new TextEncoder().encode(body as string) : body;
      await checkCopies(
        await service().publish('http://127.0.0.1:1/later', {
          body: sent,
          settings,
          ...(contentType !== undefined && { contentType }),
        }),
      );
    });
  }

  test('asks for what is redacted, and copies no command without it', async () => {
    const { publish, client, url } = service();
    const id = await publish('http://127.0.0.1:1/later', {
      body: 'a secret',
      contentType: 'text/plain',
      settings: {
        Delay: '2h',
        'Forward-X-Secret': 'hush',
        'Forward-X-Open': 'seen',
        'Redact-Fields': 'body, header[X-Secret]',
      },
    });
    await duplicate(id, async (page) => {
      await page.getByText('The body is redacted').waitFor();
      assert.doesNotMatch(await page.locator('main').innerText(), /REDACTED/);
      assert.equal(await page.getByLabel('Body').inputValue(), '');
      assert.equal(await page.getByLabel('Value of Forward-X-Secret').inputValue(), '');
      assert.equal(await page.getByLabel('Value of Forward-X-Open').inputValue(), 'seen');
      await page.getByText('Enter the redacted values to see the command').waitFor();
      let isSent = false;
      page.on('request', (request) => {
        isSent ||= request.url().includes('/v2/publish/');
      });
      const send = page.getByRole('button', { name: 'Send', exact: true });
      await send.click();
      await page.getByLabel('Body').fill('another secret');
      await send.click();
      assert.equal(isSent, false);
      await page.getByLabel('Value of Forward-X-Secret').fill('hush');
      const copy = await sendForm(page, service());
      assert.deepEqual(copy.redactFields, ['body', 'header[x-secret]']);
      const before = await client.getMessage(id);
      assert.deepEqual(copy.header, before.header);
      assert.notEqual(copy.body, before.body);
      // The button of the message says why there is no command.
      await page.goto(`${url}/console/messages/${id}`);
      const button = page.getByRole('button', { name: 'cURL' });
      await button.waitFor();
      assert.equal(await button.isDisabled(), true);
      assert.match(
        (await button.getAttribute('title')) ?? '',
        /Redacted.*body, Forward-X-Secret|Forward-X-Secret, body/,
      );
    });
  });

  test('a retry with edits does not show what stands for a redacted body as the body', async () => {
    const { publish, client, ended, sink } = service();
    const id = await publish(sink('status/500?redacted'), {
      body: 'a secret',
      settings: { Retries: '0', 'Redact-Fields': 'body' },
    });
    await ended(id);
    const { page, context } = await openScreen(browser(), service(), `messages/${id}`);
    await page.getByRole('button', { name: 'Retry with edits' }).click();
    const dialog = page.getByRole('dialog', { name: 'Retry with edits' });
    assert.equal(await dialog.getByLabel('Body').inputValue(), '');
    await dialog.getByLabel('URL').fill(sink('ok?redacted'));
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.waitForURL((now) => !now.href.endsWith(id) && now.href.includes('/messages/msg_'));
    const made = page.url().split('/').at(-1)!;
    // The same body, by its hash.
    assert.equal((await client.getMessage(made)).body, (await client.getMessage(id)).body);
    await context.close();
  });
});
