// `postrider token create`: the way back in for whoever runs the machine, with the service stopped or running.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ask } from '../../support/client.ts';
import { temporaryFolder } from '../../support/harness.ts';
import { startProcess } from '../../support/process.ts';
import { isOnPostgres, onlySqlite } from '../../support/store-under-test.ts';
import { waitFor } from '../../support/wait.ts';

interface Account {
  readonly name: string;
  readonly token: { readonly name: string; readonly scopes: readonly string[] };
}

const serveArgs = (data: string) => ['serve', '--json', '--host', '127.0.0.1', '--port', '0', '--data', data];

const authorized = (token: string) => ({ Authorization: `Bearer ${token}` });

async function accountOf(api: string, token: string): Promise<Account> {
  const answer = await ask(api, '/v2/account', { headers: authorized(token) });
  assert.equal(answer.status, 200, answer.text);
  return answer.json<Account>();
}

/** Runs the command to its end. */
async function create(t: TestContext, data: string, ...flags: string[]) {
  const command = startProcess(t, ['token', 'create', '--data', data, ...flags]);
  const status = await command.exit;
  return { status, stdout: command.stdout, stderr: command.stderr };
}

test('a token is made while the service is stopped and while it runs, and works at once', async (t) => {
  const data = temporaryFolder(t);
  const first = startProcess(t, serveArgs(data));
  const { api, token } = await first.ready();

  const running = await create(t, data, '--admin');
  assert.equal(running.status, 0, running.stderr);
  assert.match(running.stdout, /^pr_[\w-]{32}\n$/, 'the token alone, for scripts');
  assert.match(
    running.stderr,
    /^A token of the account "default" in .*, with the scopes publish, read, manage, admin\. /,
  );
  assert.equal(running.stderr.includes(running.stdout.trim()), false);
  const made = await accountOf(api, running.stdout.trim());
  assert.deepEqual(made.token.scopes, ['publish', 'read', 'manage', 'admin']);
  assert.deepEqual([made.name, made.token.name], ['default', 'command-line']);
  assert.equal((await accountOf(api, token!)).name, 'default', 'the others stay');
  assert.equal(first.stderr.includes(running.stdout.trim()), false, 'it is in no log');

  first.signal('SIGTERM');
  assert.equal(await first.exit, 0);
  const stopped = await create(t, data, '--scope', 'read,publish', '--name', 'laptop', '--json');
  assert.equal(stopped.status, 0, stopped.stderr);
  assert.equal(stopped.stderr, '');
  const printed = JSON.parse(stopped.stdout) as Record<string, unknown>;
  assert.deepEqual(Object.keys(printed), ['token', 'tokenId', 'account', 'scopes']);
  assert.deepEqual([printed.account, printed.scopes], ['default', ['publish', 'read']]);

  const again = await startProcess(t, serveArgs(data)).ready();
  assert.equal(again.token, undefined);
  for (const each of [token!, running.stdout.trim()]) {
    assert.equal((await accountOf(again.api, each)).name, 'default');
  }
  const laptop = await accountOf(again.api, String(printed.token));
  assert.deepEqual(laptop.token, { ...laptop.token, name: 'laptop', scopes: ['publish', 'read'] });
});

test('a token that expires or has addresses is made, and one that makes no sense is not', async (t) => {
  const data = temporaryFolder(t);
  const { api } = await startProcess(t, serveArgs(data)).ready();
  const before = Date.now();
  const made = await create(
    t,
    data,
    '--scope',
    'read',
    '--expires-in',
    '90d',
    '--address',
    '10.0.0.0/8,::/0',
    '--json',
  );
  const { token, expiresAt, addresses } = JSON.parse(made.stdout) as Record<string, unknown>;
  assert.deepEqual(addresses, ['10.0.0.0/8', '::/0']);
  const lifeMs = Number(expiresAt) - before;
  assert.ok(lifeMs >= 90 * 86_400_000 && lifeMs < 91 * 86_400_000, String(lifeMs));
  const answer = await ask(api, '/v2/account', { headers: authorized(String(token)) });
  assert.deepEqual([answer.status, answer.json<{ code: string }>().code], [403, 'forbidden']);
  const here = await create(t, data, '--scope', 'read', '--address', '127.0.0.0/8', '--address', '::1/128');
  assert.equal((await accountOf(api, here.stdout.trim())).name, 'default');
  for (const [flag, text] of [
    ['--expires-in=soon', /--expires-in must be a duration up to 36500d, such as 90d or 12h/],
    ['--address=10.0.0.1', /--address: "10\.0\.0\.1" has no prefix length/],
  ] as const) {
    const wrong = await create(t, data, '--admin', flag);
    assert.deepEqual([wrong.status, wrong.stdout], [2, '']);
    assert.match(wrong.stderr, text);
  }
  const past = await create(t, data, '--admin', '--expires-in', '0s');
  assert.deepEqual([past.status, past.stdout], [1, '']);
  assert.match(past.stderr, /expiresIn: the token would have expired already/);
});

