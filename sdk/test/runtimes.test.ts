// The same program in Bun, in versions of Node.js for which only the SDK is made, and in a browser, where its page has another
// origin than the service.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { launchBrowser } from '../../console/test/browser.ts';
import { type Service, startService } from '../../console/test/service.ts';
import { binaryOf, installed, programFolder } from '../../packaging/installed.ts';
import { folderOfNode, isPromised, OTHER_MAJORS } from '../../packaging/node-versions.ts';
import { lacks, whySkipped } from '../../server/test/support/machine.ts';
import { bundled } from './frameworks/bundle.ts';
import { EXPECTED, type scenario } from './scenario.ts';

const BUN = ['darwin-aarch64', 'darwin-x64', 'linux-aarch64', 'linux-x64'].map((each) => `@oven/bun-${each}`);
const PAGE = '<!doctype html><meta charset="utf-8"><title>A page</title>';

const pages = createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(PAGE));
let origin = '';
let service: Service;
let code = '';

before(async () => {
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  service = await startService({ flags: ['--allow-origin', origin] });
  code = await bundled(join(import.meta.dirname, 'scenario.ts'));
});

after(async () => {
  pages.close();
  await service?.close();
});

test('in Bun a program does what it does in Node.js', async (t) => {
  const packages = await installed(join(import.meta.dirname, 'installed', 'bun'));
  const bun = binaryOf(packages, BUN, join('bin', 'bun'));
  if (bun === null) return t.skip(whySkipped('bun'));
  const folder = programFolder(packages);
  t.after(() => rmSync(folder, { recursive: true }));
  const place = { url: service.url, token: service.token, run: 'bun' };
  const call = `console.log(JSON.stringify(await scenario(${JSON.stringify(place)})));`;
  writeFileSync(join(folder, 'program.js'), `${code}\n${call}`);
  const { stdout } = await promisify(execFile)(bun, [join(folder, 'program.js')], { timeout: 120_000 });
  assert.deepEqual(JSON.parse(stdout), EXPECTED);
});

for (const major of OTHER_MAJORS.filter((each) => !isPromised('server', each))) {
  test(`on Node.js ${major} a program does what it does on our own`, async (t) => {
    const node = join(await folderOfNode(major), 'node');
    const folder = mkdtempSync(join(tmpdir(), 'postrider-program-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const place = { url: service.url, token: service.token, run: `node-${major}` };
    const call = `console.log(JSON.stringify([process.version, await scenario(${JSON.stringify(place)})]));`;
    writeFileSync(join(folder, 'program.mjs'), `${code}\n${call}`);
    const { stdout } = await promisify(execFile)(node, [join(folder, 'program.mjs')], { timeout: 120_000 });
    const [version, facts] = JSON.parse(stdout) as [string, unknown];
    assert.equal(version.split('.')[0], `v${major}`);
    assert.deepEqual(facts, EXPECTED);
  });
}

test('in a browser a page of an allowed origin does the same, and one of another origin nothing', {
  skip: lacks('chromium'),
}, async (t) => {
  const browser = await launchBrowser();
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(origin);
  const place = { url: service.url, token: service.token, run: 'browser' };
  const run = async (): Promise<unknown> => {
    return page.evaluate(
      async ([module, given]) => {
        const blob = URL.createObjectURL(new Blob([module], { type: 'text/javascript' }));
        const { scenario: go } = (await import(blob)) as { scenario: typeof scenario };
        return go(given).catch((error: Error) => error.name);
      },
      [code, place] as const,
    );
  };
  assert.deepEqual(await run(), EXPECTED);
  await page.goto(origin.replace('127.0.0.1', 'localhost'));
  assert.equal(await run(), 'UnreachableError');
});
