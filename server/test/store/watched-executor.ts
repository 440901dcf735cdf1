// A real executor whose connection the test can reach, and whose batches it can see, hold back or spoil.

import { openDatabase } from '../../src/store/sqlite/files/open.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import type { Executor } from '../../src/store/sqlite/thread/executor-port.ts';
import type { Command } from '../../src/store/sqlite/thread/verbs.ts';
import { createVerbs, type Reply, runBatch } from '../../src/store/sqlite/thread/verbs.ts';

export class WatchedExecutor implements Executor {
  readonly database: Database;
  /** The verbs of every batch that has been run, each batch one transaction. */
  readonly batches: string[][] = [];
  /** Asked before a batch runs: it may wait, or throw what a broken disk would. */
  beforeBatch: (commands: readonly Command[]) => Promise<void> | void = () => {};
  /** Stands in for a single command that fails. */
  spoil: (command: Command) => Reply | null = () => null;
  readonly #verbs: ReturnType<typeof createVerbs>;

  constructor(database: Database = openDatabase(':memory:')) {
    this.database = database;
    this.#verbs = createVerbs(database);
  }

  async execute(commands: readonly Command[]): Promise<readonly Reply[]> {
    await this.beforeBatch(commands);
    this.batches.push(commands.map(({ verb }) => verb));
    const spoilt = commands.map((command) => this.spoil(command));
    const replies = runBatch(
      this.database,
      this.#verbs,
      commands.filter((_, index) => spoilt[index] === null),
    );
    return spoilt.map((reply) => reply ?? replies.shift()!);
  }

  async close(): Promise<void> {
    this.database.close();
  }

  /** Holds every batch back until the answer is called. */
  hold(): () => void {
    const gate = Promise.withResolvers<void>();
    this.beforeBatch = () => gate.promise;
    return () => {
      this.beforeBatch = () => {};
      gate.resolve();
    };
  }
}
