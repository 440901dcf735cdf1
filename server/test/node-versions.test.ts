// The other versions of Node.js that the packages promise: the tests of what relies on the inside of Node.js (the reader of
// requests, the sender) and of the SDK pass on each, and none is left out. packages.test.ts runs the packages on them.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { ownEnvironment } from '../../packaging/installed.ts';
import {
  folderOfNode,
  isPromised,
  lockedMajor,
  majorsFor,
  OTHER_MAJORS,
  OWN_MAJOR,
} from '../../packaging/node-versions.ts';
import { part } from './support/campaign.ts';
import { whySkipped } from './support/machine.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FILES = [
  'server/test/inbound/**/*.test.ts',
  'server/test/outside/security/{strict,hostile}-requests.test.ts',
  'server/test/outside/isolation/accepting.test.ts',
  'server/test/delivery/http/{answer-memory,misbehaving,reuse,network-sender,wire}.test.ts',
  'server/test/runtime/deadlines.test.ts',
  'server/test/runtime/node-internals/self-tests.test.ts',
  'sdk/test/{client,postrider,receiver}.test.ts',
];
/** In one process: most of the time of a file is that its process reads the sources. */
const FLAGS = ['--test', '--test-isolation=none', '--test-reporter=tap'];
/** A registry that is not reached is tried again for seconds, not minutes. */
const PATIENCE = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'];

const FOR_SERVER = majorsFor('server', part !== 'whole');

// First of all: packages.test.ts, which may run beside this, needs them later.
before(async () => {
  for (const major of FOR_SERVER) await folderOfNode(major);
});

for (const major of FOR_SERVER) {
  test(`the tests of the reader, the sender and the SDK pass on Node.js ${major}`, async () => {
    const node = join(await folderOfNode(major), 'node');
    const files = globSync(FILES, { cwd: ROOT }).sort();
    assert.ok(files.length > 20, `${files.length} files`);
    const { status, stdout, stderr } = spawnSync(node, [...FLAGS, ...files], {
      cwd: ROOT,
      env: ownEnvironment(),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const failed = stdout.split('\n').filter((line) => /^ *not ok/.test(line));
    assert.equal(status, 0, `${failed.join('\n')}\n${stdout.slice(-4000)}\n${stderr}`);
    assert.ok(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]) > 200, stdout.slice(-400));
  });
}

suite('each major version of Node.js that a package promises is run', () => {
  test('the folder of a version installs it, and a package promises it', () => {
    assert.equal(OWN_MAJOR, Number.parseInt(process.versions.node, 10));
    assert.ok(OTHER_MAJORS.length > 2 && !OTHER_MAJORS.includes(OWN_MAJOR), OTHER_MAJORS.join());
    for (const major of OTHER_MAJORS) {
      assert.equal(lockedMajor(major), major);
      assert.ok(isPromised('sdk', major), `nothing promises Node.js ${major}`);
    }
  });

  test('npm lists no other one: a new one gets a folder in packaging/nodes', async (t) => {
    const view = ['view', 'node', 'versions', '--json', ...PATIENCE];
    const listed = await promisify(execFile)('npm', view, { env: ownEnvironment(), maxBuffer: 8 * 1024 * 1024 }).catch(
      () => null,
    );
    if (listed === null) return t.skip(whySkipped('npm registry'));
    const versions = JSON.parse(listed.stdout) as string[];
    const majors = new Set(
      versions.filter((version) => !version.includes('-')).map((version) => Number.parseInt(version, 10)),
    );
    assert.ok(majors.has(OWN_MAJOR), `${majors.size} versions without our own`);
    const promised = [...majors].filter((major) => isPromised('server', major) || isPromised('sdk', major));
    const isRun = (major: number) => major === OWN_MAJOR || OTHER_MAJORS.includes(major);
    assert.deepEqual(
      promised.filter((major) => !isRun(major)),
      [],
      'Add packaging/nodes/<major> with a package and a lock file, or make it the one of package.json.',
    );
  });
});
