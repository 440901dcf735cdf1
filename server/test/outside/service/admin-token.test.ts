// The first admin token from a file or a variable: it works, and nothing that the service writes has it.

import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Accounts } from '../../../src/accounts/accounts.ts';
import { makeFirstToken } from '../../../src/accounts/first-token.ts';
import type { Random } from '../../../src/runtime/world.ts';
import { ask } from '../../support/client.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { type Process, startProcess } from '../../support/process.ts';

const GIVEN = 'given-by-the-operator-0123456789';
const ANOTHER = 'another-of-the-operator-0123456789';

type Env = Readonly<Record<string, string>>;

function serve(t: TestContext, folder: string, flags: readonly string[] = [], env: Env = {}): Process {
  const data = join(folder, 'data');
  return startProcess(t, ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data, ...flags], env);
}

async function stop(service: Process): Promise<void> {
  service.signal('SIGTERM');
  assert.equal(await service.exit, 0, service.stderr);
}

async function isAdmin(api: string, token: string): Promise<boolean> {
  const { status } = await ask(api, '/v2/admin/accounts', { headers: { Authorization: `Bearer ${token}` } });
  return status === 200;
}

test('without the file, a token is made and written to it, for its owner alone, and not printed', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'token');
  const service = serve(t, folder, ['--admin-token-file', file]);
  const { api, token } = await service.ready();
  assert.equal(token, undefined);
  const written = readFileSync(file, 'utf8').trim();
  assert.match(written, /^pr_[\w-]{32}$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(await isAdmin(api, written));
  await stop(service);
  assert.ok(!`${service.stdout}${service.stderr}`.includes(written));
  const again = serve(t, folder, ['--admin-token-file', file]);
  assert.ok(await isAdmin((await again.ready()).api, written));
  assert.equal(readFileSync(file, 'utf8').trim(), written);
  await stop(again);
  assert.doesNotMatch(again.stderr, /admin token/);
});

test('a file that others may write, or that has no token, ends the start with its reason', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'token');
  writeFileSync(file, GIVEN);
  chmodSync(file, 0o666);
  const open = serve(t, folder, ['--admin-token-file', file]);
  assert.notEqual(await open.exit, 0);
  assert.match(open.stderr, /everybody can write .*token; chmod 600/);
  assert.ok(!open.stderr.includes(GIVEN));
});

test('of two nodes that start with the same file, both keep it with the token that works', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'token');
  const found = await Promise.all(
    [1, 2].map(async () => {
      const first: string[] = [];
      const accounts = {
        // The other node was faster, with the token that it read from the file.
        createFirstToken: async (_name: string, _account: null, text: string) => {
          first.push(text);
          return false;
        },
        authenticate: async (text: string) => (first.includes(text) ? { token: { scopes: ['admin'] } } : null),
      } as unknown as Accounts;
      const options = { given: null, takenOver: null, isPublic: () => false, warn: () => {} };
      const random = { bytes: (length: number) => new Uint8Array(length).fill(7) } as unknown as Random;
      await makeFirstToken(accounts, { ...options, file, random }).catch(() => {});
      return readFileSync(file, 'utf8').trim();
    }),
  );
  assert.equal(new Set(found).size, 1);
  assert.deepEqual(readdirSync(folder), ['token'], 'no part of a file is left');
});

test('a token that is given in a file or a variable is the first admin token, and is not printed', async (t) => {
  const ways = (folder: string): readonly (readonly [readonly string[], Env])[] => {
    const file = join(folder, 'token');
    writeFileSync(file, `${GIVEN}\n`);
    return [
      [['--admin-token-file', file], {}],
      [[], { POSTRIDER_ADMIN_TOKEN: GIVEN }],
      [[], { POSTRIDER_ADMIN_TOKEN_FILE: file }],
    ];
  };
  for (const index of [0, 1, 2]) {
    const folder = temporaryFolder(t);
    const [flags, env] = ways(folder)[index]!;
    const service = serve(t, folder, flags, env);
    const { api, token } = await service.ready();
    assert.equal(token, undefined);
    assert.ok(await isAdmin(api, GIVEN));
    await stop(service);
    assert.ok(!`${service.stdout}${service.stderr}`.includes(GIVEN));
  }
});

test('a store that has an admin token keeps it: another one is not taken over, and no file is written', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'token');
  const first = serve(t, folder);
  const { token } = await first.ready();
  await stop(first);
  const given = serve(t, folder, [], { POSTRIDER_ADMIN_TOKEN: ANOTHER });
  const { api } = await given.ready();
  assert.ok(!(await isAdmin(api, ANOTHER)));
  assert.ok(await isAdmin(api, token!));
  await stop(given);
  assert.match(given.stderr, /"msg":"the admin token of the settings is not one of this store/);
  const named = serve(t, folder, ['--admin-token-file', file]);
  await named.ready();
  await stop(named);
  assert.match(named.stderr, /has an admin token already, so none was made and .*token was not written/);
  assert.ok(!existsSync(file));
});

test('what is no token, or one that everybody knows, ends the start with its reason, and the store gets no account', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'token');
  const wellKnown = 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=';
  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['too short', ['--admin-token-file', file], /must hold one token of 32 to 256 printable ASCII characters/],
    [`${GIVEN} ${GIVEN}`, ['--admin-token-file', file], /must hold one token/],
    [wellKnown, ['--admin-token-file', file], /one that everybody knows/],
    [GIVEN, ['--admin-token-file', file, '--admin-token', GIVEN], /exclude each other/],
    [GIVEN, ['--admin-token-file', folder], /--admin-token-file: EISDIR/],
    [GIVEN, ['--admin-token-file', join(folder, 'none', 'token')], /--admin-token-file: ENOENT/],
  ];
  for (const [text, flags, reason] of refused) {
    writeFileSync(file, text);
    const service = serve(t, folder, flags);
    assert.equal(await service.exit, 1);
    assert.match(service.stderr, reason);
    assert.equal(service.stdout, '');
  }
  writeFileSync(file, GIVEN);
  const service = serve(t, folder, ['--admin-token-file', file]);
  assert.ok(await isAdmin((await service.ready()).api, GIVEN));
});
