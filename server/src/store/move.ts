// Moves everything from one store into another. The move copies batches, each written with the position that it
// reached, compares both stores, and only then marks the move as finished. If the process is killed at any point, the
// next run continues.

import { TableDigest } from './rows/row-digest.ts';

/**
 * The tables in the order of copying: an account comes before its tokens. Nodes are not moved, because a process does
 * not move with its data. The clock is not moved either: the positions in the queues show how far it had come.
 */
export const MOVED_TABLES = [
  'accounts',
  'tokens',
  'sessions',
  'usage',
  'stored',
  'topics',
  'queues',
  'flow_keys',
  'schedules',
  'alerts',
  'deduplication',
  'jobs',
  'bodies',
  'messages',
  'message_labels',
  'attempts',
  'journal',
  'activity_minutes',
  'activity_hours',
] as const;
export type MovedTable = (typeof MOVED_TABLES)[number];

/** Limit for the rows of one batch. A row that is larger than a batch is copied alone. */
const BATCH_ROWS_MAX = 1000;
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** How many rows are compared between two reports of progress. */
const COMPARED_ROWS_REPORTED = 1000;

export type Field = string | number | boolean | null | Uint8Array;
/** A row in the form that the target needs. Flags may be 0 and 1. */
export type Row = Readonly<Record<string, Field>>;
/** The key values of a row: copying continues after it. */
export type Position = readonly (string | number)[];

/**
 * What is moved, and when the move began. A continued move keeps the time of its first run, so that everything that
 * depends on the time stays the same too.
 */
export interface MoveIdentity {
  /** The fingerprint does not change as long as nothing in the source changes. */
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
  /** The rows after a position, in key order. They are read one at a time, because a row may be large. */
  rows(
    table: MovedTable,
    after: Position | null,
    startedAt: number,
  ): Iterable<{ readonly row: Row; readonly at: Position }>;
  /**
   * The same rows for the comparison, read in any order by other queries. Bytes are returned as their SHA-256 in
   * hexadecimal.
   */
  compared(table: MovedTable, startedAt: number): Iterable<Row>;
  /** A number that is not lower than that of any message which the source has or ever had. */
  highestSeq(): number;
  /** Whether an earlier move into the same target was interrupted at its end. */
  readonly isMoveInDoubt: boolean;
  /**
   * From now on no service starts on the source. This is called before the target becomes usable, so that both stores
   * are never usable at once.
   */
  setMoved(at: number): void;
  /** Records that the target was not made usable, so that services may start on the source again. */
  setNotMoved(): void;
  /** Records that the target has confirmed that it is usable. */
  confirmMoved(at: number): void;
  close(): void;
}

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
  /** The row in the form in which this store can hold it. */
  asStored(table: MovedTable, row: Row): Row;
  /** The rows for the comparison, in any order. Bytes are returned as their SHA-256 in hexadecimal. */
  compared(table: MovedTable): AsyncIterable<Row>;
  /** How many strings could not be stored unchanged. */
  replaced(): Promise<number>;
  /**
   * After this call the target is a normal store. Calls `beforeCommit` when only the commit is left. Rejects with
   * `FinishInDoubt` if the commit was not confirmed.
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

/** The target holds a store already. */
export class TargetNotEmpty extends Error {}

/** The connection was lost before the commit was confirmed. */
export class FinishInDoubt extends Error {}

/** The move was stopped after it had begun. The next run continues it. */
export class MoveStopped extends Error {}

export async function moveStore(
  source: MoveSource,
  target: MoveTarget,
  options: { readonly now: number; readonly onProgress: (progress: MoveProgress) => void },
): Promise<MoveReport> {
  const { fingerprint, name } = source;
  const { startedAt, tables } = await target.begin({ fingerprint, name, startedAt: options.now }).catch((error) => {
    if (!(error instanceof TargetNotEmpty) || !source.isMoveInDoubt) throw error;
    // If the earlier move were unfinished, the target would not throw this error. So that move was committed.
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
    // If it is unknown whether the target is usable, no service may start on the source.
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

/** Reads all columns of all rows of both stores again, to find anything that was not copied. */
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
