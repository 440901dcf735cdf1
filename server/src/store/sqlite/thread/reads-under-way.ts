// Counts the running reads of all reader threads. The write-ahead log cannot be emptied during a read. So when it has
// grown, new reads wait, and it is emptied when the running reads have ended.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { nodeMax } from '../../../rules/limits/budgets.ts';
import { DATABASE_FILE } from '../files/directory.ts';

export class ReadsUnderWay {
  readonly #log: string;
  readonly #emptyLog: () => Promise<void>;
  #running = 0;
  /** The emptying of the log that is under way. New reads wait for its end. */
  #emptying: Promise<void> | null = null;
  #onLastEnd = () => {};
  /** The state of the log file when it was last emptied. If the state is still the same, there is nothing to empty. */
  #emptied = '';

  /** `emptyLog` empties the log of the writer of this directory. */
  constructor(directory: string, emptyLog: () => Promise<void>) {
    this.#log = join(directory, `${DATABASE_FILE}-wal`);
    this.#emptyLog = emptyLog;
  }

  async run<T>(read: () => Promise<T>): Promise<T> {
    if (this.#isLogFull()) this.#emptying ??= this.#empty();
    while (this.#emptying) await this.#emptying;
    this.#running += 1;
    try {
      return await read();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#onLastEnd();
    }
  }

  async #empty(): Promise<void> {
    try {
      if (this.#running > 0) {
        await new Promise<void>((resolve) => {
          this.#onLastEnd = resolve;
        });
      }
      await this.#emptyLog();
    } finally {
      this.#emptied = this.#stateOfLog().text;
      this.#emptying = null;
    }
  }

  #isLogFull(): boolean {
    const { bytes, text } = this.#stateOfLog();
    return bytes > nodeMax('logBytes') && text !== this.#emptied;
  }

  /** The size and time of the log file. SQLite cuts a log that has restarted to the size that the budget allows. */
  #stateOfLog(): { readonly bytes: number; readonly text: string } {
    const stat = statSync(this.#log, { throwIfNoEntry: false });
    return { bytes: stat?.size ?? 0, text: `${stat?.size} ${stat?.mtimeMs}` };
  }
}
