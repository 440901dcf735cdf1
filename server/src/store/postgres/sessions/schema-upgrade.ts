// Brings the schema up to date, one node at a time, while nodes of the previous version keep working. Indexes are built
// concurrently. A change that older nodes cannot work with waits until they have stopped.

import type { Clock } from '../../../runtime/world.ts';
import { type Files, shippedFiles } from '../../../shipped-files.ts';
import { type Migration, pendingMigrations, readMigrations } from '../../migrations.ts';
import type { Database } from './database.ts';
import type { WriteLog } from './link.ts';

const LOCK = "hashtextextended('postrider schema ' || current_schema(), 8411)";
const LOCK_POLL_MS = 200;
/** A node that waits longer than this logs what it waits for, and logs it again at this interval. */
const LOCK_SAID_MS = 3000;
/**
 * A statement that waits for a table lock blocks all later statements on the table. So it waits less than a writer does
 * (lock_timeout), and then tries again.
 */
const TABLE_LOCK_MS_MAX = 500;
const TABLE_LOCK_PAUSE_MS = 500;
const TABLE_LOCK_TRIES_MAX = 60;
const LOCK_NOT_AVAILABLE = '55P03';
/** How long an upgrade waits for older nodes to stop. Each of them drains first. */
const GONE_MS_MAX = 120_000;
const GONE_POLL_MS = 500;

export interface UpgradeOptions {
  readonly timers: Clock;
  readonly log: WriteLog;
  /** The migrations of another version of the program, for tests. */
  readonly migrations?: Files | undefined;
}

interface SchemaRow {
  readonly version: number;
  /**
   * The number of the newest migration that a program must know to use this schema. A program that does not know it
   * refuses to start, and stops if it is running.
   */
  readonly reader_min: number;
}

/** Returns the version of the schema that this program knows. */
export async function bringUpToDate(database: Database, options: UpgradeOptions): Promise<number> {
  const migrations = readMigrations(options.migrations ?? shippedFiles('store/postgres/migrations'));
  await database.exec(
    'CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL, reader_min integer NOT NULL DEFAULT 0)',
  );
  const row = await schemaRow(database);
  if (!row) await makeSchema(database, migrations);
  else await applyPending(database, pendingMigrations(migrations, row.version, row.reader_min), options);
  return migrations.length;
}

/** For a command beside the service: checks the schema and changes nothing. */
export async function requireUpToDate(database: Database, given?: Files): Promise<number> {
  const migrations = readMigrations(given ?? shippedFiles('store/postgres/migrations'));
  const row = (await hasTable(database, 'schema_version')) ? await schemaRow(database) : undefined;
  if (!row) throw new Error('there is no store in this database');
  if (pendingMigrations(migrations, row.version, row.reader_min).length === 0) return migrations.length;
  throw new Error(
    'the store in this database was written by an older postrider: start this version on it once to upgrade it',
  );
}

/** Why a program that knows the schema up to `known` must stop; null while it may continue. */
export function whyOutdated(readerMin: number, known: number): string | null {
  if (readerMin <= known) return null;
  return (
    `the database is being upgraded to a schema that needs a newer postrider (this one knows version ${known} of the schema, ` +
    `${readerMin} is needed). This node stops, so that no message fails: start the newer version instead.`
  );
}

/**
 * Runs `work` under a lock: however many nodes start at once, one of them migrates. The lock is polled. A session that
 * waited for it inside a statement would block the build of an index, which waits for every earlier statement.
 */
