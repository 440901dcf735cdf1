// The thread for lists and searches. It changes nothing, so that its end is no reason to end the process: what it was
// asked is refused, and after a pause another one is started. As long as it reads, the log of the writer cannot be emptied:
// where that has grown, it is emptied between two reads.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMax } from '../../domain/budgets.ts';
import type { Clock } from '../../world.ts';
import { DATABASE_FILE } from './directory.ts';
import { type Executor, threadExecutor } from './executor.ts';
import { type Command, failedReply, type Reply } from './verbs.ts';

/** Before the first start anew; twice as long before each further one that follows upon it. */
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

/** For a directory that a writer has opened. Rejects when the first thread cannot be started. */
export async function readerExecutor(options: ReaderOptions): Promise<Executor> {
  const reader = new Reader(options);
  await reader.start();
  return reader;
}

class Reader implements Executor {
  readonly #options: ReaderOptions;
  /** Null while there is none. */
  #thread: Executor | null = null;
  #pauseMs = PAUSE_MS;
  #isClosed = false;
  #cancelPause = () => {};

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const thread = await threadExecutor(this.#options.directory, 'reader', (error) => this.#onEnd(error));
    if (this.#isClosed) await thread.close();
    else this.#thread = thread;
  }

  async execute(commands: readonly Command[], from: string): Promise<readonly Reply[]> {
    const thread = this.#thread;
    if (!thread) return commands.map(() => failedReply('the reader is being started', 'unavailable'));
    try {
      // Batches come one after the other: nothing is being read now.
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
    await this.#thread?.close();
  }

  #report(reply: Reply): void {
    if ('value' in reply || reply.reason !== 'unreadable') return;
    this.#options.log('error', { err: new Error(reply.error) }, 'a part of the store cannot be read');
  }

  /** Also called for a thread that never opened; that one is not in use. */
  #onEnd(error: Error): void {
    const thread = this.#thread;
    if (this.#isClosed || !thread) return;
    this.#thread = null;
    this.#options.log('error', { err: error }, 'the reader of the store ended; another one is started');
    void thread.close();
    this.#startLater();
  }

  #startLater(): void {
    this.#cancelPause = this.#options.timers.after(this.#pauseMs, () => void this.#startAgain());
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX);
  }

  async #startAgain(): Promise<void> {
    try {
      await this.start();
      if (!this.#isClosed) this.#options.log('info', {}, 'the reader of the store is back');
    } catch (error) {
      if (this.#isClosed) return;
      this.#options.log('error', { err: error as Error }, 'the reader of the store could not be started');
      this.#startLater();
    }
  }
}

/** Of the file. Once the log is emptied and begun anew, the file has the size of the budget at most. */
function logBytes(directory: string): number {
  return statSync(join(directory, `${DATABASE_FILE}-wal`), { throwIfNoEntry: false })?.size ?? 0;
}
