// What runs the commands of a store: in the caller's thread, on one of its own, or over a port to one.

import type { MessagePort } from 'node:worker_threads';
import type { Took } from './shared-transaction.ts';
import type { Command, Reply } from './verbs.ts';

export interface Executor {
  /**
   * Rejects only if the store is broken for good. `from` is the node that sends the batch. An executor that measures
   * calls `onTook` with what a long batch took, before it replies.
   */
  execute(commands: readonly Command[], from: string, onTook?: (took: Took) => void): Promise<readonly Reply[]>;
  /**
   * Calls `listener` after every batch of another node that may have made work, and says whether it cancelled
   * something. An executor that serves only one store does not need this.
   */
  onOthers?(node: string, listener: (hasCancelled: boolean) => void): void;
  /**
   * Moves the write-ahead log into the database; completely, if nobody reads. The next write starts the log from the
   * beginning.
   */
  emptyLog?(): Promise<void>;
  /** A port over which another thread can have its own executor. */
  connect?(): MessagePort;
  close(): Promise<void>;
}
