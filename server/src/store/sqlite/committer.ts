// Group commit: collects what is asked while a transaction runs into the next one, so that many requests share one
// fsync, and answers each when its batch is on disk.

import { StoreUnavailable } from '../store.ts';
import type { Executor } from './executor.ts';
import type { Command, Reply, Verbs } from './verbs.ts';

interface Waiting {
  readonly command: Command;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** What is asked while a batch runs goes into the next: under load, many requests share one fsync. */
export class Committer {
  readonly #executor: Executor;
  readonly #node: string;
  readonly #onBroken: (error: Error) => void;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #closed: Error | null = null;

  constructor(executor: Executor, node: string, onBroken: (error: Error) => void) {
    this.#executor = executor;
    this.#node = node;
    this.#onBroken = onBroken;
  }

  call<V extends keyof Verbs>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new StoreUnavailable('unavailable', this.#closed.message));
      this.#waiting.push({ command: { verb, args }, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  async close(): Promise<void> {
    // First, so that nothing new is asked of an executor that is being closed.
    this.#closed ??= new Error('The store is closed.');
    await this.#running;
    await this.#executor.close();
  }

  async #run(): Promise<void> {
    // Lets everything that is asked in this turn of the loop into the first batch.
    await null;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const commands = batch.map((waiting) => waiting.command);
        const replies = await this.#executor.execute(commands, this.#node);
        batch.forEach((waiting, index) => {
          answer(waiting, replies[index]!);
        });
      } catch (error) {
        this.#break(error as Error, batch);
      }
    }
    this.#running = null;
  }

  #break(error: Error, batch: readonly Waiting[]): void {
    this.#closed = error;
    for (const waiting of [...batch, ...this.#waiting]) {
      waiting.reject(new StoreUnavailable('unavailable', error.message));
    }
    this.#waiting = [];
    this.#onBroken(error);
  }
}

function answer(waiting: Waiting, reply: Reply): void {
  if ('value' in reply) waiting.resolve(reply.value);
  else waiting.reject(reply.isFull ? new StoreUnavailable('full', reply.error) : new Error(reply.error));
}
