// Moving a data directory into PostgreSQL, by the command itself: what the service then knows and does, and where the
// command refuses to begin.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { openDirectory } from '../../src/store/sqlite/files/open.ts';
import { Database } from '../../src/store/sqlite/thread/database.ts';
import { withClient } from '../postgres/databases.ts';
import { sharedServer } from '../postgres/server.ts';
import { startRider } from '../support/harness.ts';
import { Process } from '../support/process.ts';
import type { Cleanup } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { everythingRead } from './everything-read.ts';
import { filledDirectory } from './filled-directory.ts';
import { scratchDirectory } from './scratch-directory.ts';

const postgres = await sharedServer();

interface Moved {
  readonly finished: boolean;
  readonly resumed: boolean;
  readonly replacedTexts: number;
  readonly tables: readonly { table: string; sourceRows: number; targetRows: number; same: boolean }[];
}

async function emptyDatabase(t: Cleanup): Promise<string> {
  const name = await postgres.createEmptyDatabase();
  t.after(() => postgres.dropDatabase(name));
  return postgres.url(name);
}

async function migrate(directory: string, url: string, ...more: string[]) {
  const command = new Process(['migrate-store', '--data', directory, '--store', url, ...more], {});
  const status = await command.exit;
  return { status, stdout: command.stdout, stderr: command.stderr };
}

const sha = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

test('after a move the service on PostgreSQL answers what the one on the file did, and goes on', async (t) => {
  const filled = await filledDirectory(t);
  const { rider, receiver, directory, tokens, claimed } = filled;
  const url = await emptyDatabase(t);
  const before = await everythingRead(rider, tokens, claimed);
  assert.ok(Object.keys(before).length > 100, String(Object.keys(before).length));
  const file = sha(join(directory, 'postrider.db'));

  const { status, stdout, stderr } = await migrate(directory, url, '--json');
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  assert.equal(stdout.split('\n').length, 2);
  const moved = JSON.parse(stdout) as Moved;
  assert.deepEqual([moved.finished, moved.resumed, moved.replacedTexts], [true, false, 0]);
  for (const { table, sourceRows, targetRows, same } of moved.tables) {
    assert.ok(same && sourceRows === targetRows && sourceRows > 0, `${table}: ${sourceRows}, ${targetRows}`);
  }
  assert.equal(sha(join(directory, 'postrider.db')), file, 'the source is as it was');

  const now = rider.clock.now();
  const data = scratchDirectory(t);
  const next = await startRider(t, { data, now, flags: ['--store', url] });
  const after = await everythingRead(next, tokens, claimed);
  assert.deepEqual(Object.keys(after), Object.keys(before));
  // The attempt that was under way has been interrupted meanwhile, which is stored.
  const withoutStored = (answer: unknown) => JSON.stringify(answer).replace(/"storedBytes":\d+,/, '');
  for (const [call, answer] of Object.entries(before)) {
    if (call.includes('/v2/usage')) assert.equal(withoutStored(after[call]), withoutStored(answer), call);
    else assert.deepEqual(after[call], answer, call);
  }

  // Who may do what.
  assert.equal((await next.publish(`${receiver.url}/ok`, { token: filled.publishOnly })).status, 201);
  assert.equal((await next.call('GET', '/v2/messages', { token: filled.publishOnly })).status, 403);
  assert.equal((await next.call('GET', '/v2/messages', { token: filled.revoked })).status, 401);
  const signedIn = { token: null, headers: { Cookie: filled.session, 'X-Postrider-Console': '1' } };
  assert.equal((await next.call('GET', '/v2/account', signedIn)).json<{ name: string }>().name, 'acme');
  const again = await next.publish(`${receiver.url}/ok?a=1`, { headers: { 'Service-Deduplication-Id': 'once' } });
  assert.deepEqual([again.status, again.json<{ messageId: string }>().messageId], [202, filled.onceId]);

  // What was under way when the service died is settled as interrupted and sent again.
  receiver.answer = () => 200;
  const sentAgain = await next.attempted(claimed, 1);
  assert.equal(sentAgain.attempts[0]!.outcome, 'interrupted');

  // What waited goes on, in its order; who comes later stands behind it.
  await next.accepted(`${receiver.url}/line`, { queue: 'line', body: 'line 4' });
  await next.advance(1.2 * 86_400_000);
  for (const id of [filled.delayed, filled.retrying, claimed]) {
    const { state } = await waitFor(`the end of ${id}`, async () => {
      await next.advance(1000);
      const message = await next.message(id);
      return message.endedAt !== undefined && message;
    });
    assert.equal(state, 'DELIVERED');
  }
  const bodies = (path: string) =>
    receiver.arrivals.filter(({ target }) => target.startsWith(path)).map(({ body }) => Buffer.from(body).toString());
  /** An attempt that is under way when the clock jumps would time out. */
  const idle = () =>
    waitFor('every attempt to be over', async () => {
      await next.quiet();
      const { messages } = await next.manage<{ messages: object[] }>('GET', '/v2/messages?state=ACTIVE');
      return messages.length === 0;
    });
  await waitFor('the lines to be empty', () => bodies('/line').length >= 3 && bodies('/fail/keyed').length >= 7);
  await idle();
  assert.deepEqual(bodies('/fail/line'), ['line 1', 'line 1']);
  assert.deepEqual(bodies('/line'), ['line 2', 'line 3', 'line 4']);
  assert.deepEqual(bodies('/fail/keyed/a'), ['a 0', 'a 0', 'a 2', 'a 4']);
  assert.deepEqual(bodies('/fail/keyed/b'), ['b 1', 'b 1', 'b 3']);
  assert.deepEqual(bodies('/paused'), []);
  await next.manage('POST', '/v2/queues/paused/resume');
  await next.manage('POST', '/v2/flowControl/held/resume');
  await waitFor('what was held', () => bodies('/paused').length === 1 && bodies('/flow').length === 3);
  await idle();
  await next.advance(3 * 86_400_000);
  await waitFor('the rest', () => bodies('/flow').length === 4 && bodies('/large').length === 1);
  assert.deepEqual(bodies('/flow').toSorted(), ['held 1', 'held 2', 'slow 1', 'slow 2']);
  assert.equal(bodies('/large')[0], filled.large.body.toString());
});

