// The thread of the writer or the reader: takes batches of commands, runs them in one transaction, replies after the
// fsync. Several threads may send batches, each over its own port. The batches that have arrived share a transaction,
// and its time.

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { systemWorld } from '../../world.ts';
import type { Database } from './database.ts';
import type { ThreadData, ThreadOrder } from './executor.ts';
import { openDirectory, openReader } from './open.ts';
import { unpackCommands } from './packed-calls.ts';
import type { Packed } from './packing.ts';
import { postReplies, type ThreadMessage } from './port-executor.ts';
import { type Ran, SharedTransactions } from './shared-transaction.ts';
import { type Command, createVerbs, isFull, runBatch } from './verbs.ts';

/** One port's batch. */
interface Batch {
  readonly port: MessagePort;
  readonly commands: readonly Command[];
}

const owner = parentPort!;
const ports = new Set<MessagePort>([owner]);

function sayBroken(error: unknown): void {
  const message: ThreadMessage = { kind: 'broken', message: (error as Error).message };
  for (const port of ports) port.postMessage(message);
}

/** The next batch that has arrived at a port, if any. An order that arrived before it is obeyed at once. */
function received(port: MessagePort, obey: (order: ThreadOrder) => void): Packed | null {
  const next = receiveMessageOnPort(port) as { readonly message: Packed | ThreadOrder } | undefined;
  if (!next) return null;
  if (isBatch(next.message)) return next.message;
  obey(next.message);
  return null;
}

function isBatch(message: Packed | ThreadOrder): message is Packed {
  return typeof message === 'object' && 'values' in message;
}

/** PASSIVE waits for nobody, and leaves in the log what is still being read, or what finds no space on a full disk. */
function emptyLog(database: Database): void {
  try {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    if (!isFull(error)) throw error;
  }
}

try {
  const { directory, role } = workerData as ThreadData;
  const file = role === 'writer' ? openDirectory(directory) : openReader(directory);
  const nowMs = systemWorld().clock.monotonicMs;
  const verbs = createVerbs(file.database, nowMs);
  const shared = new SharedTransactions(file.database, verbs, nowMs);
  const read = ({ commands }: Batch): Ran => ({ replies: runBatch(file.database, verbs, commands, role), took: null });
  const obey = (order: ThreadOrder) => {
    if (order === 'close') {
      file.close();
      owner.postMessage({ kind: 'closed' } satisfies ThreadMessage);
    } else if (order === 'emptyLog') {
      emptyLog(file.database);
      owner.postMessage({ kind: 'emptied' } satisfies ThreadMessage);
    } else listen(order.connect);
  };
  const run = (first: MessagePort, packed: Packed) => {
    const batches: Batch[] = [{ port: first, commands: unpackCommands(packed) }];
    // A port sends its next batch only after the reply to the one before, so none has more than one.
    for (const port of ports.size === 1 ? [] : ports) {
      const other = port === first ? null : received(port, obey);
      if (other) batches.push({ port, commands: unpackCommands(other) });
    }
    const ran = role === 'writer' ? shared.run(batches.map(({ commands }) => commands)) : batches.map(read);
    batches.forEach(({ port, commands }, index) => {
      const { replies, took } = ran[index]!;
      postReplies(port, commands, replies, took);
    });
  };
  const listen = (port: MessagePort) => {
    ports.add(port);
    port.on('close', () => ports.delete(port));
    port.on('message', (message: Packed | ThreadOrder) => {
      try {
        if (isBatch(message)) run(port, message);
        else obey(message);
      } catch (error) {
        sayBroken(error);
      }
    });
  };
  listen(owner);
  owner.postMessage({ kind: 'opened', found: file.found } satisfies ThreadMessage);
} catch (error) {
  sayBroken(error);
}
