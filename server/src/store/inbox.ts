// What was asked to be accepted and waits for its transaction. Past a limit publishing is refused: memory is bounded.

import type { NewMessage } from '../domain/message.ts';
import { StoreUnavailable } from './store.ts';

const MESSAGES_MAX = 20_000;
const BYTES_MAX = 256 * 1024 * 1024;

export class Inbox {
  #messages = 0;
  #bytes = 0;

  /** Counts these until they are written, or refuses them. */
  async hold<T>(messages: readonly NewMessage[], write: () => Promise<T>): Promise<T> {
    if (this.#messages > MESSAGES_MAX || this.#bytes > BYTES_MAX) {
      throw new StoreUnavailable('overloaded', 'Too much is waiting to be written.');
    }
    const bytes = messages.reduce((sum, message) => sum + message.body.length, 0);
    this.#messages += messages.length;
    this.#bytes += bytes;
    try {
      return await write();
    } finally {
      this.#messages -= messages.length;
      this.#bytes -= bytes;
    }
  }
}
