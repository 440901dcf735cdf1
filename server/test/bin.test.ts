// The command on an old and on a new Node.js. The version is only pretended, and a copy of the file stands beside a
// stand-in for the program, because what is under test is the check and nothing behind it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { lacks } from './support/machine.ts';

const bin = join(import.meta.dirname, '..', 'bin', 'postrider.js');

suite('the command', () => {
  let folder = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-bin-'));
    for (const part of ['server/bin', 'cli/src']) mkdirSync(join(folder, part), { recursive: true });
    copyFileSync(bin, join(folder, 'server', 'bin', 'postrider.js'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'cli', 'src', 'main.ts'), "process.stdout.write('started ' + process.argv[2]);");
  });

  after(() => rmSync(folder, { recursive: true }));

  function runOn(version: string) {
    const pretend = join(folder, 'pretend.cjs');
    const versions = `{ ...process.versions, node: '${version}' }`;
    writeFileSync(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
    const argv = ['--require', pretend, join(folder, 'server', 'bin', 'postrider.js'), 'serve'];
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

  const settings = (command: string, env: NodeJS.ProcessEnv) => {
    const show =
      'JSON.stringify([process.env.MALLOC_MMAP_THRESHOLD_ ?? null, process.execArgv, process.argv.slice(2)])';
    writeFileSync(join(folder, 'cli', 'src', 'main.ts'), `process.stdout.write(${show});`);
    const argv = ['--stack-trace-limit=3', join(folder, 'server', 'bin', 'postrider.js'), command, '--port', '0'];
    const { stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', env: { ...process.env, ...env } });
    assert.equal(stderr, '');
    return JSON.parse(stdout) as [threshold: string | null, flags: readonly string[], args: readonly string[]];
  };
  const skip = lacks('linux');

  test('a service lets the allocator give large buffers back, and keeps its flags', { skip }, () => {
    const flags = ['--max-semi-space-size=16', '--stack-trace-limit=3'];
    assert.deepEqual(settings('serve', {}), ['131072', flags, ['serve', '--port', '0']]);
    assert.deepEqual(settings('dev', {}), ['131072', flags, ['dev', '--port', '0']]);
  });

  test('flags of the user stay, and short commands get no extra flags', { skip }, () => {
    const own = ['--stack-trace-limit=3'];
    assert.deepEqual(settings('serve', { MALLOC_ARENA_MAX: '1' }), [null, own, ['serve', '--port', '0']]);
    assert.deepEqual(settings('serve', { NODE_OPTIONS: '--max-semi-space-size=64' }).slice(0, 2), ['131072', own]);
    assert.deepEqual(settings('check', {}), [null, own, ['check', '--port', '0']]);
  });
});
