// Payloads are text, whatever they contain. Hostile bodies, headers, names, URLs and answers are fed into every screen:
// no script may run, nothing may be fetched, nothing may be navigated to.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { IN_BROWSER, openPage, sharedBrowser } from './browser.ts';
import { sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();

const RUN = 'window.__hacked=1;fetch(`http://evil.example/`)';
const HOSTILE = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `"><svg/onload=${RUN}>`,
  `<iframe srcdoc="<script>parent.__hacked=1</script>"></iframe>`,
  `javascript:${RUN}`,
  `</pre></textarea></style><script>${RUN}</script>`,
  `<a href="javascript:${RUN}" autofocus onfocus="${RUN}">click</a>`,
  `<link rel=stylesheet href="http://evil.example/x.css"><style>@import "http://evil.example/y.css"</style>`,
  `{{constructor.constructor('${RUN}')()}}`,
  '\u202e\u0000\ufeff\u2028%s%n\x1b[31m',
];
const BODY = JSON.stringify({
  __proto__x: HOSTILE,
  ...Object.fromEntries(HOSTILE.map((text, index) => [text, { index, text }])),
});

suite('hostile content', IN_BROWSER, () => {
  let hostileUrl = '';
  const server = createServer((request, response) => {
    request.resume();
    const status = request.url?.startsWith('/ok') ? 200 : 500;
    response.writeHead(status, {
      'Content-Type': 'text/html',
      'X-Answer': HOSTILE[1]!.replaceAll(/[^\x20-\x7e]/g, ''),
      Location: `javascript:${RUN}`,
      Link: '<http://evil.example/preload.js>; rel=preload; as=script',
      Refresh: '0; url=http://evil.example/',
    });
    response.end(`<html>${HOSTILE.join('\n')}</html>`);
  });
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    hostileUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  for (const bypassCSP of [false, true]) {
    test(`is shown as text on every screen, ${bypassCSP ? 'even without the policy of the page' : 'and never runs or loads anything'}`, async () => {
      const { publish, ended, client, url, link, sink } = service();
      const path = `/%22%3E%3Csvg/onload=${encodeURIComponent(RUN)}%3E?q='"><img/src=x/onerror=window.__hacked=1>`;
      const target = `${hostileUrl}${path.replaceAll(/[<>"']/g, encodeURIComponent)}`;
      const forwarded = Object.fromEntries(
        HOSTILE.slice(0, 8).map((text, index) => [`Forward-X-Evil-${index}`, text.replaceAll(/[^\x20-\x7e]/g, '')]),
      );
      const labels = {
        Label: HOSTILE.slice(0, 4)
          .join(',')
          .replaceAll(/[^\x20-\x7e]/g, ''),
        'Flow-Control-Key': '<img/src=x/onerror=window.__hacked=1>',
        'Flow-Control-Value': 'parallelism=5',
      };
      const failed = await publish(target, {
        body: BODY,
        contentType: 'text/html',
        settings: { Retries: '0', ...labels, ...forwarded },
      });
      const text = await publish(`${hostileUrl}/ok`, { body: HOSTILE.join('\n'), contentType: 'text/html' });
      const binary = await publish(`${hostileUrl}/ok`, {
        body: new Uint8Array([0xff, ...new TextEncoder().encode(HOSTILE[0])]),
      });
      const sunk = await publish(sink('ok'), {
        body: HOSTILE.join('\n'),
        contentType: 'text/html',
        settings: forwarded,
      });
      const refused = await publish(`${hostileUrl}/`, { settings: { Retries: '0' }, queue: 'q' });
      for (const id of [failed, text, binary, sunk, refused]) await ended(id);
      await client.addEndpoints('evil', [{ url: target, name: 'constructor' }, { url: `${hostileUrl}/ok` }]);
      await client.createSchedule({
        destination: target,
        body: BODY,
        settings: { Cron: '0 0 1 1 *', 'Schedule-Id': '__proto__' },
      });
      await client.startBulk('retry', { text: HOSTILE[0]! }, 1);
      // Entries of the audit about such names, carried out and refused.
      await client.resumeFlowKey(labels['Flow-Control-Key']);
      for (const each of HOSTILE.slice(0, 8)) {
        await client.resumeFlowKey(each).catch(() => {});
        await client.pauseQueue(each).catch(() => {});
      }

      const { page, complaints, strangers, context } = await openPage(browser(), link, { bypassCSP });
      const navigated: string[] = [];
      page.on('framenavigated', (frame) => navigated.push(frame.url()));
      page.on('dialog', (dialog) => {
        complaints.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      await page.getByRole('table', { name: 'Messages' }).waitFor();
      const query = HOSTILE.map((each) => `text=${encodeURIComponent(each)}`)[1]!;
      const screens = [
        'messages',
        `messages?${query}&label=${encodeURIComponent(HOSTILE[0]!)}&host=${encodeURIComponent(HOSTILE[1]!)}`,
        ...[failed, text, binary, sunk, refused].map((id) => `messages/${id}`),
        `messages/${encodeURIComponent(HOSTILE[1]!)}`,
        'failures',
        'topics',
        'topics/evil',
        `topics/${encodeURIComponent(HOSTILE[0]!)}`,
        'overview',
        'queues?queue=%3Cimg%20src=x%20onerror=alert(1)%3E',
        'queues?queue=q',
        'hosts',
        'audit',
        `audit?target=${encodeURIComponent(HOSTILE[0]!)}&by=${encodeURIComponent(HOSTILE[1]!)}&result=%3Csvg%3E`,
        `send?from=${failed}`,
        `send?destination=${encodeURIComponent(`javascript:${RUN}`)}`,
        'schedules?schedule=__proto__',
        `bulk?${query}&action=retry`,
        'settings',
        'sink',
        encodeURIComponent(HOSTILE[0]!),
      ];
      for (const screen of screens) {
        await page.goto(`${url}/console/${screen}`);
        await page.getByRole('main').waitFor();
        await page.waitForLoadState('load');
        // Everything that unfolds, unfolds; every tab is looked at.
        for (const name of [/^Sample$/, /^As text$/, /^As tree$/, /Why isn/, /^Next runs$/]) {
          for (const each of await page.getByRole('button', { name }).all())
            if (await each.isEnabled()) await each.click({ timeout: 3000 }).catch(() => {});
        }
        for (const summary of await page.locator('summary').all())
          await summary.click({ timeout: 3000 }).catch(() => {});
        for (const tab of await page.getByRole('tab').all()) await tab.click();
        if (screen === 'sink') await page.getByRole('listitem').getByRole('button').first().click();
        await page.waitForTimeout(250);
        assert.equal(await page.evaluate('window.__hacked'), undefined, screen);
        const active = await page
          .locator(
            'main script, main iframe, main object, main embed, main style, main link, main img, main [onerror], main [onload], main [onfocus]',
          )
          .count();
        assert.equal(active, 0, screen);
        const links = await page
          .locator('a[href]')
          .evaluateAll((all) => all.map((each) => (each as unknown as { href: string }).href));
        for (const href of links) assert.ok(href.startsWith(url), `${screen} links to ${href}`);
      }
      assert.deepEqual(strangers, []);
      assert.deepEqual(complaints, []);
      for (const each of navigated) assert.ok(each.startsWith(url), each);
      await context.close();
    });
  }
});
