// Pictures of every screen, light, dark and on a phone, with traffic that looks like a day's work: docs/screenshots/.
// `screenshots.ts messages overview` makes only those.

import { lookup } from 'node:dns/promises';
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { DESKTOP, launchBrowser, openPage, PHONE } from '../test/browser.ts';
import { type Service, startService } from '../test/service.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'screenshots');

/** Answers as the first part of the path says. */
function listen(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    const [, kind = ''] = (request.url ?? '').split('/');
    const status = kind === 'down' ? 503 : kind === 'gone' ? 410 : 200;
    const body =
      status === 200
        ? { ok: true }
        : { error: 'upstream connect error', retry: status === 503, region: 'eu-central-1' };
    const answer = () => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    setTimeout(answer, kind === 'slow' ? 120_000 : 5 + Math.random() * 40);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** Names that read well, where this machine lets us: port 80, and names below localhost. */
async function hosts(): Promise<{ server: Server; host: (name: string) => string }> {
  const server = await listen(80).catch(() => listen(0));
  const { port } = server.address() as AddressInfo;
  const hasNames = await lookup('api.acme.localhost').then(
    () => true,
    () => false,
  );
  const suffix = port === 80 ? '' : `:${port}`;
  return { server, host: (name) => (hasNames ? `${name}.localhost${suffix}` : `127.0.0.1${suffix}`) };
}

async function giveTraffic(service: Service, host: (name: string) => string) {
  const { client } = service;
  const json = (body: unknown) => ({ body: JSON.stringify(body), contentType: 'application/json' });
  await client.addEndpoints('order-events', [
    { url: `http://${host('billing.acme')}/hooks/orders`, name: 'billing' },
    { url: `http://${host('search.acme')}/index`, name: 'search' },
    { url: `http://${host('mail.acme')}/down/notify`, name: 'mail' },
  ]);
  await client.addEndpoints('user-events', [{ url: `http://${host('crm.acme')}/hooks/users` }]);
  for (const [id, cron, path] of [
    ['daily-report', 'CRON_TZ=Europe/Berlin 0 9 * * 1-5', 'daily'],
    ['heartbeat', '*/5 * * * *', 'beat'],
  ] as const) {
    await client.createSchedule({
      destination: `http://${host('reports.acme')}/${path}`,
      settings: { Cron: cron, 'Schedule-Id': id },
    });
    for (let i = 0; i < 8; i += 1) await client.runSchedule(id);
  }
  for (let i = 0; i < 14; i += 1) {
    await service.publish('order-events', { ...json({ order: 7000 + i }), settings: { Retries: '0' } });
    await service.publish(`http://${host('api.acme')}/v1/webhooks/invoices?id=${4200 + i}`, {
      ...json({ invoice: 4200 + i, total: '129.90', currency: 'EUR' }),
      queue: 'invoices',
      settings: { Label: i % 3 ? 'invoice' : 'invoice, vip' },
    });
    await service.publish(`http://${host('crm.acme')}/hooks/users/${i}`, json({ user: i }));
  }
  for (let i = 0; i < 9; i += 1)
    await service.publish(`http://${host('partners.example')}/gone/feed/${i}`, {
      ...json({ feed: i }),
      settings: { Retries: '0' },
    });
  await service.publish(`http://${host('ledger.acme')}/down/entries`, { ...json({ entry: 1 }), queue: 'ledger' });
  for (let i = 2; i < 7; i += 1)
    await service.publish(`http://${host('ledger.acme')}/entries`, { ...json({ entry: i }), queue: 'ledger' });
  await client.saveQueue({ queueName: 'reports', parallelism: 4, paused: true });
  for (let i = 0; i < 3; i += 1) await service.publish(`http://${host('reports.acme')}/daily`, { queue: 'reports' });
  await service.publish(`http://${host('export.acme')}/slow/nightly`, json({ export: 'all' }));
  await service.publish(`http://${host('api.acme')}/v1/reminders`, {
    ...json({ remind: true }),
    settings: { Delay: '2h30m' },
  });
  await service.publish(service.sink('ok'), json({ hello: 'world' }));
  await service.publish(service.sink('fail?times=1'), json({ order: 7 }));
  await service.publish(service.sink('status/500'), { ...json({ order: 8 }), settings: { Retries: '0' } });
  const failing = await service.publish(`http://${host('api.acme')}/down/v1/charges`, {
    body: '{"charge":"ch_81","amount":9007199254740993,"card":{"brand":"visa","last4":"4242"}}',
    contentType: 'application/json',
    settings: {
      'Retry-Delay': 'min(90000, 1000 * pow(9.5, retried))',
      Callback: `http://${host('api.acme')}/v1/how-it-went`,
      Label: 'charge',
    },
  });
  await service.publish(`http://${host('crm.acme')}/hooks/users/15`, json({ user: 15 }));
  await new Promise((resolve) => setTimeout(resolve, 4500));
  await client.startBulk('retry', { host: [`${host('partners.example')}${/:\d+$/.test(host('x')) ? '' : ':80'}`] }, 1);
  return { failing };
}

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<unknown>;
}

function shots(failing: string): Shot[] {
  return [
    { name: 'messages', path: 'messages' },
    { name: 'message', path: `messages/${failing}` },
    {
      name: 'failures',
      path: 'failures',
      prepare: (page) => page.getByRole('button', { name: 'Sample' }).first().click(),
    },
    { name: 'topics', path: 'topics' },
    { name: 'topic', path: 'topics/order-events' },
    { name: 'overview', path: 'overview' },
    { name: 'queues', path: 'queues?queue=ledger' },
    { name: 'send', path: 'send' },
    { name: 'schedules', path: 'schedules?schedule=daily-report' },
    { name: 'bulk', path: 'bulk?host=mail.acme.localhost&action=retry' },
    { name: 'settings', path: 'settings' },
    { name: 'sink', path: 'sink' },
    { name: 'palette', path: 'overview', prepare: (page) => page.keyboard.press('Control+k') },
  ];
}

const wanted = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const service = await startService();
const { server, host } = await hosts();
const browser = await launchBrowser();
try {
  const { failing } = await giveTraffic(service, host);
  for (const [suffix, colorScheme, viewport] of [
    ['light', 'light', DESKTOP],
    ['dark', 'dark', DESKTOP],
    ['phone', 'light', PHONE],
  ] as const) {
    const { page, context, complaints } = await openPage(browser, service.link, {
      colorScheme,
      viewport,
      deviceScaleFactor: suffix === 'phone' ? 2 : 1,
    });
    await page.getByRole('table', { name: 'Messages' }).waitFor();
    for (const { name, path, prepare } of shots(failing)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      await page.goto(`${service.url}/console/${path}`);
      await page.getByRole('main').waitFor();
      await page.waitForTimeout(900);
      await prepare?.(page);
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(folder, `${name}-${suffix}.png`) });
    }
    for (const complaint of complaints) console.error(`${suffix}: ${complaint}`);
    await context.close();
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  await service.close();
}
