// When the log is moved into the database: most of it by a thread beside the writer, so that no transaction waits for it.
// The writer moves only the short rest after which the next transaction begins the log anew.

import { brokenText, isFull, SQLITE, sqliteCode } from '../files/errors.ts';
import type { Database } from './database.ts';

/** So many frames, each of one page, are worth moving. */
const WORTH_FRAMES = 1000;
/** A log of so many should begin anew. */
const LONG_FRAMES = 2000;
/** What the writer moves itself: it takes no longer than a commit. */
const SHORT_FRAMES = 250;
/** If the thread beside it cannot keep up, the writer moves all of it. */
const ALONE_FRAMES = 4000;

/** What the thread that moves is doing: `away` until an order starts it. Both sides wait for changes of it. */
export const MOVING = { away: 0, waits: 1, ordered: 2, close: 3 } as const;
/** What it is doing, and whether it has opened the database. */
export type Moving = Int32Array<SharedArrayBuffer>;

export function newMoving(): Moving {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** For the thread, and for whoever starts it. */
export function setOpen(moving: Moving, isOpen: boolean): void {
  Atomics.store(moving, 1, Number(isOpen));
}

export function isOpen(moving: Moving): boolean {
  return Atomics.load(moving, 1) === 1;
}

/** The thread could not be started. The next order does so. */
export function setAway(moving: Moving): void {
  Atomics.compareExchange(moving, 0, MOVING.ordered, MOVING.away);
  Atomics.notify(moving, 0);
}

/** For the thread. */
export interface MoverData {
  readonly directory: string;
  readonly moving: Moving;
}

/** How long the writer waits for the thread to finish. */
const WAIT_MS_MAX = 5000;

/** Who moves the log now. `sinceOrder`: the frames that were added after the last time that it was moved. */
export function whoMoves(frames: number, unmoved: number, sinceOrder: number): 'nobody' | 'mover' | 'writer' {
  // Something that reads may keep it from being moved: then it is not tried after every transaction.
  if (sinceOrder < SHORT_FRAMES) return 'nobody';
  if (frames >= LONG_FRAMES && unmoved > 0) return unmoved <= SHORT_FRAMES ? 'writer' : 'mover';
  return unmoved >= WORTH_FRAMES ? 'mover' : 'nobody';
}

/** The writer's side. */
export class LogLength {
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

  /** After a transaction. */
  look(): void {
    const before = Atomics.load(this.#moving, 0);
    if (before === MOVING.ordered || before === MOVING.close) return;
    const { log, checkpointed } = this.#database.get<{ log: number; checkpointed: number }>(
      'PRAGMA wal_checkpoint(NOOP)',
    )!;
    // It has begun anew.
    if (log < this.#ordered) this.#ordered = 0;
    const who = whoMoves(log, log - checkpointed, log - this.#ordered);
    if (who === 'nobody') return;
    this.#ordered = log;
    if (who === 'writer') moveLog(this.#database);
    else if (Atomics.compareExchange(this.#moving, 0, before, MOVING.ordered) === before) {
      if (before === MOVING.away) this.#start();
      else Atomics.notify(this.#moving, 0);
    }
  }

  /** All of it, if nobody reads and the disk has space. */
  empty(): void {
    // Two cannot move it at once, and the one that comes second does nothing.
    Atomics.wait(this.#moving, 0, MOVING.ordered, WAIT_MS_MAX);
    moveLog(this.#database);
  }
}

/** PASSIVE waits for nobody, and leaves in the log what is still being read, or what finds no space on a full disk. */
export function moveLog(database: Pick<Database, 'exec'>): void {
  try {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    if (isFull(error)) return;
    if (sqliteCode(error) !== SQLITE.ioError) throw error;
    throw new Error(`SQLite can no longer write its file: ${brokenText(error)}`, { cause: error });
  }
}
