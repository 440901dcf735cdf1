// Moves everything from one store into another: copies it in batches, each with the place it reached, compares both
// sides, and only then calls it finished. Killed anywhere and started again, it goes on.

import { TableDigest } from './row-digest.ts';

/** In the order of copying: an account before its tokens. Nodes stay: a process does not move with its data.
 * So does the clock: the places in line tell how far it had come. */
export const MOVED_TABLES = [
  'accounts',
  'tokens',
  'sessions',
  'usage',
  'topics',
  'queues',
  'flow_keys',
  'schedules',
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

/** Of one batch. A row that is larger goes alone. */
const BATCH_ROWS_MAX = 1000;
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** How many rows are compared between two reports of progress. */
const COMPARED_ROWS_REPORTED = 1000;

export type Field = string | number | boolean | null | Uint8Array;
/** As the target wants it; flags may be 0 and 1. */
export type Row = Readonly<Record<string, Field>>;
/** The values of a row's key: where copying goes on. */
export type Place = readonly (string | number)[];

/** What is moved, and when the move began: what depends on time is the same however often it is begun again. */
export interface MoveIdentity {
  /** The same as long as nothing was changed in it. */
  readonly fingerprint: string;
  /** Where it is, for people. */
  readonly name: string;
  readonly startedAt: number;
}

/** Holds everything still while it is open. */
export interface MoveSource {
  readonly fingerprint: string;
  readonly name: string;
  count(table: MovedTable): number;
  /** Those behind a place, in the order of their keys. One at a time: a row may be large. */
  rows(table: MovedTable, after: Place | null, startedAt: number): Iterable<{ readonly row: Row; readonly at: Place }>;
  /** The same rows to compare, in any order, read another way. Bytes are given as the hexadecimal SHA-256 of them. */
  compared(table: MovedTable, startedAt: number): Iterable<Row>;
  /** No number of a message, past or present, is higher. */
  highestSeq(): number;
  close(): void;
}

export interface TableProgress {
  readonly at: Place | null;
  readonly rows: number;
  readonly isDone: boolean;
}

export interface MoveTarget {
  /** Takes an empty store, or one that holds an unfinished move of the same source; refuses any other. */
  begin(identity: MoveIdentity): Promise<{ readonly startedAt: number; readonly tables: Map<string, TableProgress> }>;
  /** The rows and the place in one transaction. */
  write(table: MovedTable, rows: readonly Row[], at: Place): Promise<void>;
  endTable(table: MovedTable): Promise<void>;
  /** The row as this store can hold it. */
  asStored(table: MovedTable, row: Row): Row;
  /** In any order; bytes as the hexadecimal SHA-256 of them. */
  compared(table: MovedTable): AsyncIterable<Row>;
  /** How many texts could not be held as they were. */
  replaced(): Promise<number>;
  /** From here on it is a store like any other. */
  finish(highestSeq: number): Promise<void>;
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
  /** Texts in which a character that the target cannot hold was replaced. */
  readonly replaced: number;
}

/** It had begun, and goes on when it is run again. */
export class MoveStopped extends Error {}

export async function moveStore(
  source: MoveSource,
  target: MoveTarget,
  options: { readonly now: number; readonly onProgress: (progress: MoveProgress) => void },
): Promise<MoveReport> {
  const { fingerprint, name } = source;
  const { startedAt, tables } = await target.begin({ fingerprint, name, startedAt: options.now });
  const isResumed = [...tables.values()].some(({ at, isDone }) => at !== null || isDone);
  try {
    await copyAll(source, target, startedAt, tables, options.onProgress);
    const compared = await compareAll(source, target, startedAt, options.onProgress);
    const isFinished = compared.every(({ isSame }) => isSame);
    const replaced = await target.replaced();
    if (isFinished) await target.finish(source.highestSeq());
    return { isFinished, isResumed, tables: compared, replaced };
  } catch (error) {
    throw new MoveStopped((error as Error).message, { cause: error });
  }
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

function* batches(given: ReturnType<MoveSource['rows']>): Iterable<{ readonly rows: Row[]; readonly at: Place }> {
  let rows: Row[] = [];
  let bytes = 0;
  let last: Place = [];
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

/** Reads both sides anew, all columns of all rows: what the copying left out shows here. */
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
