// Decides when a checkpoint copies the write-ahead log into the database. A thread beside the writer copies most of it,
// so that no transaction waits. The writer copies only the short rest, and then the next transaction restarts the log.

import { brokenText, isFull, SQLITE, sqliteCode } from '../files/errors.ts';
import type { Database } from './database.ts';

/** How many frames (of one page each) make a checkpoint worthwhile. */
const WORTH_FRAMES = 1000;
/** From this many frames on, the log is copied completely, so that it restarts. */
const LONG_FRAMES = 2000;
/** The writer itself copies up to this many frames, which takes no longer than a commit. */
const SHORT_FRAMES = 250;
/** From this many frames on, the writer copies the whole log, because the other thread cannot keep up. */
const ALONE_FRAMES = 4000;

/** The thread beside the writer: not started, waiting for an order, ordered to copy the log, ordered to end. */
export const CHECKPOINTER_STATES = { away: 0, waits: 1, ordered: 2, close: 3 } as const;
/**
 * Shared memory: the state of that thread, the checkpointer; whether it has opened the database; and how many frames were
 * copied after the last checkpoint.
 */
export type SharedCheckpointerState = Int32Array<SharedArrayBuffer>;

export function newCheckpointerState(): SharedCheckpointerState {
  return new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
}

/** Records whether the checkpointer has opened the database: false before its start, then set by the thread. */
export function setCheckpointerOpen(copying: SharedCheckpointerState, isCheckpointerOpen: boolean): void {
  Atomics.store(copying, 1, Number(isCheckpointerOpen));
}

export function isCheckpointerOpen(copying: SharedCheckpointerState): boolean {
  return Atomics.load(copying, 1) === 1;
}

/** Records how many frames of the log are copied after a checkpoint. */
export function setCopied(copying: SharedCheckpointerState, { checkpointed }: LogFrames): void {
  Atomics.store(copying, 2, checkpointed);
}

/** Notes that the thread could not be started. The next order starts it again. */
export function markCheckpointerNotStarted(copying: SharedCheckpointerState): void {
  Atomics.compareExchange(copying, 0, CHECKPOINTER_STATES.ordered, CHECKPOINTER_STATES.away);
  Atomics.notify(copying, 0);
}

/** What the checkpointer needs to begin. */
export interface CheckpointerData {
  readonly directory: string;
  readonly copying: SharedCheckpointerState;
}

/** How long the writer waits for the checkpointer to finish. */
const WAIT_MS_MAX = 5000;

/** Which thread makes a checkpoint now. `sinceOrder`: how many frames were added since the last one was ordered. */
export function chooseCheckpointer(
  frames: number,
  uncopied: number,
  sinceOrder: number,
): 'nobody' | 'thread' | 'writer' {
  // A reader may prevent the copy. So it is not tried after every transaction.
  if (sinceOrder < SHORT_FRAMES) return 'nobody';
  if (frames >= LONG_FRAMES && uncopied > 0) return uncopied <= SHORT_FRAMES ? 'writer' : 'thread';
  return uncopied >= WORTH_FRAMES ? 'thread' : 'nobody';
}

/** How many frames the log has, and how many of them have already been copied. */
export interface LogFrames {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * How many frames were added between the two. If the log has restarted meanwhile, all of it was added: it may be longer
 * than before, but fewer of its frames are copied.
 */
export function framesAdded(before: LogFrames, after: LogFrames): number {
  const hasRestarted = after.log < before.log || after.checkpointed < before.checkpointed;
  return hasRestarted ? after.log : after.log - before.log;
}

/**
 * Whether so many frames were added since a checkpoint copied the log that another one follows at once. False for a log
 * so long that the writer must copy it: it cannot while the checkpointer works.
 */
export function shouldCheckpointAgain(copied: LogFrames, after: LogFrames): boolean {
  return framesAdded(copied, after) >= WORTH_FRAMES && after.log < ALONE_FRAMES;
}

export function logFrames(database: Pick<Database, 'get'>): LogFrames {
  return database.get<LogFrames>('PRAGMA wal_checkpoint(NOOP)')!;
}

/** The writer's side: decides after each transaction which thread makes a checkpoint. */
export class WriterCheckpoints {
  readonly #database: Database;
  readonly #copying: SharedCheckpointerState;
  readonly #start: () => void;
  #ordered = 0;

  /** `start` starts the checkpointer. */
  constructor(database: Database, copying: SharedCheckpointerState, start: () => void) {
    this.#database = database;
    this.#copying = copying;
    this.#start = start;
    database.exec(`PRAGMA wal_autocheckpoint = ${ALONE_FRAMES}`);
  }

  /** Call this after a transaction. */
  look(): void {
    const before = Atomics.load(this.#copying, 0);
    if (before === CHECKPOINTER_STATES.ordered || before === CHECKPOINTER_STATES.close) return;
    const frames = logFrames(this.#database);
    const { log, checkpointed } = frames;
    const ordered = { log: this.#ordered, checkpointed: Atomics.load(this.#copying, 2) };
    const who = chooseCheckpointer(log, log - checkpointed, framesAdded(ordered, frames));
    if (who === 'nobody') return;
    this.#ordered = log;
    if (who === 'writer') setCopied(this.#copying, checkpointWithoutWaiting(this.#database) ?? frames);
    else if (Atomics.compareExchange(this.#copying, 0, before, CHECKPOINTER_STATES.ordered) === before) {
      if (before === CHECKPOINTER_STATES.away) this.#start();
      else Atomics.notify(this.#copying, 0);
    }
  }

  /** Copies the whole log, if there is no reader and the disk has space. */
  empty(): void {
    // Two threads cannot copy the log at once: the second checkpoint would do nothing.
    Atomics.wait(this.#copying, 0, CHECKPOINTER_STATES.ordered, WAIT_MS_MAX);
    checkpointWithoutWaiting(this.#database);
  }
}

/**
 * Does not wait. Frames that a reader needs, or for which a full disk has no space, stay in the log. Returns what is
 * copied then; null if the disk is full.
 */
export function checkpointWithoutWaiting(database: Pick<Database, 'get'>): LogFrames | null {
  try {
    return database.get<LogFrames>('PRAGMA wal_checkpoint(PASSIVE)')!;
  } catch (error) {
    if (isFull(error)) return null;
    if (sqliteCode(error) !== SQLITE.ioError) throw error;
    throw new Error(`SQLite can no longer write its file: ${brokenText(error)}`, { cause: error });
  }
}
