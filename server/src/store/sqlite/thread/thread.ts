// The thread of the writer or of a reader: takes batches of commands, runs them in one transaction, and replies after
// the fsync. Each sending thread has its own port. Batches that have arrived share one transaction and the time
// that it may take, but a batch with a long command has a transaction of its own.

import { constants } from 'node:os';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { setOwnPriority } from '../../../runtime/thread-priority.ts';
import { systemWorld } from '../../../runtime/world.ts';
import { openDirectory, openReader } from '../files/open.ts';
import { WriterCheckpoints } from './checkpointer.ts';
import type { ThreadData, ThreadOrder } from './executor.ts';
import { unpackCommands } from './packed-calls.ts';
import type { Packed } from './packing.ts';
import { postReplies, type ThreadMessage } from './port-executor.ts';
import { type BatchKind, chooseBatches, type RanBatch, SharedTransactions } from './shared-transaction.ts';
import { type Command, createVerbs, runBatch } from './verbs.ts';

/** A batch, and the port from which it came. */
interface Batch {
  readonly port: MessagePort;
  readonly commands: readonly Command[];
}

/** The kinds of batches that ran last: short ones come between the others. */
const KINDS_KEPT = 2;

const owner = parentPort!;
const ports = new Set<MessagePort>([owner]);

function sayBroken(error: unknown): void {
  const message: ThreadMessage = { kind: 'broken', message: (error as Error).message };
  for (const port of ports) port.postMessage(message);
}

/** Takes the next message of a port, if one has arrived. Returns a batch. Carries out an order, and returns null. */
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
  const { directory, role, copying } = workerData as ThreadData;
  const file = role === 'writer' ? openDirectory(directory) : openReader(directory);
  // One read may take long, and is done for one account.
  if (role === 'reader') setOwnPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const { clock } = systemWorld();
  const nowMs = clock.monotonicMs;
  const verbs = createVerbs(file.database, nowMs);
  const shared = new SharedTransactions(file.database, verbs, nowMs);
  const log =
    copying &&
    new WriterCheckpoints(file.database, copying, () =>
      owner.postMessage({ kind: 'checkpointerWanted' } satisfies ThreadMessage),
    );
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
  let last: readonly BatchKind[] = [];
  let isSoon = false;
  const runNext = () => {
    // A port sends its next batch only after the reply to the one before, so no port has more than one batch here.
    for (const port of ports) {
      const other = waiting.some((batch) => batch.port === port) ? null : received(port, obey);
      if (other) waiting.push({ port, commands: unpackCommands(other) });
    }
    const batches = waiting.map(({ commands }) => commands);
    const { chosen, kind } = chooseBatches(batches, last, shared.areClaimsLong);
    const together = chosen.map((index) => waiting[index]!);
    waiting = waiting.filter((batch) => !together.includes(batch));
    // Short ones that ran while nothing waited need not let a long one go before the next of them.
    last = kind === 'short' && waiting.length === 0 ? [] : [kind, ...last].slice(0, KINDS_KEPT);
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
