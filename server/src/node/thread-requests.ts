// Requests to another thread, and the responses that come back later in any order.

import type { Clock } from '../runtime/world.ts';

export class ThreadRequests<T> {
  readonly #timers: Clock;
  readonly #withinMs: number;
  readonly #open = new Map<number, (answer: T | null) => void>();
  #last = 0;

  constructor(timers: Clock, withinMs: number) {
    this.#timers = timers;
    this.#withinMs = withinMs;
  }

  /** Resolves with null if there is no response in time. */
  ask(send: (id: number) => void): Promise<T | null> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve) => {
      const cancel = this.#timers.after(this.#withinMs, () => this.answer(id, null));
      this.#open.set(id, (answer) => {
        cancel();
        resolve(answer);
      });
      send(id);
    });
  }

  answer(id: number, answer: T | null): void {
    const resolve = this.#open.get(id);
    this.#open.delete(id);
    resolve?.(answer);
  }
}
