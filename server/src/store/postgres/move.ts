// A PostgreSQL database as the target of a move. The table store_move exists while a move is unfinished, and records
// the progress of each table. No node starts on the database while the table exists.

import { shownDatabase } from '../../rules/nodes/database-url.ts';
import type { Clock } from '../../runtime/world.ts';
import {
  FinishInDoubt,
  MOVED_TABLES,
  type MovedTable,
  type MoveIdentity,
  type MoveTarget,
  type Position,
  type Row,
  type TableProgress,
  TargetNotEmpty,
} from '../move.ts';
import { storable } from './messages/storable.ts';
import { rowsToCompare } from './move-check.ts';
import type { Database, Value } from './sessions/database.ts';
import { isLost } from './sessions/errors.ts';
import type { WriteLog } from './sessions/link.ts';
import { hasUnfinishedMove, openForMove } from './sessions/open.ts';
import { inTransaction, underSchemaLock } from './sessions/schema-upgrade.ts';

/** The session of a move holds this lock: a killed process may still run a statement when the next move begins. */
const LOCK = "hashtextextended('postrider move ' || current_schema(), 8411)";
const LOCK_NOT_AVAILABLE = '55P03';

/** The only columns that store unchanged text of a remote server. */
const FOREIGN: Readonly<Partial<Record<MovedTable, string>>> = { attempts: 'error', messages: 'failure' };

interface Waiting {
  readonly timers: Clock;
  readonly log: WriteLog;
}

export async function openMoveTarget(options: Waiting & { readonly url: string }): Promise<MoveTarget> {
  const { database, close } = await openForMove(options);
  try {
    // A batch with a large body may take long, and so may reading the source between two batches.
    await database.exec('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0');
    await database.exec(`SELECT pg_advisory_lock(${LOCK})`);
  } catch (error) {
    await close();
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
    throw new Error(`another move into ${shownDatabase(options.url)} is running`);
  }
  const columnsOf = new Map<MovedTable, Promise<Column[]>>();
  return {
    begin: (identity) =>
      inSchemaTransaction(database, options, () => begin(database, identity, shownDatabase(options.url))),
    async write(table, rows, at) {
      let columns = columnsOf.get(table);
      if (!columns) {
        columns = readColumns(database, table);
        columnsOf.set(table, columns);
      }
      await write(database, table, await columns, rows, at);
    },
    async endTable(table) {
      await database.run('UPDATE store_move SET is_done = true WHERE table_name = $1', table);
    },
    asStored,
    compared: (table) => rowsToCompare(database, table),
    async replaced() {
      const row = await database.get<{ n: number }>('SELECT sum(replaced)::bigint AS n FROM store_move');
      return row!.n;
    },
    finish: (highestSeq, beforeCommit) => finish(database, options, highestSeq, beforeCommit),
    close,
  };
}

interface ProgressRow {
  readonly source: string;
  readonly source_name: string;
  readonly started_at: number;
  readonly table_name: string;
  readonly at: string | null;
  readonly rows: number;
  readonly is_done: boolean;
}

async function begin(database: Database, identity: MoveIdentity, where: string) {
  if (!(await hasUnfinishedMove(database))) {
    await requireEmpty(database, where);
    await database.exec(`CREATE TABLE store_move (source text NOT NULL, source_name text NOT NULL, started_at bigint NOT NULL,
      table_name text PRIMARY KEY, at text, rows bigint NOT NULL, replaced bigint NOT NULL, is_done boolean NOT NULL)`);
    await database.run(
      `INSERT INTO store_move (source, source_name, started_at, table_name, at, rows, replaced, is_done)
         SELECT $1, $2, $3, t, NULL, 0, 0, false FROM unnest($4::text[]) AS t`,
      identity.fingerprint,
      identity.name,
      identity.startedAt,
      MOVED_TABLES,
    );
  }
  const progress = await database.all<ProgressRow>(
    'SELECT source, source_name, started_at, table_name, at, rows, is_done FROM store_move',
  );
  const { source, source_name, started_at } = progress[0]!;
  if (source !== identity.fingerprint) {
    throw new Error(
      `the database ${where} holds an unfinished move from ${source_name}, but ${identity.name} is another store or has changed since then; to move it, use an empty database`,
    );
  }
  const tables = new Map<string, TableProgress>(
    progress.map(({ table_name, at, rows, is_done }) => [
      table_name,
      { at: at === null ? null : (JSON.parse(at) as Position), rows, isDone: is_done },
    ]),
  );
  return { startedAt: started_at, tables };
}

