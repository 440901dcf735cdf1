// The thread for lists and searches, started by the first of them. It changes nothing, so the process survives its end:
// its calls are refused, and after a pause a new thread starts. While it reads, the writer's log cannot be emptied, so a log that has grown is
// emptied between two reads.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMax } from '../../domain/budgets.ts';
import type { Clock } from '../../world.ts';
import { DATABASE_FILE } from './directory.ts';
import { type Executor, threadExecutor } from './executor.ts';
import { type Command, failedReply, type Reply } from './verbs.ts';

/** The pause before the first restart. It doubles for each restart that follows. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;

export interface ReaderOptions {
  readonly directory: string;
  /** Empties the log of the writer. */
  readonly emptyLog: () => Promise<void>;
  /** The real clock. */
  readonly timers: Clock;
  readonly log: (level: 'info' | 'error', fields: { readonly err?: Error }, text: string) => void;
}

/** For a directory that a writer has opened. */
export class Reader implements Executor {
  readonly #options: ReaderOptions;
  /** Null while no thread runs. */
  #thread: Executor | null = null;
  /** The start that is under way. */
  #starting: Promise<void> | null = null;
  #isPausing = false;
  #pauseMs = PAUSE_MS;
  #isClosed = false;
  #cancelPause = () => {};

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  async execute(commands: readonly Command[], from: string): Promise<readonly Reply[]> {
    if (!this.#thread && !this.#isPausing) await this.#start();
    const thread = this.#thread;
    if (!thread) return commands.map(() => failedReply('the reader is starting', 'unavailable'));
    try {
      // Batches run one after another, so nothing is being read now.
      if (logBytes(this.#options.directory) > nodeMax('logBytes')) await this.#options.emptyLog();
      const replies = await thread.execute(commands, from);
      this.#pauseMs = PAUSE_MS;
      for (const reply of replies) this.#report(reply);
      return replies;
    } catch (error) {
      return commands.map(() => failedReply(error, 'unavailable'));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPause();
    await this.#starting;
    await this.#thread?.close();
  }

  #report(reply: Reply): void {
    if (!('error' in reply) || reply.reason !== 'unreadable') return;
    this.#options.log('error', { err: new Error(reply.error) }, 'a part of the store cannot be read');
  }

  /** Also called for a thread that never opened, which is not in use. */
  #onEnd(error: Error): void {
    const thread = this.#thread;
    if (this.#isClosed || !thread) return;
    this.#thread = null;
    this.#options.log('error', { err: error }, 'the reader of the store ended; starting another one');
    void thread.close();
    this.#startLater();
  }

  #startLater(): void {
    this.#isPausing = true;
    this.#cancelPause = this.#options.timers.after(this.#pauseMs, () => void this.#startAgain());
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX);
  }

  async #startAgain(): Promise<void> {
    this.#isPausing = false;
    await this.#start();
    if (this.#thread) this.#options.log('info', {}, 'the reader of the store works again');
  }

  /** Never rejects: if the thread cannot start, another one is tried after a pause. */
  #start(): Promise<void> {
    this.#starting ??= this.#startThread().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #startThread(): Promise<void> {
    try {
      const thread = await threadExecutor(this.#options.directory, 'reader', (error) => this.#onEnd(error));
      if (this.#isClosed) await thread.close();
      else this.#thread = thread;
    } catch (error) {
      if (this.#isClosed) return;
      this.#options.log('error', { err: error as Error }, 'the reader of the store could not be started');
      this.#startLater();
    }
  }
}

/** The size of the log file. After the log is emptied and restarted, it is at most the size in the budget. */
function logBytes(directory: string): number {
  return statSync(join(directory, `${DATABASE_FILE}-wal`), { throwIfNoEntry: false })?.size ?? 0;
}
