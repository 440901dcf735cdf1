// The thread of the writer or of a reader: takes batches of commands, runs them in one transaction, and replies after
// the fsync. Each sending thread has its own port. The batches that have arrived share a transaction and its time, but
// a batch with a long command has its own.

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { systemWorld } from '../../../runtime/world.ts';
import { openDirectory, openReader } from '../files/open.ts';
import type { ThreadData, ThreadOrder } from './executor.ts';
import { WriterLogMover } from './log-mover.ts';
import { unpackCommands } from './packed-calls.ts';
import type { Packed } from './packing.ts';
import { postReplies, type ThreadMessage } from './port-executor.ts';
import { nextTogether, type RanBatch, SharedTransactions } from './shared-transaction.ts';
import { type Command, createVerbs, runBatch } from './verbs.ts';

/** A batch, and the port from which it came. */
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

/** The next batch that has arrived at a port, or null. Orders that arrived before the batch are carried out. */
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

try {
  const { directory, role, moving } = workerData as ThreadData;
  const file = role === 'writer' ? openDirectory(directory) : openReader(directory);
  const { clock } = systemWorld();
  const nowMs = clock.monotonicMs;
  const verbs = createVerbs(file.database, nowMs);
  const shared = new SharedTransactions(file.database, verbs, nowMs);
  const log =
    moving &&
    new WriterLogMover(file.database, moving, () => owner.postMessage({ kind: 'moverWanted' } satisfies ThreadMessage));
  const obey = (order: ThreadOrder) => {
    if (order === 'close') {
      file.close();
      owner.postMessage({ kind: 'closed' } satisfies ThreadMessage);
    } else if (order === 'emptyLog') {
      log?.empty();
      owner.postMessage({ kind: 'emptied' } satisfies ThreadMessage);
    } else listen(order.connect);
  };
  let waiting: Batch[] = [];
  let hasLongWaited = false;
  let isSoon = false;
  const runNext = () => {
    // A port sends its next batch only after the reply to the one before, so no port has more than one batch here.
    for (const port of ports) {
      const other = waiting.some((batch) => batch.port === port) ? null : received(port, obey);
      if (other) waiting.push({ port, commands: unpackCommands(other) });
    }
    const batches = waiting.map(({ commands }) => commands);
    const { chosen, areLong } = nextTogether(batches, hasLongWaited);
    const together = chosen.map((index) => waiting[index]!);
    waiting = waiting.filter((batch) => !together.includes(batch));
    hasLongWaited = !areLong && waiting.length > 0;
    const ran = shared.run(together.map(({ commands }) => commands));
    together.forEach(({ port, commands }, index) => {
      const { replies, took } = ran[index]!;
      postReplies(port, commands, replies, took);
    });
    log?.look();
    if (waiting.length > 0) runSoon();
  };
  const runSoon = () => {
    if (isSoon) return;
    isSoon = true;
    clock.soon(() => {
      isSoon = false;
      try {
        if (waiting.length > 0) runNext();
      } catch (error) {
        sayBroken(error);
      }
    });
  };
  const run = (port: MessagePort, packed: Packed) => {
    const commands = unpackCommands(packed);
    if (role === 'reader') {
      postReplies(port, commands, runBatch(file.database, verbs, commands, role));
      return;
    }
    if (ports.size === 1) {
      const [{ replies, took }] = shared.run([commands]) as [RanBatch];
      postReplies(port, commands, replies, took);
      log?.look();
      return;
    }
    waiting.push({ port, commands });
    runNext();
  };
  const listen = (port: MessagePort) => {
    ports.add(port);
    port.on('close', () => ports.delete(port));
    port.on('message', (message: Packed | ThreadOrder) => {
      try {
        if (isBatch(message)) run(port, message);
        else {
          while (message === 'close' && waiting.length > 0) runNext();
          obey(message);
        }
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
