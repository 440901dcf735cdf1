// A test file that never ends is cut off, has failed, and does not keep the others from being counted.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const ENDLESS = `
import { test } from 'node:test';
test('endless', () => new Promise(() => setInterval(() => {}, 1000)));`;

const GOOD = `
import { test } from 'node:test';
test('good', () => {});`;

const programFor = (folder: string) => `
const { runFiles } = await import(${JSON.stringify(new URL('file-pool.ts', import.meta.url).href)});
const isGood = await runFiles(
  ['endless.test.mjs', 'good.test.mjs'].map((file) => ({ files: [file], title: 'test', env: process.env })),
  {
    cwd: ${JSON.stringify(folder)},
    preload: 'data:text/javascript,',
    signal: new AbortController().signal,
    // Also on a busy machine, a file without work needs less.
    processMsMax: 10_000,
    onEvent: (_job, { type, data }) => {
      if (type === 'test:fail' || type === 'test:pass') console.log(type, data.name);
    },
  },
);
console.log(isGood);`;

test('a file that never ends is cut off, and the other files are reported', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'file-pool-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'endless.test.mjs'), ENDLESS);
  writeFileSync(join(folder, 'good.test.mjs'), GOOD);
  writeFileSync(join(folder, 'run.mjs'), programFor(folder));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'run.mjs')], { env });
  assert.deepEqual(
    stdout.trim().split('\n').toSorted(),
    ['false', 'test:fail endless.test.mjs', 'test:pass good'].toSorted(),
  );
});
