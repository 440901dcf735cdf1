// Writes messages on the writer's own thread, so much that the thread beside it copies the log again and again. Says after each
// commit which one it was and how long the log of the disk is now, and ends as a crash does.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from '../../src/store/sqlite/files/directory.ts';
import { openReader } from '../../src/store/sqlite/files/open.ts';
import { threadExecutor } from '../../src/store/sqlite/thread/executor.ts';
import { ACCOUNT, KEYS, message, NOW } from '../conformance/given.ts';
import { waitFor } from '../support/wait.ts';

/** So much that the log is worth copying. */
const LARGE_BYTES = 9 * 1024 * 1024;
const SMALL_BYTES = 100 * 1024;

const [directory, count, largeEvery] = process.argv.slice(2) as [string, string, string];
const executor = await threadExecutor(directory);
const { database } = openReader(directory);
const account = { id: ACCOUNT, name: 'one', tier: 'free', createdAt: NOW };
await executor.execute([{ verb: 'createAccount', args: [account, KEYS] }], 'nod_a');
for (let number = 1; number <= Number(count); number += 1) {
  const isLarge = number % Number(largeEvery) === 0;
  const messages = [message({ id: `msg_${number}`, body: Buffer.alloc(isLarge ? LARGE_BYTES : SMALL_BYTES, number) })];
  const args = [{ messages, leases: [null], node: 'nod_a', now: NOW, dayMax: null }];
  const [reply] = await executor.execute([{ verb: 'accept', args }], 'nod_a');
  if (!reply || !('value' in reply)) throw new Error(JSON.stringify(reply));
  process.stdout.write(`msg_${number} ${statSync(process.env.DISK_LOG!).size}\n`);
  // Then the next one begins the log anew, although the writer itself has moved nothing.
  if (isLarge) await waitFor('all of the log is copied', isAllCopied);
}
process.kill(process.pid, 'SIGKILL');

function isAllCopied(): boolean {
  const { log, checkpointed } = database.get<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')!;
  return log === checkpointed && statSync(join(directory, DATABASE_FILE)).size > LARGE_BYTES;
}
