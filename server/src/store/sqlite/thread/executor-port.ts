// The port to an executor, which runs the commands of a store: in the caller's thread, on a separate thread, or on a
// thread behind a message port.

import type { MessagePort } from 'node:worker_threads';
import type { BatchTimes } from './shared-transaction.ts';
import type { Command, Reply } from './verbs.ts';

export interface Executor {
  /**
   * Rejects only if the store is broken for good. `from` is the node that sends the batch. An executor that measures
   * times calls `onTook` with those of a long batch, before it replies.
   */
  execute(commands: readonly Command[], from: string, onTook?: (took: BatchTimes) => void): Promise<readonly Reply[]>;
  /**
   * Calls `listener` after every batch of another node that may have made work. `hasCancelled`: the batch may have
   * cancelled messages. An executor that serves only one store does not need this.
   */
  onOthers?(node: string, listener: (hasCancelled: boolean) => void): void;
  /** Copies the write-ahead log into the database: all of it, if it has no reader. The next write restarts the log. */
  emptyLog?(): Promise<void>;
  /** A port over which another thread can have its own executor. */
  connect?(): MessagePort;
  close(): Promise<void>;
}
