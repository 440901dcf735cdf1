// When the log is moved into the database: most of it by a thread beside the writer, so that no transaction waits for
// it. The writer moves only the short rest, after which the next transaction restarts the log.

import { brokenText, isFull, SQLITE, sqliteCode } from '../files/errors.ts';
import type { Database } from './database.ts';

/** From this many frames (of one page each) on, moving is worthwhile. */
const WORTH_FRAMES = 1000;
/** A log of this many frames should restart. */
const LONG_FRAMES = 2000;
/** The writer itself moves up to this many frames: that takes no longer than a commit. */
const SHORT_FRAMES = 250;
/** If the other thread cannot keep up, the writer moves everything from this many frames on. */
const ALONE_FRAMES = 4000;

/** The state of the moving thread: `away` until an order starts it. Both sides wait for its changes. */
export const MOVING = { away: 0, waits: 1, ordered: 2, close: 3 } as const;
/** Its state, and whether it has opened the database. */
export type Moving = Int32Array<SharedArrayBuffer>;

export function newMoving(): Moving {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** For the thread, and for its starter. */
export function setOpen(moving: Moving, isOpen: boolean): void {
  Atomics.store(moving, 1, Number(isOpen));
}

export function isOpen(moving: Moving): boolean {
  return Atomics.load(moving, 1) === 1;
}

/** Notes that the thread could not be started. The next order starts it. */
export function markNotStarted(moving: Moving): void {
  Atomics.compareExchange(moving, 0, MOVING.ordered, MOVING.away);
  Atomics.notify(moving, 0);
}

/** The data of the thread. */
export interface MoverData {
  readonly directory: string;
  readonly moving: Moving;
}

/** How long the writer waits for the thread to finish. */
const WAIT_MS_MAX = 5000;

/** Who moves the log now. `sinceOrder`: the frames that were added since it was last moved. */
export function chooseMover(frames: number, unmoved: number, sinceOrder: number): 'nobody' | 'mover' | 'writer' {
  // A reader may prevent the move: then it is not tried after every transaction.
  if (sinceOrder < SHORT_FRAMES) return 'nobody';
  if (frames >= LONG_FRAMES && unmoved > 0) return unmoved <= SHORT_FRAMES ? 'writer' : 'mover';
  return unmoved >= WORTH_FRAMES ? 'mover' : 'nobody';
}

/**
 * Whether so much was added during a move that another one follows at once. Not when the log is so long that the writer
 * moves it alone: that makes the writer wait, and it could not while the other thread moves all the time.
 */
export function movesAgain(before: number, after: number): boolean {
  return after - before >= WORTH_FRAMES && after < ALONE_FRAMES;
}

/** How many frames the log has, and how many of them are in the database already. */
export function logFrames(database: Pick<Database, 'get'>): { readonly log: number; readonly checkpointed: number } {
  return database.get<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')!;
}

/** The part of the writer: decides after each transaction who moves the log. */
export class WriterLogMover {
  readonly #database: Database;
  readonly #moving: Moving;
  readonly #start: () => void;
  #ordered = 0;

  /** `start` starts the thread. */
  constructor(database: Database, moving: Moving, start: () => void) {
    this.#database = database;
    this.#moving = moving;
    this.#start = start;
    database.exec(`PRAGMA wal_autocheckpoint = ${ALONE_FRAMES}`);
  }

  /** Call it after a transaction. */
  look(): void {
    const before = Atomics.load(this.#moving, 0);
    if (before === MOVING.ordered || before === MOVING.close) return;
    const { log, checkpointed } = logFrames(this.#database);
    // The log has restarted.
    if (log < this.#ordered) this.#ordered = 0;
    const who = chooseMover(log, log - checkpointed, log - this.#ordered);
    if (who === 'nobody') return;
    this.#ordered = log;
    if (who === 'writer') moveLog(this.#database);
    else if (Atomics.compareExchange(this.#moving, 0, before, MOVING.ordered) === before) {
      if (before === MOVING.away) this.#start();
      else Atomics.notify(this.#moving, 0);
    }
  }

  /** Moves everything, if there is no reader and the disk has space. */
  empty(): void {
    // Two threads cannot move it at once: the second does nothing.
    Atomics.wait(this.#moving, 0, MOVING.ordered, WAIT_MS_MAX);
    moveLog(this.#database);
  }
}

/** PASSIVE does not wait, and leaves in the log what is still being read, or what finds no space on a full disk. */
export function moveLog(database: Pick<Database, 'exec'>): void {
  try {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    if (isFull(error)) return;
    if (sqliteCode(error) !== SQLITE.ioError) throw error;
    throw new Error(`SQLite can no longer write its file: ${brokenText(error)}`, { cause: error });
  }
}
