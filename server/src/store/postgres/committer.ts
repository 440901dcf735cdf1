// Group commit: commands that arrive while a transaction runs are collected for the next one, so that many requests
// share one commit. Each gets its reply when its batch is on disk.

import { StoreUnavailable } from '../store.ts';
import { toStoreError } from './errors.ts';

interface Waiting<C, R> {
  readonly command: C;
  readonly resolve: (reply: R) => void;
  readonly reject: (error: Error) => void;
}

export interface CommitterOptions<C, R> {
  /** Runs all commands in one transaction. Returns the replies, parallel to `commands`. */
  readonly run: (commands: readonly C[]) => Promise<readonly R[]>;
  /** How much of a transaction a command takes up. */
  readonly sizeOf: (command: C) => number;
  /** The limit for one transaction, unless a single command is larger. */
  readonly sizeMax: number;
}

export class Committer<C, R> {
  readonly #options: CommitterOptions<C, R>;
  #waiting: Waiting<C, R>[] = [];
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: CommitterOptions<C, R>) {
    this.#options = options;
  }

  call(command: C): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new StoreUnavailable('unavailable', 'The store is closed.'));
      this.#waiting.push({ command, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Everything that is called in this turn of the event loop gets into the first batch.
    await null;
    while (this.#waiting.length > 0) await this.#commit(this.#nextBatch());
    this.#running = null;
  }

  #nextBatch(): Waiting<C, R>[] {
    const { sizeOf, sizeMax } = this.#options;
    let size = 0;
    const end = this.#waiting.findIndex(({ command }, index) => {
      size += sizeOf(command);
      return index > 0 && size > sizeMax;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #commit(batch: readonly Waiting<C, R>[]): Promise<void> {
    try {
      const replies = await this.#options.run(batch.map(({ command }) => command));
      batch.forEach(({ resolve }, index) => {
        resolve(replies[index]!);
      });
    } catch (error) {
      const told = toStoreError(error);
      // One command failed and rolled back all of them. Run each alone, so that only the bad one fails.
      if (batch.length > 1 && !(told instanceof StoreUnavailable)) for (const each of batch) await this.#commit([each]);
      else for (const { reject } of batch) reject(told);
    }
  }
}
