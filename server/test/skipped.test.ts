// What `npm test` does where a program is missing that a test needs: it skips the test and says how to get the program. With
// `--whole`, as in CI, the same test has failed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from './support/harness.ts';
import { programPath } from './support/machine.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** It needs nothing else: its tests are few, and one of them starts a command. */
const FILE = 'sdk/test/client.test.ts';
/** What a run of the tests uses itself. */
const PROGRAMS = ['sh', 'rm', 'id', 'kill', 'sleep'];

/** A run of one file with a PATH in which there is hardly anything. */
function runWithout(t: TestContext, ...flags: string[]) {
  const bin = join(temporaryFolder(t), 'bin');
  mkdirSync(bin);
  for (const name of PROGRAMS) symlinkSync(programPath(name)!, join(bin, name));
  const isOfThisRun = /^(?:POSTRIDER_TEST_|NODE_TEST_|NODE_OPTIONS$)/;
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfThisRun.test(name)));
  const run = [join(ROOT, 'server', 'test', 'run.ts'), ...flags, FILE];
  // On the PostgreSQL server of the run around it: another one would take longer than all the rest.
  const DATABASE_URL = process.env.POSTRIDER_TEST_POSTGRES ?? process.env.DATABASE_URL ?? '';
  return spawnSync(process.execPath, run, { cwd: ROOT, env: { ...kept, PATH: bin, DATABASE_URL }, encoding: 'utf8' });
}

test('a test without its program is skipped, and the closing lines say what is missing and how to get it', (t) => {
  const { status, stdout, stderr } = runWithout(t);
  assert.equal(status, 0, stdout + stderr);
  const closing = stdout.slice(stdout.lastIndexOf('\nSkipped:'));
  assert.ok(closing.includes(`  1 × curl is not installed (Debian: apt-get install curl): ${FILE}\n`), closing);
  assert.match(closing, /On Debian, as root, this installs what is missing: apt-get install curl\n/);
  assert.match(closing, /\n[1-9]\d* passed, 0 failed\n$/);
});

test('in CI it fails', (t) => {
  const { status, stdout, stderr } = runWithout(t, '--whole');
  assert.equal(status, 1, stdout + stderr);
  const closing = stdout.slice(stdout.lastIndexOf('\nFailed:'));
  assert.match(closing, /: a call printed as cURL .*: skipped: curl is not installed/);
  assert.match(closing, /\n[1-9]\d* passed, 1 failed\n$/);
});
