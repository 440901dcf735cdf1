// The service goes away and comes back while somebody looks: the page says so, and goes on by itself.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { IN_BROWSER, openPage, sharedBrowser } from './browser.ts';
import { startService } from './service.ts';

const browser = sharedBrowser();

test('after a restart of the service the list is complete without a reload', IN_BROWSER, async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'postrider-restart-'));
  let service = await startService({ data });
  t.after(async () => {
    await service.close();
    rmSync(data, { recursive: true, force: true, maxRetries: 5 });
  });
  const { port } = new URL(service.url);
  await service.publish(service.sink('ok?before'));
  const { page, context } = await openPage(browser(), service.link);
  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  const live = page.getByRole('button', { name: 'Pause live updates' });
  await row('ok?before').waitFor();
  await live.getByText('Live', { exact: true }).waitFor();

  await service.close();
  await live.getByText('Offline').waitFor();
  await row('ok?before').waitFor();

  service = await startService({ data, port });
  await service.publish(service.sink('ok?after'));
  await live.getByText('Live', { exact: true }).waitFor();
  await row('ok?after').waitFor();
  await page.getByText('The service does not respond').waitFor({ state: 'detached' });
  assert.equal(await row('ok?before').count(), 1);
  await context.close();
});