export async function underSchemaLock<T>(
  database: Database,
  { timers, log }: Pick<UpgradeOptions, 'timers' | 'log'>,
  work: () => Promise<T>,
): Promise<T> {
  const before = await database.get<{ statement: string; lock: string }>(
    "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock",
  );
  // A migration of a large table takes long.
  await setTimeouts(database, '0', '0');
  let saidAtMs = timers.monotonicMs();
  for (;;) {
    const row = await database.get<{ is: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS is`);
    if (row!.is) break;
    if (timers.monotonicMs() - saidAtMs >= LOCK_SAID_MS) {
      saidAtMs = timers.monotonicMs();
      log('warn', (await lockHolder(database)) ?? {}, 'waiting for another node that is upgrading the schema');
    }
    await pause(timers, LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    // On a lost connection the lock is released too.
    await database.exec(`SELECT pg_advisory_unlock(${LOCK})`).catch(() => {});
    await setTimeouts(database, before!.statement, before!.lock).catch(() => {});
  }
}

/** The session that holds the lock. If its node stalls, the operator of the database can end the session. */
function lockHolder(database: Database): Promise<{ databaseProcess: number; from: string | null } | undefined> {
  return database.get(
    `SELECT l.pid AS "databaseProcess", host(a.client_addr) AS "from" FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND (l.classid::bigint << 32 | l.objid::bigint) = ${LOCK}`,
  );
}

async function setTimeouts(database: Database, statement: string, lock: string): Promise<void> {
  const sql = "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false)";
  await database.get(sql, statement, lock);
}

/** Commits what `work` did, or nothing. */
export async function inTransaction<T>(database: Database, work: () => Promise<T>): Promise<T> {
  await database.exec('BEGIN');
  try {
    const result = await work();
    await database.exec('COMMIT');
    return result;
  } catch (error) {
    await database.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

export async function hasTable(database: Database, name: string): Promise<boolean> {
  const row = await database.get<{ is: boolean }>(
    "SELECT to_regclass(quote_ident(current_schema()) || '.' || $1::text) IS NOT NULL AS is",
    name,
  );
  return row!.is;
}

function schemaRow(database: Database): Promise<SchemaRow | undefined> {
  return database.get<SchemaRow>('SELECT version, reader_min FROM schema_version');
}

/** Runs all migrations in one transaction, in an empty database. */
function makeSchema(database: Database, migrations: readonly Migration[]): Promise<void> {
  return inTransaction(database, async () => {
    for (const migration of migrations) await run(database, migration, migration.sql.replaceAll(' CONCURRENTLY', ''));
    const readerMin = Math.max(...migrations.map(readerMinOf));
    const sql = 'INSERT INTO schema_version (version, reader_min) VALUES ($1, $2)';
    await database.run(sql, migrations.length, readerMin);
  });
}

/**
 * Runs each migration and writes its number in one transaction; the statements of an index migration run one by one,
 * concurrently with the traffic.
 */
async function applyPending(
  database: Database,
  pending: readonly Migration[],
  { timers, log }: UpgradeOptions,
): Promise<void> {
  for (const migration of pending) {
    const readerMin = readerMinOf(migration);
    if (readerMin > 0) await sendOlderAway(database, readerMin, timers, log);
    log('info', {}, `upgrading the schema: ${migration.name}`);
    if (isConcurrent(migration)) await buildIndexes(database, migration);
    else await changeTables(database, migration, timers);
  }
}

function isConcurrent({ sql }: Migration): boolean {
  return /\bCONCURRENTLY\b/.test(withoutComments(sql));
}

/** `-- readers: 20` means that a program must know migration 20 to work with the result of this one. */
function readerMinOf({ sql }: Migration): number {
  return Number(/^-- readers: (\d+)$/m.exec(sql)?.[1] ?? 0);
}

async function changeTables(database: Database, migration: Migration, timers: Clock): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTransaction(database, async () => {
        await database.exec(`SET LOCAL lock_timeout = ${TABLE_LOCK_MS_MAX}`);
        await run(database, migration, migration.sql);
        await noteVersion(database, migration);
      });
    } catch (error) {
      const { code } = ((error as Error).cause ?? error) as { code?: string };
      if (code !== LOCK_NOT_AVAILABLE || tries === TABLE_LOCK_TRIES_MAX) throw error;
      await pause(timers, TABLE_LOCK_PAUSE_MS);
    }
  }
}

/** An index that a crash left half-built is dropped and built again. A complete index is left alone. */
async function buildIndexes(database: Database, migration: Migration): Promise<void> {
  for (const statement of statementsOf(migration.sql)) {
    const name = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) /.exec(statement)?.[1];
    if (name !== undefined) {
      const row = await database.get<{ is_valid: boolean }>(
        `SELECT indisvalid AS is_valid FROM pg_index
           WHERE indexrelid = to_regclass(quote_ident(current_schema()) || '.' || $1::text)`,
        name,
      );
      if (row?.is_valid) continue;
      if (row) await run(database, migration, `DROP INDEX CONCURRENTLY ${name}`);
    }
    await run(database, migration, statement);
  }
  await noteVersion(database, migration);
}

async function noteVersion(database: Database, { version }: Migration): Promise<void> {
  await database.run('UPDATE schema_version SET version = $1', version);
}

async function run(database: Database, { name }: Migration, sql: string): Promise<void> {
  await database.exec(sql).catch((error: Error) => {
    throw new Error(`migration ${name}: ${error.message}`, { cause: error });
  });
}

/** From now on older nodes stop, and no older node starts. Waits until the last of them has stopped. */
async function sendOlderAway(database: Database, readerMin: number, timers: Clock, log: WriteLog): Promise<void> {
  await database.run('UPDATE schema_version SET reader_min = greatest(reader_min, $1)', readerMin);
  const endsAtMs = timers.monotonicMs() + GONE_MS_MAX;
  for (let isLogged = false; ; isLogged = true) {
    const older = await database.all<{ id: string }>(
      `SELECT id FROM nodes WHERE alive_until > clock_timestamp() AND coalesce(schema_version, 0) < $1 ORDER BY id LIMIT 10`,
      readerMin,
    );
    if (older.length === 0) return;
    const ids = older.map(({ id }) => id).join(', ');
    if (timers.monotonicMs() > endsAtMs) {
      throw new Error(`the schema cannot be upgraded, because nodes of an older version still run: ${ids}`);
    }
    if (!isLogged) log('info', {}, `waiting for nodes of an older version to stop: ${ids}`);
    await pause(timers, GONE_POLL_MS);
  }
}

export function statementsOf(sql: string): string[] {
  return withoutComments(sql)
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

function withoutComments(sql: string): string {
  return sql.replace(/--.*$/gm, '');
}

function pause(timers: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void timers.after(ms, resolve));
}
