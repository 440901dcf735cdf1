// Moves everything from one store into another. Rows are copied in batches. Each batch is one transaction with the
// position that it reached, so if the process is killed, the next run continues. Then both stores are compared. Only if
// they are equal, the source is marked as moved, and the target becomes usable.

import { TableDigest } from './rows/row-digest.ts';

/**
 * The tables in the order of copying: accounts before their tokens. Nodes are processes and are not moved. Nor is the
 * stored time: a node that starts on the target finds the newest time in the positions of the queues.
 */
export const MOVED_TABLES = [
  'accounts',
  'tokens',
  'sessions',
  'audit',
  'usage',
  'stored',
  'topics',
  'queues',
  'flow_keys',
  'hosts',
  'service_keys',
  'schedules',
  'alerts',
  'deduplication',
  'jobs',
  'bodies',
  'messages',
  'message_labels',
  'attempts',
  'acks',
  'journal',
  'activity_minutes',
  'activity_hours',
] as const;
export type MovedTable = (typeof MOVED_TABLES)[number];

/** Limits for one batch, in rows and in bytes. A row with more bytes than the limit is copied alone. */
const BATCH_ROWS_MAX = 1000;
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** How many rows are compared between two reports of progress. */
const COMPARED_ROWS_REPORTED = 1000;

export type FieldValue = string | number | boolean | null | Uint8Array;
/** A row with at least the columns of the target's table. Flags may be 0 and 1 instead of booleans. */
export type Row = Readonly<Record<string, FieldValue>>;
/** The key of the last row that was copied. The copy continues after this row. */
export type Position = readonly (string | number)[];

/**
 * The source of a move, and when the move began. A move that continues keeps the start time of its first run, because
 * some copied values depend on it.
 */
export interface MoveIdentity {
  /** A hash of the state of the source. An unfinished move continues only if the hash is still the same. */
  readonly fingerprint: string;
  /** The location of the source, for people. */
  readonly name: string;
  readonly startedAt: number;
}

/** The store that is copied. It cannot be changed while this object is open. */
export interface MoveSource {
  readonly fingerprint: string;
  readonly name: string;
  count(table: MovedTable): number;
  /** The rows after a position (null: all), in the order of their keys. Yields one at a time: a row may be large. */
  rows(
    table: MovedTable,
    after: Position | null,
    startedAt: number,
  ): Iterable<{ readonly row: Row; readonly at: Position }>;
  /**
   * The rows of a table for the comparison, in any order. They are read with other queries than in `rows`, so that an
   * error in the copy is noticed. Bytes are returned as their SHA-256 in hexadecimal.
   */
  compared(table: MovedTable, startedAt: number): Iterable<Row>;
  /** The highest number of a message or a body that the source knows. New numbers in the target must be higher. */
  highestSeq(): number;
  /** Whether an earlier move into the same target was cut off at its end: the target may then be usable already. */
  readonly isMoveInDoubt: boolean;
  /**
   * From now on no service starts on the source. This is called before the target becomes usable, so that both stores
   * are never usable at once.
   */
  setMoved(at: number): void;
  /** Records that the target was not made usable, so that services may start on the source again. */
  setNotMoved(): void;
  /** Records that the target has confirmed the end of the move. */
  confirmMoved(at: number): void;
  close(): void;
}

/** How far a table was copied. `at` is null before its first batch. */
export interface TableProgress {
  readonly at: Position | null;
  readonly rows: number;
  readonly isDone: boolean;
}

export interface MoveTarget {
  /** Accepts an empty store, or a store with an unfinished move of the same source. Throws for any other store. */
  begin(identity: MoveIdentity): Promise<{ readonly startedAt: number; readonly tables: Map<string, TableProgress> }>;
  /** Writes the rows and the position in one transaction. */
  write(table: MovedTable, rows: readonly Row[], at: Position): Promise<void>;
  endTable(table: MovedTable): Promise<void>;
  /** The row as this store holds it: characters that it cannot store are replaced. */
  asStored(table: MovedTable, row: Row): Row;
  /** The rows of a table for the comparison, in any order. Bytes are returned as their SHA-256 in hexadecimal. */
  compared(table: MovedTable): AsyncIterable<Row>;
  /** How many strings had a character replaced that this store cannot hold. */
  replaced(): Promise<number>;
  /**
   * Makes the target a usable store, which gives its next message a number above `highestSeq`. Calls `beforeCommit`
   * when only the commit is left. Rejects with `FinishInDoubt` if the commit was not confirmed.
   */
  finish(highestSeq: number, beforeCommit: () => void): Promise<void>;
  close(): Promise<void>;
}

export interface MoveProgress {
  readonly phase: 'copying' | 'comparing';
  readonly table: MovedTable;
  readonly done: number;
  readonly total: number;
}

export interface MoveReport {
  readonly isFinished: boolean;
  readonly isResumed: boolean;
  readonly tables: readonly {
    readonly table: MovedTable;
    readonly sourceRows: number;
    readonly targetRows: number;
    readonly isSame: boolean;
  }[];
  /** How many strings had a character replaced that the target cannot store. */
  readonly replaced: number;
}

