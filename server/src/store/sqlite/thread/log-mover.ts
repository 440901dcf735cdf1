// Decides when the log is moved (copied) into the database. A thread beside the writer moves most of it, so that no
// transaction waits. The writer moves only the short rest, and then the next transaction restarts the log.

import { brokenText, isFull, SQLITE, sqliteCode } from '../files/errors.ts';
import type { Database } from './database.ts';

/** How many frames (of one page each) make a move worthwhile. */
const WORTH_FRAMES = 1000;
/** How many frames a log has that should restart. */
const LONG_FRAMES = 2000;
/** The writer itself moves up to this many frames, which takes no longer than a commit. */
const SHORT_FRAMES = 250;
/** From this many frames on, the writer moves the whole log, because the other thread cannot keep up. */
const ALONE_FRAMES = 4000;

/** The states of the moving thread: `away` until an order starts it. The writer and the thread wait for changes. */
export const MOVING = { away: 0, waits: 1, ordered: 2, close: 3 } as const;
/** Shared memory: the state of the moving thread, and whether it has opened the database. */
export type Moving = Int32Array<SharedArrayBuffer>;

export function newMoving(): Moving {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** The starter clears this flag, and the thread sets it when it has opened the database. */
export function setOpen(moving: Moving, isOpen: boolean): void {
  Atomics.store(moving, 1, Number(isOpen));
}

export function isOpen(moving: Moving): boolean {
  return Atomics.load(moving, 1) === 1;
}

/** Notes that the thread could not be started. The next order starts it again. */
export function markNotStarted(moving: Moving): void {
  Atomics.compareExchange(moving, 0, MOVING.ordered, MOVING.away);
  Atomics.notify(moving, 0);
}

/** What the moving thread needs to begin. */
export interface MoverData {
  readonly directory: string;
  readonly moving: Moving;
}

/** How long the writer waits for the moving thread to finish. */
const WAIT_MS_MAX = 5000;

/** Who moves the log now. `sinceOrder`: how many frames were added since the last order. */
export function chooseMover(frames: number, unmoved: number, sinceOrder: number): 'nobody' | 'mover' | 'writer' {
  // A reader may prevent the move. So the move is not tried after every transaction.
  if (sinceOrder < SHORT_FRAMES) return 'nobody';
  if (frames >= LONG_FRAMES && unmoved > 0) return unmoved <= SHORT_FRAMES ? 'writer' : 'mover';
  return unmoved >= WORTH_FRAMES ? 'mover' : 'nobody';
}

/**
 * Whether so many frames were added during a move that another move follows at once. False when the log is so long that
 * the writer moves it alone: the writer could not do that while the other thread moves all the time.
 */
export function movesAgain(before: number, after: number): boolean {
  return after - before >= WORTH_FRAMES && after < ALONE_FRAMES;
}

/** How many frames the log has, and how many of them have already been moved. */
export function logFrames(database: Pick<Database, 'get'>): { readonly log: number; readonly checkpointed: number } {
  return database.get<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')!;
}

/** The writer's side: decides after each transaction who moves the log. */
export class WriterLogMover {
  readonly #database: Database;
  readonly #moving: Moving;
  readonly #start: () => void;
  #ordered = 0;

  /** `start` starts the moving thread. */
  constructor(database: Database, moving: Moving, start: () => void) {
    this.#database = database;
    this.#moving = moving;
    this.#start = start;
    database.exec(`PRAGMA wal_autocheckpoint = ${ALONE_FRAMES}`);
  }

  /** Call this after a transaction. */
  look(): void {
    const before = Atomics.load(this.#moving, 0);
    if (before === MOVING.ordered || before === MOVING.close) return;
    const { log, checkpointed } = logFrames(this.#database);
    // The log is shorter than at the last order, so it has restarted.
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

  /** Moves the whole log, if there is no reader and the disk has space. */
  empty(): void {
    // Two threads cannot move the log at once: the second move would do nothing.
    Atomics.wait(this.#moving, 0, MOVING.ordered, WAIT_MS_MAX);
    moveLog(this.#database);
  }
}

/** PASSIVE does not wait. It leaves frames in the log that a reader needs, or for which a full disk has no space. */
export function moveLog(database: Pick<Database, 'exec'>): void {
  try {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    if (isFull(error)) return;
    if (sqliteCode(error) !== SQLITE.ioError) throw error;
    throw new Error(`SQLite can no longer write its file: ${brokenText(error)}`, { cause: error });
  }
}
