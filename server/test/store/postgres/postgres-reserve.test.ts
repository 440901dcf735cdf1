// The reserve of a PostgreSQL database, with two nodes: one of them makes it, a write that finds no space gives it up and is
// run again, and what is published is not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemWorld } from '../../../src/runtime/world.ts';
import { StoreUnavailable } from '../../../src/store/ports/store.ts';
import { openPostgres } from '../../../src/store/postgres/sessions/open.ts';
import { ACCOUNT, KEYS, message, NOW } from '../../conformance/given.ts';
import { withClient } from '../../postgres/databases.ts';
import { PATIENCE_MS } from '../../postgres/open-patiently.ts';
import { sharedServer } from '../../postgres/server.ts';
import type { Cleanup } from '../../support/receiver.ts';
import { waitFor } from '../../support/wait.ts';

const BYTES = 3 * 1024 * 1024;

/** As on a disk that is full to the last page: nothing is added, as long as the reserve takes its space. */
const FULL = `
  CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF to_regclass('reserve') IS NOT NULL THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
      END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER full_disk BEFORE INSERT ON accounts FOR EACH ROW EXECUTE FUNCTION no_space();
  CREATE TRIGGER full_disk BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION no_space()`;

async function twoNodes(t: Cleanup) {
  const server = await sharedServer();
  const name = await server.createDatabase();
  t.after(() => server.dropDatabase(name));
  const url = server.url(name);
  const open = async (node: string) => {
    const { clock: timers } = systemWorld();
    const opened = await openPostgres({ url, node, timers, log: () => {}, morePatienceMs: PATIENCE_MS });
    t.after(() => opened.store.close());
    const heard = { times: 0 };
    opened.reserve.onReleased(() => {
      heard.times += 1;
    });
    return { ...opened, heard };
  };
  const query = <Row extends object>(sql: string) =>
    withClient(url, async (client) => (await client.query<Row>(sql)).rows);
  const reserveBytes = async () =>
    Number(
      (await query<{ bytes: string | null }>("SELECT pg_relation_size(to_regclass('reserve')) AS bytes"))[0]!.bytes,
    );
  return { a: await open('nod_a'), b: await open('nod_b'), query, reserveBytes };
}

test('one node makes the reserve for all; it takes its space, and leaves what must be spare', async (t) => {
  const { a, b, query, reserveBytes } = await twoNodes(t);
  assert.equal(await a.reserve.isThere(), false);
  const results = await Promise.all([a.reserve.make(BYTES, BYTES), b.reserve.make(BYTES, BYTES)]);
  assert.ok(results.includes('made') && !results.includes('full'), String(results));
  assert.equal(await b.reserve.isThere(), true);
  assert.ok((await reserveBytes()) >= BYTES);
  assert.ok((await reserveBytes()) < 1.1 * BYTES);
  assert.equal(await b.reserve.make(BYTES, 0), 'made', 'it is there');
  assert.ok((await reserveBytes()) < 1.1 * BYTES);
  const tables = await query<{ name: string; kind: string }>(
    "SELECT relname::text AS name, relpersistence AS kind FROM pg_class WHERE relname LIKE 'reserve%'",
  );
  assert.deepEqual(tables, [{ name: 'reserve', kind: 'u' }]);
  const [page] = await query<{ count: string; distinct: string }>(
    'SELECT count(*), count(DISTINCT page) AS distinct FROM reserve',
  );
  assert.ok(Number(page!.count) >= BYTES / 8192);
  assert.ok(Number(page!.distinct) >= 32, 'a file system cannot compress it');
  await a.reserve.recycleLog();
});

test('a write without space gives up the reserve and is run again, every node hears of it, and a publish is not run again', async (t) => {
  const { a, b, query, reserveBytes } = await twoNodes(t);
  await a.store.createAccount({ id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW }, KEYS);
  await a.reserve.make(BYTES, 0);
  await query(FULL);

  await Promise.all(
    ['two', 'three', 'four'].map((name) =>
      b.store.createAccount({ id: `acc_${name}`, name, tier: 'free', createdAt: NOW }, KEYS),
    ),
  );
  assert.equal(await reserveBytes(), 0);
  assert.equal(b.heard.times, 1);
  await waitFor('the other node to hear of it', () => a.heard.times === 1);

  assert.equal(await a.reserve.make(BYTES, 0), 'made');
  const isFull = (error: unknown) => error instanceof StoreUnavailable && error.reason === 'full';
  await assert.rejects(a.store.accept([message({ dueAt: NOW + 60_000 })], NOW), isFull);
  await waitFor('it to be given up', async () => (await reserveBytes()) === 0);
  const [stored] = await query<{ count: string }>('SELECT count(*) FROM messages');
  assert.equal(stored!.count, '0');
});