/** Thrown by `begin`: the target already holds a store. */
export class TargetNotEmpty extends Error {}

/** The connection was lost before the last commit of the move was confirmed: the target may be usable or not. */
export class FinishInDoubt extends Error {}

/** The move failed after it had begun. The next run continues it. */
export class MoveStopped extends Error {}

/** Runs or continues a move. If the stores differ, the report says so, and the move is not finished. */
export async function moveStore(
  source: MoveSource,
  target: MoveTarget,
  options: { readonly now: number; readonly onProgress: (progress: MoveProgress) => void },
): Promise<MoveReport> {
  const { fingerprint, name } = source;
  const { startedAt, tables } = await target.begin({ fingerprint, name, startedAt: options.now }).catch((error) => {
    if (!(error instanceof TargetNotEmpty) || !source.isMoveInDoubt) throw error;
    // The target would have accepted an unfinished move. It already holds a store, so the earlier move was committed.
    source.confirmMoved(options.now);
    throw new Error('the earlier move into this database is complete: start with --store', { cause: error });
  });
  const isResumed = [...tables.values()].some(({ at, isDone }) => at !== null || isDone);
  try {
    await copyAll(source, target, startedAt, tables, options.onProgress);
    const compared = await compareAll(source, target, startedAt, options.onProgress);
    const isFinished = compared.every(({ isSame }) => isSame);
    const replaced = await target.replaced();
    if (isFinished) await finish(source, target, options.now);
    return { isFinished, isResumed, tables: compared, replaced };
  } catch (error) {
    throw new MoveStopped((error as Error).message, { cause: error });
  }
}

async function finish(source: MoveSource, target: MoveTarget, now: number): Promise<void> {
  let isSet = false;
  try {
    await target.finish(source.highestSeq(), () => {
      source.setMoved(now);
      isSet = true;
    });
  } catch (error) {
    // While it is unknown whether the target is usable, the source stays marked, and no service starts on it.
    if (isSet && !(error instanceof FinishInDoubt)) source.setNotMoved();
    throw error;
  }
  source.confirmMoved(now);
}

async function copyAll(
  source: MoveSource,
  target: MoveTarget,
  startedAt: number,
  tables: ReadonlyMap<string, TableProgress>,
  onProgress: (progress: MoveProgress) => void,
): Promise<void> {
  const total = MOVED_TABLES.reduce((sum, table) => sum + source.count(table), 0);
  let done = [...tables.values()].reduce((sum, { rows }) => sum + rows, 0);
  for (const table of MOVED_TABLES) {
    const before = tables.get(table);
    if (before?.isDone) continue;
    onProgress({ phase: 'copying', table, done, total });
    for (const { rows, at } of batches(source.rows(table, before?.at ?? null, startedAt))) {
      await target.write(table, rows, at);
      done += rows.length;
      onProgress({ phase: 'copying', table, done, total });
    }
    await target.endTable(table);
  }
}

function* batches(given: ReturnType<MoveSource['rows']>): Iterable<{ readonly rows: Row[]; readonly at: Position }> {
  let rows: Row[] = [];
  let bytes = 0;
  let last: Position = [];
  for (const { row, at } of given) {
    const size = sizeOf(row);
    if (rows.length >= BATCH_ROWS_MAX || (rows.length > 0 && bytes + size > BATCH_BYTES_MAX)) {
      yield { rows, at: last };
      rows = [];
      bytes = 0;
    }
    rows.push(row);
    bytes += size;
    last = at;
  }
  if (rows.length > 0) yield { rows, at: last };
}

function sizeOf(row: Row): number {
  let bytes = 0;
  for (const value of Object.values(row)) {
    bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
  }
  return bytes;
}

/** Reads all columns of all rows of both stores again, to find anything that was not copied correctly. */
async function compareAll(
  source: MoveSource,
  target: MoveTarget,
  startedAt: number,
  onProgress: (progress: MoveProgress) => void,
): Promise<MoveReport['tables']> {
  const total = 2 * MOVED_TABLES.reduce((sum, table) => sum + source.count(table), 0);
  let done = 0;
  const step = (table: MovedTable) => {
    done += 1;
    if (done % COMPARED_ROWS_REPORTED === 0) onProgress({ phase: 'comparing', table, done, total });
  };
  const results: MoveReport['tables'][number][] = [];
  for (const table of MOVED_TABLES) {
    onProgress({ phase: 'comparing', table, done, total });
    const [here, there] = [new TableDigest(), new TableDigest()];
    for (const row of source.compared(table, startedAt)) {
      here.add(target.asStored(table, row));
      step(table);
    }
    for await (const row of target.compared(table)) {
      there.add(row);
      step(table);
    }
    const isSame = here.count === there.count && here.sum() === there.sum();
    results.push({ table, sourceRows: here.count, targetRows: there.count, isSame });
  }
  return results;
}