suite('the command', () => {
  const filledFile = (t: Cleanup & Parameters<typeof scratchDirectory>[0]) => {
    const directory = scratchDirectory(t);
    const { database, close } = openDirectory(directory);
    database.run(
      "INSERT INTO accounts (id, name, tier, current_key, next_key, created_at) VALUES ('acc_1', 'one', 'free', 'a', 'b', 1)",
    );
    database.run("INSERT INTO usage VALUES ('acc_1', '2026-01-01', 'message', 7)");
    close();
    return directory;
  };

  test('tells people what was compared and what to do next', async (t) => {
    const directory = filledFile(t);
    const { status, stdout, stderr } = await migrate(directory, await emptyDatabase(t));
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^accounts +1 +1 {2}the same$/m);
    assert.match(stdout, /^messages +0 +0 {2}the same$/m);
    assert.match(stdout, /Next: postrider serve --store/);
    assert.match(stdout, /Keep the directory until you are sure/);
    assert.match(stderr, /^copying 0 % · 0 of 2 rows · accounts$/m);
    assert.match(stderr, /^comparing 0 % · 0 of 4 rows · accounts$/m);
  });

  const refused = async (directory: string, url: string, why: RegExp) => {
    const { status, stdout, stderr } = await migrate(directory, url);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, why);
    assert.equal(stderr.split('\n').length, 2, stderr);
  };

  test('refuses a directory on which a service runs', async (t) => {
    const directory = filledFile(t);
    const { close } = openDirectory(directory);
    t.after(close);
    await refused(
      directory,
      await emptyDatabase(t),
      /cannot start: The data directory .* is in use by another postrider/,
    );
  });

  test('refuses a directory without a store, and makes none', async (t) => {
    const directory = join(scratchDirectory(t), 'none');
    const url = await emptyDatabase(t);
    await refused(directory, url, /cannot start: there is no store in .*none: it has no postrider\.db/);
    assert.ok(!existsSync(directory));
    mkdirSync(directory);
    await refused(directory, url, /there is no store in/);
  });

  // One that an older version wrote comes with the second migration.
  test('refuses a file that a newer version wrote', async (t) => {
    const directory = filledFile(t);
    const raw = new Database(join(directory, 'postrider.db'));
    raw.exec('PRAGMA user_version = 999');
    raw.close();
    await refused(directory, await emptyDatabase(t), /schema version 999, .*newer postrider/);
  });

  test('refuses a database that is not empty, even one that it has filled itself', async (t) => {
    const directory = filledFile(t);
    const url = await emptyDatabase(t);
    assert.equal((await migrate(directory, url)).status, 0);
    await refused(filledFile(t), url, /cannot start: the database .* is not empty \(accounts, usage\)/);
    await refused(directory, url, /cannot start: the store in .* was moved to PostgreSQL at /);
    await refused(directory, await emptyDatabase(t), /cannot start: the store in .* was moved to PostgreSQL at /);
  });

  test('after a move nothing starts on the directory and nothing is written to it, until somebody says so deliberately', async (t) => {
    const directory = filledFile(t);
    const url = new URL(await emptyDatabase(t));
    // A password is never shown.
    url.password ||= 'secret';
    assert.equal((await migrate(directory, url.href)).status, 0);
    const from = `${url.hostname}:${url.port}${url.pathname}`;
    const words = new RegExp(`the store in ${directory} was moved to PostgreSQL at ${from} on 20.*postrider.moved`);
    for (const args of [
      ['serve', '--port', '0'],
      ['dev', '--port', '0'],
      ['token', 'create', '--admin'],
    ]) {
      const command = new Process([...args, '--data', directory], {});
      assert.notEqual(await command.exit, 0);
      assert.match(command.stdout + command.stderr, words);
      assert.ok(!(command.stdout + command.stderr).includes(url.password));
    }
    // It can still be read.
    assert.equal(await new Process(['check', '--data', directory], {}).exit, 0);
    assert.equal(await new Process(['backup', '--data', directory, '--to', join(directory, 'copy')], {}).exit, 0);
    rmSync(join(directory, 'postrider.moved'));
    openDirectory(directory).close();
  });

  test('refuses a database that a newer version wrote', async (t) => {
    const url = await emptyDatabase(t);
    await withClient(url, (client) =>
      client.query('CREATE TABLE schema_version AS SELECT 999 AS version, 999 AS reader_min'),
    );
    await refused(filledFile(t), url, /schema version 999, .*newer postrider/);
  });

  test('refuses a database that cannot be reached', async (t) => {
    const why = /cannot start: cannot reach PostgreSQL at .*postrider_none: .* does not exist/;
    await refused(filledFile(t), postgres.url('postrider_none'), why);
  });

  test('has a help of its own, and is suggested to who mistypes it', async () => {
    const help = new Process(['migrate-store', '--help'], {});
    assert.equal(await help.exit, 0);
    assert.match(help.stdout, /^Usage: postrider migrate-store/);
    for (const flag of ['--data', '--store', '--json']) assert.match(help.stdout, new RegExp(`^ {2}${flag}`, 'm'));
    assert.doesNotMatch(help.stdout, /--port/);
    const mistyped = new Process(['migratestore'], {});
    assert.equal(await mistyped.exit, 2);
    assert.match(mistyped.stderr, /did you mean "migrate-store"/);
    const without = new Process(['migrate-store', '--port', '1'], {});
    assert.equal(await without.exit, 2);
    assert.match(without.stderr, /unknown flag --port.*\n.*--store is needed/);
  });
});
