// The writer's thread, or the reader's: takes batches of commands, runs each as one transaction, answers after the fsync.

import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadData, ThreadMessage } from './executor.ts';
import { openDirectory, openReader } from './open.ts';
import { createVerbs, runBatch } from './verbs.ts';
import { type Packed, packReplies, unpackCommands } from './wire.ts';

const port = parentPort!;
const say = (message: ThreadMessage) => port.postMessage(message);

try {
  const { directory, role } = workerData as ThreadData;
  const file = role === 'writer' ? openDirectory(directory) : openReader(directory);
  const verbs = createVerbs(file.database);
  port.on('message', (packed: Packed | 'close') => {
    try {
      if (packed === 'close') {
        file.close();
        say({ kind: 'closed' });
      } else {
        const commands = unpackCommands(packed);
        say({ kind: 'replies', replies: packReplies(commands, runBatch(file.database, verbs, commands)) });
      }
    } catch (error) {
      say({ kind: 'broken', message: (error as Error).message });
    }
  });
  say({ kind: 'opened' });
} catch (error) {
  say({ kind: 'broken', message: (error as Error).message });
}
