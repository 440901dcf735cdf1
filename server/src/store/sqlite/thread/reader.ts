// A thread that reads; the first read starts it. It changes nothing, so if it ends, the process continues: reads are
// refused, and after a pause a new thread starts. All lanes of a node share the thread, and accounts take turns.

import type { Clock } from '../../../runtime/world.ts';
import { TurnsOfAccounts } from '../../turns/turns-of-accounts.ts';
import { threadExecutor } from './executor.ts';
import type { Executor } from './executor-port.ts';
import type { ReadsUnderWay } from './reads-under-way.ts';
import { type Command, failedReply, type Reply } from './verbs.ts';

/** The pause before the first restart, in ms. It doubles for each further restart. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;

export interface ReaderOptions {
  readonly directory: string;
  /** The running reads of all readers of this directory. */
  readonly underWay: ReadsUnderWay;
  /** The real clock. */
  readonly timers: Clock;
  readonly log: (level: 'info' | 'error', fields: { readonly err?: Error }, text: string) => void;
}

/** Reads a directory that a writer has opened. */
export class Reader implements Executor {
  readonly #options: ReaderOptions;
  readonly #turns: TurnsOfAccounts;
  /** Null while no thread runs. */
  #thread: Executor | null = null;
  /** The start that is under way, or null. */
  #starting: Promise<void> | null = null;
  #isPausing = false;
  #pauseMs = PAUSE_MS;
  #isClosed = false;
  #cancelPause = () => {};

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#turns = new TurnsOfAccounts(1, () => options.timers.monotonicMs());
  }

  /** Runs one read after the other. Several lanes send reads, each for the account whose turn it is in that lane. */
  execute(commands: readonly Command[], from: string): Promise<readonly Reply[]> {
    return this.#turns.run(accountOf(commands), () => this.#read(commands, from));
  }

  async #read(commands: readonly Command[], from: string): Promise<readonly Reply[]> {
    if (!this.#thread && !this.#isPausing) await this.#start();
    const thread = this.#thread;
    if (!thread) return commands.map(() => failedReply('the reader is starting', 'unavailable'));
    try {
      const replies = await this.#options.underWay.run(() => thread.execute(commands, from));
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

  /** Does nothing for a thread that ended before it had opened the store: `#startThread` handles that error. */
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

  /** Never rejects: if the thread cannot start, another thread is tried after a pause. */
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

/** The account of the first read, in whose turn the whole batch runs. Usually a lane sends only one read at a time. */
function accountOf([first]: readonly Command[]): string {
  const account = first?.args[0];
  return typeof account === 'string' ? account : '';
}