test('with several accounts it is asked which one, unless one is called default', async (t) => {
  const data = temporaryFolder(t);
  const service = startProcess(t, ['dev', '--json', '--port', '0', '--data', data]);
  const { api, token } = await service.ready();
  const headers = authorized(token!);
  const alone = await create(t, data, '--admin');
  assert.equal((await accountOf(api, alone.stdout.trim())).name, 'dev', 'the only one');
  for (let n = 0; n < 12; n += 1) {
    const body = JSON.stringify({ name: `shop-${n}` });
    assert.equal((await ask(api, '/v2/admin/accounts', { method: 'POST', headers, body })).status, 201);
  }
  const unclear = await create(t, data, '--admin');
  assert.deepEqual([unclear.status, unclear.stdout], [1, '']);
  const shown = 'dev, shop-0, shop-1, shop-2, shop-3, shop-4, shop-5, shop-6, shop-7, shop-8 and 3 more';
  const which = `postrider token create: there are several accounts; choose one with --account: ${shown}\n`;
  assert.equal(unclear.stderr, which);
  const wrong = await create(t, data, '--admin', '--account', 'Shop-1');
  assert.match(wrong.stderr, /^postrider token create: there is no account "Shop-1"; choose one with --account: dev, /);
  assert.equal(wrong.status, 1);
  const named = await create(t, data, '--admin', '--account', 'shop-3');
  assert.equal((await accountOf(api, named.stdout.trim())).name, 'shop-3');
});

test('bad input is refused with everything that is wrong, and help shows what there is', async (t) => {
  const bad = startProcess(t, ['token', 'create', '--scope', 'read,own', '--account', 'a b', '--port', '1']);
  assert.equal(await bad.exit, 2);
  assert.equal(bad.stdout, '');
  assert.equal(
    bad.stderr,
    'postrider token create cannot start:\n' +
      '  - unknown flag --port; --help lists all\n' +
      '  - --scope: "own" is not one of publish, read, manage, admin\n' +
      '  - --account must be 1 to 128 letters, digits, "-", "_" or ".", not "a b"\n',
  );
  const nothing = startProcess(t, ['token', 'create']);
  assert.equal(await nothing.exit, 2);
  assert.match(nothing.stderr, /give --admin .* or --scope with its scopes/);
  const unknown = startProcess(t, ['token', 'make']);
  assert.equal(await unknown.exit, 2);
  assert.match(unknown.stderr, /^postrider: there is no command "token make"/);
  const help = startProcess(t, ['token', 'create', '--help']);
  assert.equal(await help.exit, 0);
  assert.match(help.stdout, /^Usage: postrider token create \[settings\]\n\nCreates a token directly in the store/);
});

test('where there is no store, or none that can be read, nothing is made and the reason is said', async (t) => {
  const missing = join(temporaryFolder(t), 'nothing');
  const none = await create(t, missing, '--admin');
  assert.deepEqual([none.status, none.stdout], [1, '']);
  const empty =
    /^postrider token create: PostgreSQL at .* has no account yet; start postrider serve on it: that prints/;
  const noFile = `postrider token create: there is no store in ${missing}: it has no postrider.db\n`;
  if (isOnPostgres) assert.match(none.stderr, empty);
  else assert.equal(none.stderr, noFile);
});

test('a file that is no database is left alone', { skip: onlySqlite }, async (t) => {
  const data = join(temporaryFolder(t), 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'postrider.db'), 'no database at all '.repeat(100));
  const { status, stderr } = await create(t, data, '--admin');
  assert.equal(status, 1);
  assert.match(stderr, /^postrider token create: .*not a SQLite database/);
  writeFileSync(join(data, 'postrider.db'), '');
  assert.match((await create(t, data, '--admin')).stderr, /start this version on it once/);
});

test('a database that cannot be reached is named, without its password', async (t) => {
  const url = 'postgres://me:hunter2@127.0.0.1:1/none';
  const away = startProcess(t, ['token', 'create', '--admin', '--store', url]);
  assert.equal(await away.exit, 1);
  assert.match(away.stderr, /^postrider token create: cannot reach PostgreSQL at 127\.0\.0\.1:1\/none: /);
  assert.equal(away.stderr.includes('hunter2'), false);
});

test('a first start that was killed before anybody saw its token: the next one prints it, or the command makes one', async (t) => {
  // When a database is made cannot be seen from outside.
  for (const isMade of isOnPostgres ? [true] : [false, true]) {
    const data = temporaryFolder(t);
    const first = startProcess(t, serveArgs(data));
    // Killed before the account is made, and right after: then the token is in the store and nobody has it.
    if (isMade) await first.ready();
    else await waitFor('the store to be made', () => existsSync(join(data, 'postrider.store')));
    first.signal('SIGKILL');
    await first.exit;
    const second = startProcess(t, serveArgs(data));
    const { api, token } = await second.ready();
    if (isMade)
      assert.equal(token, undefined, 'an account is never without its token: both are made in one transaction');
    const made = await create(t, data, '--admin');
    assert.equal(made.status, 0, made.stderr);
    for (const each of [made.stdout.trim(), ...(token === undefined ? [] : [token])]) {
      assert.deepEqual((await accountOf(api, each)).token.scopes, ['publish', 'read', 'manage', 'admin']);
    }
    second.signal('SIGKILL');
    await second.exit;
  }
});