async function requireEmpty(database: Database, where: string): Promise<void> {
  const filled: string[] = [];
  for (const table of MOVED_TABLES) {
    const row = await database.get<{ is: boolean }>(`SELECT EXISTS (SELECT FROM ${table}) AS is`);
    if (row!.is) filled.push(table);
  }
  if (filled.length > 0) {
    throw new TargetNotEmpty(
      `the database ${where} is not empty (${filled.join(', ')}): a move needs an empty database`,
    );
  }
  const nodes = await database.get<{ n: number }>(
    'SELECT count(*) AS n FROM nodes WHERE alive_until > clock_timestamp()',
  );
  if (nodes!.n > 0)
    throw new Error(`the database ${where} is in use (running nodes: ${nodes!.n}); stop the service first`);
}

interface Column {
  readonly name: string;
  readonly type: string;
}

function readColumns(database: Database, table: MovedTable): Promise<Column[]> {
  return database.all<Column>(
    `SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.' || $1) AND attnum > 0 AND NOT attisdropped
       ORDER BY attnum`,
    table,
  );
}

async function write(
  database: Database,
  table: MovedTable,
  columns: readonly Column[],
  rows: readonly Row[],
  at: Position,
): Promise<void> {
  const stored = rows.map((row) => asStored(table, row));
  const replaced = stored.filter((row, index) => row !== rows[index]).length;
  const [sql, ...values] = insertion(table, columns, stored);
  await database.exec('BEGIN');
  try {
    await database.run(sql, ...values);
    await database.run(
      'UPDATE store_move SET at = $2, rows = rows + $3, replaced = replaced + $4 WHERE table_name = $1',
      table,
      JSON.stringify(at),
      rows.length,
      replaced,
    );
    await database.exec('COMMIT');
  } catch (error) {
    await database.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** One parameter for all columns and one for all bytes, as in insert.ts. There is at most one column of bytes. */
function insertion(
  table: MovedTable,
  columns: readonly Column[],
  rows: readonly Row[],
): [sql: string, ...values: Value[]] {
  const bytesColumn = columns.find(({ type }) => type === 'bytea')?.name;
  let length = 0;
  const pieces: Uint8Array[] = [];
  const given = rows.map((row) => {
    const made: Record<string, unknown> = Object.create(null);
    for (const { name, type } of columns) {
      const value = row[name];
      if (value === undefined) throw new Error(`the source has no ${name} for ${table}`);
      if (value instanceof Uint8Array) {
        made[name] = undefined;
        made.bytes_at = length + 1;
        made.bytes_length = value.length;
        length += value.length;
        pieces.push(value);
      } else {
        if (typeof value === 'string') requireText(table, name, value);
        made[name] = type === 'boolean' ? Boolean(value) : value;
      }
    }
    return made;
  });
  const names = columns.map(({ name }) => name);
  const typed = columns.filter(({ name }) => name !== bytesColumn).map(({ name, type }) => `${name} ${type}`);
  const read = names.map((name) =>
    name === bytesColumn ? 'substring($2::bytea FROM bytes_at FOR bytes_length)' : name,
  );
  const more = bytesColumn === undefined ? [] : ['bytes_at int', 'bytes_length int'];
  const sql = `INSERT INTO ${table} (${names.join(', ')}) SELECT ${read.join(', ')}
    FROM json_to_recordset($1::json) AS r (${[...typed, ...more].join(', ')})`;
  const text = JSON.stringify(given);
  if (bytesColumn === undefined) return [sql, text];
  return [sql, text, pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length)];
}

function requireText(table: MovedTable, column: string, text: string): void {
  if (text.includes('\0'))
    throw new Error(`a ${column} in ${table} has a character U+0000, which PostgreSQL cannot store`);
}

/** The row as PostgreSQL can store it: the same object, unless something in it had to be replaced. */
function asStored(table: MovedTable, row: Row): Row {
  const column = FOREIGN[table];
  if (column === undefined) return row;
  const text = row[column];
  if (typeof text !== 'string') return row;
  const held = storable(text);
  return held === text ? row : { ...row, [column]: held };
}

async function finish(
  database: Database,
  options: Waiting,
  highestSeq: number,
  beforeCommit: () => void,
): Promise<void> {
  // The planner needs the statistics for the first claims after a start.
  await database.exec(`ANALYZE ${MOVED_TABLES.join(', ')}`);
  await underSchemaLock(database, options, async () => {
    await database.exec('BEGIN');
    try {
      if (highestSeq > 0) await database.get("SELECT setval('message_seq', $1)", highestSeq);
      await database.exec('DROP TABLE store_move');
      beforeCommit();
    } catch (error) {
      await database.exec('ROLLBACK').catch(() => {});
      throw error;
    }
    await database.exec('COMMIT').catch((error: Error) => {
      throw isLost(error) ? new FinishInDoubt(error.message, { cause: error }) : error;
    });
  });
}

function inSchemaTransaction<T>(database: Database, options: Waiting, work: () => Promise<T>): Promise<T> {
  return underSchemaLock(database, options, () => inTransaction(database, work));
}
