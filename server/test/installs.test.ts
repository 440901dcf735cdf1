// Two processes that install the packages of one folder at once, with an npm of the test's own: both get whole packages, and
// nobody takes away what the other one uses already.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from './support/harness.ts';
import { lacks } from './support/machine.ts';

const INSTALLED = join(import.meta.dirname, '..', '..', 'packaging', 'installed.ts');
const FILES = 1000;
const ROUNDS = 3;

/** Makes its packages, and ends when the other one has made its own too. */
const NPM = `#!/bin/sh
mkdir -p node_modules/thing
n=0; while [ $n -lt 50 ]; do echo "$n" > node_modules/thing/$n; n=$((n + 1)); done
touch "$MEETING/$$"
while [ "$(ls "$MEETING" | wc -l)" -lt 2 ]; do sleep 0.01; done
`;

/** Uses what it was given until the other one is done too. */
const USER = `
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { installed } from ${JSON.stringify(INSTALLED)};
const folder = await installed(process.env.FOLDER);
const done = process.env.DONE;
writeFileSync(done + '/' + process.pid, '');
let looks = 0;
do {
  const files = existsSync(folder + '/node_modules/thing') ? readdirSync(folder + '/node_modules/thing').length : 0;
  if (files !== 50) { console.error(files + ' of 50 files after ' + looks + ' looks'); process.exit(1); }
  looks += 1;
  await new Promise((resolve) => setTimeout(resolve, 1));
} while (readdirSync(done).length < 2);
`;

for (const [what, hasOlder] of [
  ['', false],
  [', over packages of another lock file', true],
] as const) {
  test(`two processes install the same folder at once${what}: both end well, and use nothing half made`, {
    skip: lacks('posix'),
  }, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) await installTwice(temporaryFolder(t), hasOlder);
  });
}

async function installTwice(root: string, hasOlder: boolean): Promise<void> {
  const [folder, programs, meeting, done] = ['folder', 'bin', 'meeting', 'done'].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const each of [folder, programs, meeting, done]) mkdirSync(each);
  for (const name of ['package.json', 'package-lock.json']) writeFileSync(join(folder, name), '{}');
  writeFileSync(join(programs, 'npm'), NPM);
  chmodSync(join(programs, 'npm'), 0o755);
  if (hasOlder) {
    for (let n = 0; n < FILES; n += 1) {
      const older = join(folder, 'node_modules', `older-${n % 100}`);
      mkdirSync(older, { recursive: true });
      writeFileSync(join(older, String(n)), '');
    }
    writeFileSync(join(folder, 'node_modules', '.installed'), 'another\n');
  }
  const PATH = `${programs}${delimiter}${process.env.PATH}`;
  const env = { ...process.env, PATH, FOLDER: folder, MEETING: meeting, DONE: done };
  const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', USER], { env });
  await Promise.all([run(), run()]);
  assert.deepEqual(
    readdirSync(folder).sort(),
    ['node_modules', 'package-lock.json', 'package.json'],
    'nothing is left',
  );
  assert.ok(existsSync(join(folder, 'node_modules', '.installed')));
}
