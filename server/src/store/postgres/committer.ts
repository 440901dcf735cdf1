// Group commit: collects what is asked while a transaction runs into the next one, so that many requests share one
// commit, and answers each when its batch is on disk.

import { StoreUnavailable } from '../store.ts';
import { toStoreError } from './errors.ts';

interface Waiting<C, R> {
  readonly command: C;
  readonly resolve: (reply: R) => void;
  readonly reject: (error: Error) => void;
}

export interface CommitterOptions<C, R> {
  /** One transaction for all of them; beside each its reply. */
  readonly run: (commands: readonly C[]) => Promise<readonly R[]>;
  /** How much of a transaction one takes up. */
  readonly sizeOf: (command: C) => number;
  /** No transaction takes more than this, but for one that is larger by itself. */
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
    // Lets everything that is asked in this turn of the loop into the first batch.
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
      // One of them failed and took the others with it: each again by itself, so that only the bad one fails.
      if (batch.length > 1 && !(told instanceof StoreUnavailable)) for (const each of batch) await this.#commit([each]);
      else for (const { reject } of batch) reject(told);
    }
  }
}
