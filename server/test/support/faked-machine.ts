// The wall clock of a real process, turned by libfaketime while it runs and between two starts. Its monotonic clock is that
// of the machine.

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask } from './client.ts';
import { faketimeLibrary, lacks } from './machine.ts';
import { waitFor } from './wait.ts';

/** Why no clock can be turned here; false if it can. */
export function noFakedClock(): string | false {
  return lacks('libfaketime');
}

/** A machine whose wall clock is so far off, and a server on it. */
export class FakedMachine {
  readonly #file: string;
  #offMs = 0;
  api = '';

  constructor(folder: string) {
    this.#file = join(folder, 'wall-clock');
    this.#write();
  }

  get env(): Record<string, string> {
    return {
      LD_PRELOAD: faketimeLibrary()!,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  get offMs(): number {
    return this.#offMs;
  }

  get now(): number {
    return Date.now() + this.#offMs;
  }

  /** The server has seen it when this is over: it says so in the `Date` of its answers. */
  async set(offMs: number): Promise<void> {
    this.#offMs = offMs;
    this.#write();
    await this.isSeen();
  }

  /** While no server runs. */
  restartsAt(offMs: number): void {
    this.#offMs = offMs;
    this.#write();
  }

  isSeen(): Promise<unknown> {
    return waitFor('the wall clock to be as it was set', async () => {
      const { headers } = await ask(this.api, '/healthz', {});
      return Math.abs(Date.parse(String(headers.date)) - this.now) < 1500;
    });
  }

  /** Whole in one step: the server reads it whenever it likes. */
  #write(): void {
    writeFileSync(`${this.#file}.new`, `${this.#offMs < 0 ? '-' : '+'}${Math.abs(this.#offMs) / 1000}`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
