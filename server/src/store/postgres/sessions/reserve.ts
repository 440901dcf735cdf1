// The reserve as a table of its own, which is dropped when a write finds no space. It is unlogged: filling it writes no log,
// and after a crash PostgreSQL empties it before anything else, so that a server without space for its log can start again.

import type { Database } from './database.ts';

const LOCK = "hashtextextended('postrider reserve ' || current_schema(), 8411)";
/** The size of a page of PostgreSQL. Each row of the reserve fills one page. */
const PAGE_BYTES = 8192;
/** How many pages have random bytes, which no file system can compress. The other pages are copies of these. */
const FIRST_PAGES = 32;
/** How long a release waits for a node that creates the reserve: that node fails soon, which frees space too. */
const LOCK_MS_MAX = 5000;

export async function isReserveThere(database: Database): Promise<boolean> {
  const row = await database.get<{ bytes: number | null }>(
    "SELECT pg_relation_size(to_regclass(quote_ident(current_schema()) || '.reserve')) AS bytes",
  );
  return (row!.bytes ?? 0) > 0;
}

/** Runs in a transaction. Rejects if there is no space. Returns false if another node is creating the reserve. */
export async function makeReserve(database: Database, bytes: number, spareBytes: number): Promise<boolean> {
  const lock = await database.get<{ is: boolean }>(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS is`);
  if (!lock!.is) return false;
  if (await isReserveThere(database)) return true;
  // Fails in a schema that was emptied or replaced, so that nothing is created there.
  await database.exec('SELECT seq FROM messages LIMIT 0');
  // The table is created again, even if a crash has only emptied it: what a failed transaction adds to an old table
  // stays on the disk.
  await database.exec('DROP TABLE IF EXISTS reserve');
  await fill(database, 'reserve', bytes);
  if (spareBytes > 0) {
    await database.exec('SAVEPOINT spare');
    await fill(database, 'reserve_spare', spareBytes);
    await database.exec('ROLLBACK TO SAVEPOINT spare');
  }
  return true;
}

async function fill(database: Database, table: 'reserve' | 'reserve_spare', bytes: number): Promise<void> {
  await database.exec(`CREATE UNLOGGED TABLE ${table} (page bytea NOT NULL) WITH (autovacuum_enabled = false)`);
  await database.exec(`ALTER TABLE ${table} ALTER COLUMN page SET STORAGE PLAIN`);
  const pages = Math.ceil(bytes / PAGE_BYTES);
  let made = Math.min(pages, FIRST_PAGES);
  await database.exec(
    `INSERT INTO ${table} (page) SELECT (SELECT string_agg(sha256(convert_to(random()::text || page || part, 'UTF8')), '')
       FROM generate_series(1, 250) AS part) FROM generate_series(1, ${made}) AS page`,
  );
  while (made < pages) {
    const more = Math.min(made, pages - made);
    await database.exec(`INSERT INTO ${table} (page) SELECT page FROM ${table} LIMIT ${more}`);
    made += more;
  }
}

/**
 * Runs in a transaction. Returns whether the reserve existed. Dropping the table needs no further page. Emptying it
 * would: its new files and the new rows of the catalogue may need pages.
 */
export async function dropReserve(database: Database): Promise<boolean> {
  await database.exec(`SET LOCAL lock_timeout = ${LOCK_MS_MAX}`);
  await database.exec(`SELECT pg_advisory_xact_lock(${LOCK})`);
  const isThere = await isReserveThere(database);
  await database.exec('DROP TABLE IF EXISTS reserve');
  return isThere;
}
