// The thread that copies the write-ahead log into the database whenever the writer's thread orders that.

import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import { DATABASE_FILE } from '../files/directory.ts';
import {
  CHECKPOINTER_STATES,
  type CheckpointerData,
  checkpointWithoutWaiting,
  logFrames,
  setCheckpointerOpen,
  setCopied,
  shouldCheckpointAgain,
} from './checkpointer.ts';
import { Database } from './database.ts';

const { directory, copying } = workerData as CheckpointerData;
const database = new Database(join(directory, DATABASE_FILE));
// With this setting, the copied pages are flushed before the log may restart.
database.exec('PRAGMA synchronous = FULL');
setCheckpointerOpen(copying, true);
while (true) {
  Atomics.wait(copying, 0, CHECKPOINTER_STATES.waits);
  if (Atomics.load(copying, 0) === CHECKPOINTER_STATES.close) break;
  const before = logFrames(database);
  // An error ends this thread, and then the store: a later flush does not write what a failed flush has lost.
  const copied = checkpointWithoutWaiting(database) ?? before;
  setCopied(copying, copied);
  Atomics.compareExchange(copying, 0, CHECKPOINTER_STATES.ordered, CHECKPOINTER_STATES.waits);
  Atomics.notify(copying, 0);
  // The writer gives no order during a copy. If it has added many frames meanwhile, this thread orders itself another.
  if (shouldCheckpointAgain(copied, logFrames(database)))
    Atomics.compareExchange(copying, 0, CHECKPOINTER_STATES.waits, CHECKPOINTER_STATES.ordered);
}
database.close();
