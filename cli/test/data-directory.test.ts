// A data directory that cannot be used ends the command at once, with the reason: it never waits or tries without end.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inScratchFolder } from '../../server/test/crash/scratch-folder.ts';
import { noShim, Shim } from '../../server/test/crash/shim.ts';
import { temporaryFolder } from '../../server/test/support/harness.ts';
import { lacks } from '../../server/test/support/machine.ts';
import { BIN } from '../../server/test/support/process.ts';

const NOBODY = 65_534;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command until it ends by itself; the test fails if it does not. */
async function run(
  t: TestContext,
  command: string,
  data: string,
  { env = {}, uid }: { readonly env?: Readonly<Record<string, string>>; readonly uid?: number } = {},
): Promise<Ended> {
  const argv = [BIN, command, '--json', '--host', '127.0.0.1', '--port', '0', '--data', data];
  const as = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn(process.execPath, argv, { env: { PATH: process.env.PATH, ...env }, cwd: tmpdir(), ...as });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close', { signal: AbortSignal.timeout(60_000) })) as [number | null];
  return { code, stdout, stderr };
}

function requireRefusal({ code, stdout, stderr }: Ended, command: string, data: string, why: RegExp): void {
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  assert.ok(stderr.startsWith(`postrider ${command} cannot start: cannot use the data directory ${data}: `), stderr);
  assert.match(stderr, why);
  assert.equal(stderr.trim().split('\n').length, 1, stderr);
}

test('a directory below /proc, where none can be created, is refused at once', {
  skip: lacks('linux'),
}, async (t) => {
  for (const command of ['dev', 'serve']) {
    const data = '/proc/x/data';
    requireRefusal(
      await run(t, command, data),
      command,
      data,
      /\/proc\/x cannot be created: the file system allows no/,
    );
  }
});

test('a directory where a file stands, or below one, is refused', async (t) => {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, '');
  requireRefusal(await run(t, 'serve', file), 'serve', file, /it is a file, not a directory/);
  const below = join(file, 'data');
  requireRefusal(await run(t, 'serve', below), 'serve', below, /is not a directory \(ENOTDIR\)/);
});

test('a directory that this user cannot write is refused, whether it exists or not', {
  skip: lacks('posix', 'root'),
}, async (t) => {
  const folder = temporaryFolder(t);
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(folder, 0o755);
  chmodSync(closed, 0o555);
  const as = { uid: NOBODY };
  const why =
    /cannot be created or written by this user, whose id is \d+.* \(EACCES\)\. Start postrider as the user .* chown -R \d+ /;
  requireRefusal(await run(t, 'serve', closed, as), 'serve', closed, why);
  // The same with files in it that may be written: SQLite needs to make others beside them.
  for (const name of ['postrider.db', 'postrider.lock']) {
    writeFileSync(join(closed, name), '');
    chownSync(join(closed, name), NOBODY, NOBODY);
  }
  requireRefusal(await run(t, 'serve', closed, as), 'serve', closed, why);
  const below = join(closed, 'data');
  requireRefusal(await run(t, 'serve', below, as), 'serve', below, why);
  // So that it can be removed again.
  chmodSync(closed, 0o755);
});

test('an owner without permissions is told to run chmod; a directory that cannot be read is reported as such', {
  skip: lacks('root'),
}, async (t) => {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(folder, 0o755);
  chownSync(data, NOBODY, NOBODY);
  writeFileSync(join(data, 'postrider.db'), '', { mode: 0o400 });
  chownSync(join(data, 'postrider.db'), NOBODY, NOBODY);
  const as = { uid: NOBODY };
  const file = /\(EACCES\)\. It belongs to this user but lacks permissions: run chmod u\+rw \S*postrider\.db$/m;
  requireRefusal(await run(t, 'serve', data, as), 'serve', data, file);
  chmodSync(data, 0o500);
  requireRefusal(await run(t, 'serve', data, as), 'serve', data, /chmod u\+rwx \S*data$/m);
  chownSync(data, 0, 0);
  chmodSync(data, 0o700);
  const child = spawnSync(process.execPath, [BIN, 'check', '--data', data], {
    encoding: 'utf8',
    cwd: tmpdir(),
    uid: NOBODY,
    gid: NOBODY,
  });
  assert.equal(child.status, 1);
  assert.match(child.stderr, /data cannot be read by this user \(EACCES\): run this as the user of the service/);
  // It can be read, but its lock cannot be taken.
  chmodSync(data, 0o755);
  writeFileSync(join(data, 'postrider.lock'), '', { mode: 0o600 });
  const locked = spawnSync(process.execPath, [BIN, 'check', '--data', data], {
    encoding: 'utf8',
    cwd: tmpdir(),
    uid: NOBODY,
    gid: NOBODY,
  });
  assert.equal(locked.status, 1);
  assert.match(
    locked.stderr,
    /postrider\.lock cannot be read and written by this user \(EACCES\): run this as the user/,
  );
});

test('files of another user in a directory that may be written are refused', {
  skip: lacks('root'),
}, async (t) => {
  const data = join(temporaryFolder(t), 'data');
  mkdirSync(data);
  chmodSync(join(data, '..'), 0o755);
  chmodSync(data, 0o777);
  writeFileSync(join(data, 'postrider.db'), '', { mode: 0o600 });
  const why = /postrider\.db cannot be created or written by this user, whose id is 65534: it belongs to the user 0 /;
  requireRefusal(await run(t, 'serve', data, { uid: NOBODY }), 'serve', data, why);
});

test('a full disk is named in the error', { skip: noShim() }, async (t) => {
  await inScratchFolder('no-space', async (folder) => {
    const [data, fullFlag] = [join(folder, 'data'), join(folder, 'full')];
    writeFileSync(fullFlag, '');
    const env = new Shim(folder).env(data, join(folder, 'disk.log'), { fullFlag });
    const { code, stdout, stderr } = await run(t, 'serve', data, { env });
    assert.equal(code, 1, stderr);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^postrider serve cannot start: cannot (?:open the database|lock the data directory) .*no space left on its disk .*Free some/,
    );
  });
});
