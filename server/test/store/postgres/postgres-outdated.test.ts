// A statement that was prepared before a newer node changed what it returns: the server refuses it, and it is prepared
// anew. Our own statements name their columns, so only a change of a column's type can do this to them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemWorld } from '../../../src/runtime/world.ts';
import { serversOf } from '../../../src/store/postgres/sessions/connection.ts';
import { Pool } from '../../../src/store/postgres/sessions/pool.ts';
import { PATIENCE_MS } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';

const READ = 'SELECT * FROM things ORDER BY id';
const READ_FIRST = 'SELECT * FROM things ORDER BY id LIMIT 1';
const WRITE = 'UPDATE things SET count = count + 1 WHERE id = $1 RETURNING *';

test('a statement whose result has changed runs again, alone and in a transaction, and changes nothing twice', async (t) => {
  const server = await sharedServer();
  const name = await server.createDatabase();
  const pool = new Pool({
    servers: serversOf(server.url(name)),
    timers: systemWorld().clock,
    log: () => {},
    channel: 'none',
    onNotification: () => {},
    onBack: () => {},
    onReserveReleased: () => {},
    probe: async () => {},
    roundTripMs: 1,
    morePatienceMs: PATIENCE_MS,
  });
  t.after(async () => {
    await pool.close();
    await server.dropDatabase(name);
  });
  await pool.start();
  await pool.write((database) =>
    database.exec('CREATE TABLE things (id int PRIMARY KEY, count int NOT NULL); INSERT INTO things VALUES (1, 0)'),
  );
  const useAll = async () => {
    const read = await pool.read((database) => database.all<object>(READ));
    const [written] = await pool.write((database) => database.all<object>(WRITE, 1));
    const inTransaction = await pool.transaction(async (database) => {
      await database.all(WRITE, 1);
      return [...(await database.all<object>(READ)), ...(await database.all<object>(READ_FIRST))];
    });
    return [...read, written!, ...inTransaction].map((row) => ({ ...row }));
  };
  const rows = (more: object, counts: readonly number[]) => counts.map((count) => ({ id: 1, count, ...more }));
  assert.deepEqual(await useAll(), rows({}, [0, 1, 2, 2]));
  await pool.write((database) => database.exec("ALTER TABLE things ADD COLUMN later text NOT NULL DEFAULT 'x'"));
  assert.deepEqual(await useAll(), rows({ later: 'x' }, [2, 3, 4, 4]));
  // Several connections at once have the old statement.
  await pool.write((database) => database.exec('ALTER TABLE things ADD COLUMN more int'));
  const together = await Promise.all(
    Array.from({ length: 8 }, () => pool.read((database) => database.all<object>(READ))),
  );
  assert.ok(together.every(([row]) => 'more' in row!));
});
