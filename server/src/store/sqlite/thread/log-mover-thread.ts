// The thread that copies the log into the database whenever the writer's thread orders that.

import { join } from 'node:path';
import { workerData } from 'node:worker_threads';
import { DATABASE_FILE } from '../files/directory.ts';
import { Database } from './database.ts';
import { logFrames, MOVING, type MoverData, moveLog, movesAgain, setOpen } from './log-mover.ts';

const { directory, moving } = workerData as MoverData;
const database = new Database(join(directory, DATABASE_FILE));
// With this setting, the copied pages are flushed before the log may restart.
database.exec('PRAGMA synchronous = FULL');
setOpen(moving, true);
while (true) {
  Atomics.wait(moving, 0, MOVING.waits);
  if (Atomics.load(moving, 0) === MOVING.close) break;
  const { log } = logFrames(database);
  // An error ends this thread, and then the store: a later flush does not write what a failed flush has lost.
  moveLog(database);
  Atomics.compareExchange(moving, 0, MOVING.ordered, MOVING.waits);
  Atomics.notify(moving, 0);
  // The writer gives no order during a copy. Frames that it added meanwhile would wait for its next transaction.
  if (movesAgain(log, logFrames(database).log)) Atomics.compareExchange(moving, 0, MOVING.waits, MOVING.ordered);
}
database.close();
