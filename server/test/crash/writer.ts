// Writes messages with our own store and says after each commit which one it was and how long the log of the disk is
// now. Told to use `NORMAL`, it acknowledges what is not flushed: the power-loss test must notice. Ends without closing the
// store, as a crash does.

import { statSync } from 'node:fs';
import { type NewMessage, NO_SETTINGS } from '../../src/rules/delivery/message.ts';
import { openDirectory } from '../../src/store/sqlite/files/open.ts';
import { createVerbs, runBatch } from '../../src/store/sqlite/thread/verbs.ts';

const [directory, synchronous, count, perCommit] = process.argv.slice(2) as [string, 'FULL' | 'NORMAL', string, string];
const { database } = openDirectory(directory);
database.exec(`PRAGMA synchronous = ${synchronous}`);
const verbs = createVerbs(database);

for (let number = 0; number < Number(count); number += Number(perCommit)) {
  // So that a large transaction changes pages that are not in the log yet.
  if (Number(perCommit) > 1) database.exec('PRAGMA wal_checkpoint(RESTART)');
  const messages = Array.from({ length: Number(perCommit) }, (_, index) => newMessage(`msg_${number + index + 1}`));
  const leases = messages.map(() => null);
  const command = { messages, leases, node: 'writer', now: messages[0]!.createdAt, dayMax: null };
  const [reply] = runBatch(database, verbs, [{ verb: 'accept', args: [command] }]);
  if (!reply || 'error' in reply) throw new Error(reply?.error ?? 'no reply');
  const logBytes = statSync(process.env.DISK_LOG!).size;
  for (const { id } of messages) process.stdout.write(`${id} ${logBytes}\n`);
}
// Node closes the store when a process ends by itself, which writes to the disk once more.
process.kill(process.pid, 'SIGKILL');

function newMessage(id: string): NewMessage {
  return {
    id,
    accountId: 'acc_writer',
    kind: 'publish',
    url: 'http://127.0.0.1:1/',
    host: '127.0.0.1:1',
    method: 'POST',
    headers: [],
    body: Buffer.from('x'.repeat(500)),
    retriesMax: 0,
    retryDelay: null,
    retryJitter: null,
    timeoutMs: 1000,
    queueName: null,
    ...NO_SETTINGS,
    scheduleId: null,
    deduplication: null,
    debounce: null,
    topicName: null,
    endpointName: null,
    callback: null,
    failureCallback: null,
    sourceMessageId: null,
    callerIp: null,
    hops: 0,
    descendantsLeft: 2000,
    createdAt: Date.now(),
    dueAt: Date.now() + 86_400_000,
    mustStartBefore: null,
  };
}
