// The command on an old and on a new Node.js. The version is only pretended, and a copy of the file stands beside a
// stand-in for the program, because what is under test is the check and nothing behind it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';

const bin = join(import.meta.dirname, '..', 'bin', 'postrider.js');

suite('the command', () => {
  let folder = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-bin-'));
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'src', 'cli'), { recursive: true });
    copyFileSync(bin, join(folder, 'bin', 'postrider.js'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'src', 'cli', 'main.ts'), "process.stdout.write('started ' + process.argv[2]);");
  });

  after(() => rmSync(folder, { recursive: true }));

  function runOn(version: string) {
    const pretend = join(folder, 'pretend.cjs');
    const versions = `{ ...process.versions, node: '${version}' }`;
    writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
    const argv = ['--require', pretend, join(folder, 'bin', 'postrider.js'), 'serve'];
    return spawnSync(process.execPath, argv, { encoding: 'utf8' });
  }

  for (const version of ['14.0.0', '20.20.2', '23.11.0']) {
    test(`says in one line that Node.js ${version} is too old`, () => {
      const { status, stdout, stderr } = runOn(version);
      assert.equal(status, 1);
      assert.equal(stdout, '');
      assert.equal(
        stderr,
        `postrider needs Node.js 24 or newer; this is ${version}. In a checkout, "npm start" uses the right one.\n`,
      );
    });
  }

  for (const version of ['24.0.0', '26.10.0', '100.0.0']) {
    test(`starts on Node.js ${version}`, () => {
      const { status, stdout } = runOn(version);
      assert.equal(status, 0);
      assert.equal(stdout, 'started serve');
    });
  }
});
