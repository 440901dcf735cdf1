// The thread of the writer or the reader: takes batches of commands, runs each batch as one transaction, replies after
// the fsync.

import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadData, ThreadMessage, ThreadOrder } from './executor.ts';
import { openDirectory, openReader } from './open.ts';
import { notCrossing, packReplies, unpackCommands } from './packed-calls.ts';
import type { Packed } from './packing.ts';
import { type Command, createVerbs, type Reply, runBatch } from './verbs.ts';

const port = parentPort!;
const say = (message: ThreadMessage) => port.postMessage(message);

/** A reply that cannot be transferred, for example because it is too large, fails alone. */
function answer(commands: readonly Command[], replies: readonly Reply[]): void {
  try {
    say({ kind: 'replies', replies: packReplies(commands, replies) });
  } catch {
    const failed = notCrossing(replies, (reply, index) => packReplies([commands[index]!], [reply]));
    const crossing = replies.map((reply, index) => failed[index] ?? reply);
    say({ kind: 'replies', replies: packReplies(commands, crossing) });
  }
}

try {
  const { directory, role } = workerData as ThreadData;
  const file = role === 'writer' ? openDirectory(directory) : openReader(directory);
  const verbs = createVerbs(file.database);
  port.on('message', (packed: Packed | ThreadOrder) => {
    try {
      if (packed === 'close') {
        file.close();
        say({ kind: 'closed' });
      } else if (packed === 'emptyLog') {
        // PASSIVE waits for nobody, and leaves in the log what is still being read.
        file.database.exec('PRAGMA wal_checkpoint(PASSIVE)');
        say({ kind: 'emptied' });
      } else {
        const commands = unpackCommands(packed);
        answer(commands, runBatch(file.database, verbs, commands, role));
      }
    } catch (error) {
      say({ kind: 'broken', message: (error as Error).message });
    }
  });
  say({ kind: 'opened', found: file.found });
} catch (error) {
  say({ kind: 'broken', message: (error as Error).message });
}
