// A move that is killed again and again: it goes on where it was, nothing comes twice and nothing is missing, and no
// service starts on what is not finished.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openDirectory } from '../../src/store/sqlite/files/open.ts';
import { withClient } from '../postgres/databases.ts';
import { sharedServer } from '../postgres/server.ts';
import { Process } from '../support/process.ts';
import { waitFor } from '../support/wait.ts';
import { fillWithRows } from './many-rows.ts';
import { scratchDirectory } from './scratch-directory.ts';

const MESSAGES = 12_000;
const KILLS_WHILE_COPYING = 8;

test('a move that is killed at any moment goes on, and ends as one that was not', async (t) => {
  const postgres = await sharedServer();
  const name = await postgres.createEmptyDatabase();
  const url = postgres.url(name);
  t.after(() => postgres.dropDatabase(name));
  const directory = scratchDirectory(t);
  fillWithRows(directory, MESSAGES);
  const start = (...more: string[]) => {
    const command = new Process(['migrate-store', '--data', directory, '--store', url, ...more], {});
    t.after(() => command.child.kill('SIGKILL'));
    return command;
  };
  const copied = () =>
    withClient(url, async (client) => {
      const { rows } = await client.query<{ n: number }>('SELECT sum(rows)::int AS n FROM store_move');
      return rows[0]!.n;
    });

  let before = 0;
  let kills = 0;
  // The rest of the rows is for the last run, on a machine however fast.
  for (; kills < KILLS_WHILE_COPYING && before < 2 * MESSAGES; kills += 1) {
    const command = start();
    await command.prints('stderr', /^copying/m);
    await waitFor('more rows', async () => (await copied()) > before);
    await wait(Math.random() * 200);
    command.signal('SIGKILL');
    await command.exit;
    const now = await copied();
    assert.ok(now > before, `${now} rows after ${before}`);
    before = now;
  }
  t.diagnostic(`killed ${kills} times, ${before} rows before the last copying`);

  const serve = new Process(['serve', '--json', '--port', '0', '--store', url], {});
  t.after(() => serve.child.kill('SIGKILL'));
  assert.equal(await serve.exit, 1);
  assert.match(
    serve.stderr,
    /cannot start: a move into this database is not finished; run postrider migrate-store again\n$/,
  );

  const comparing = start();
  await comparing.prints('stderr', /^comparing/m);
  comparing.signal('SIGKILL');
  await comparing.exit;

  // The source is as usable as before: nothing has changed hands.
  openDirectory(directory).close();

  const last = start('--json');
  assert.equal(await last.exit, 0, last.stderr);
  const { finished, resumed, tables } = JSON.parse(last.stdout) as {
    finished: boolean;
    resumed: boolean;
    tables: { table: string; sourceRows: number; same: boolean }[];
  };
  assert.deepEqual([finished, resumed], [true, true]);
  assert.equal(tables.find(({ table }) => table === 'messages')!.sourceRows, MESSAGES);
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ n: string; seq: string; line: string }>(
      `SELECT (SELECT count(*) FROM messages) AS n, nextval('message_seq') AS seq,
         (SELECT line_at FROM queues WHERE name = 'q11') AS line`,
    );
    // The last one that is open in that queue: 10 is its place among 20, and 2 of 4 states are open.
    const open = Array.from({ length: MESSAGES }, (_, index) => index + 1).filter(
      (i) => i % 5 === 0 && i % 20 === 10 && i % 3 === 0 && (i % 4 === 0 || i % 4 === 3),
    );
    assert.deepEqual(rows, [{ n: String(MESSAGES), seq: String(MESSAGES + 1), line: String(open.at(-1) ?? 0) }]);
  });
});
