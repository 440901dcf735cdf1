// Whether the database accepts writes. A database that responds to every ping may still be read-only, have its tables
// locked, or wait for a standby at every commit. From the first write that shows this, writes are refused at once,
// until a probe has written the way a publish does.

import type { Clock } from '../../../runtime/world.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import { CommitInDoubt, isLockTimeout, isReadOnly, ReplyTooLate } from './errors.ts';

/** No probe is needed if a write succeeded less than this ago. */
const FRESH_MS = 1000;
const AGAIN_MS = 250;

export interface WriteWatchOptions {
  readonly timers: Clock;
  /**
   * Writes one row and commits. `onBegin` is called when the probe has a connection: a long wait for one does not mean
   * that writes stall.
   */
  readonly probe: (onBegin: () => void) => Promise<void>;
  readonly commitMs: () => number;
  readonly onStall: (why: string) => void;
  /** Called when writes are possible again. */
  readonly onBack: () => void;
}

export class WriteWatch {
  readonly #options: WriteWatchOptions;
  #why: string | null = null;
  #wroteAtMs = Number.NEGATIVE_INFINITY;
  #probing: Promise<void> | null = null;
  /** When the running probe began to write. Null while no probe writes. */
  #writingFromMs: number | null = null;
  #cancelAgain = () => {};
  #isClosed = false;

  constructor(options: WriteWatchOptions) {
    this.#options = options;
  }

  get why(): string | null {
    return this.#why;
  }

  requireWritable(): void {
    if (this.#why !== null) throw new StoreUnavailable('unavailable', this.#why);
  }

  /** Notes that messages were written. */
  noteWritten(): void {
    this.#wroteAtMs = this.#options.timers.monotonicMs();
  }

  /** Notes that a write failed. `isAdding`: any lock that it waited for was not of one queue, key or message. */
  noteFailed(error: unknown, isAdding: boolean): void {
    const why = whyStalled(error, isAdding);
    if (why !== null) this.#stall(why);
  }

  /** Why a publish would be refused now. Tries a write if none has succeeded recently. */
  async look(): Promise<string | null> {
    const { timers, commitMs } = this.#options;
    if (this.#why !== null || timers.monotonicMs() - this.#wroteAtMs < FRESH_MS) return this.#why;
    let cancel = () => {};
    const late = new Promise<string>((resolve) => {
      const check = () => {
        const leftMs = (this.#writingFromMs ?? timers.monotonicMs()) + commitMs() - timers.monotonicMs();
        if (leftMs > 0) {
          cancel = timers.after(leftMs, check);
          return;
        }
        // The probe continues: a commit that waits for a standby returns when the standby does.
        this.#stall(NO_COMMIT);
        resolve(NO_COMMIT);
      };
      check();
    });
    const probed = this.#probe().then(
      () => null,
      (error: unknown) => whyStalled(error, true) ?? (error as Error).message,
    );
    try {
      return await Promise.race([probed, late]);
    } finally {
      cancel();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelAgain();
  }

  #stall(why: string): void {
    if (this.#why === null) {
      this.#options.onStall(why);
      void this.#untilWritten();
    }
    this.#why = why;
  }

  async #untilWritten(): Promise<void> {
    const { timers, onBack } = this.#options;
    while (!this.#isClosed) {
      try {
        await this.#probe();
        this.#why = null;
        return onBack();
      } catch (error) {
        this.#why = whyStalled(error, true) ?? this.#why;
      }
      await new Promise<void>((resolve) => {
        this.#cancelAgain = timers.after(AGAIN_MS, resolve);
      });
    }
  }

  /** One probe at a time: each may hang, and hold a session, for as long as a standby is unavailable. */
  #probe(): Promise<void> {
    this.#probing ??= this.#options
      .probe(() => {
        this.#writingFromMs = this.#options.timers.monotonicMs();
      })
      .then(() => this.noteWritten())
      .finally(() => {
        this.#probing = null;
        this.#writingFromMs = null;
      });
    return this.#probing;
  }
}

const NO_COMMIT = 'the database does not confirm commits; a synchronous standby may be unavailable';

function whyStalled(error: unknown, isAdding: boolean): string | null {
  if (isReadOnly(error)) return 'the database is read-only';
  if (error instanceof CommitInDoubt && error.cause instanceof ReplyTooLate) return NO_COMMIT;
  if (isAdding && isLockTimeout(error)) return 'the tables of the database are locked';
  return null;
}
