// Runs the commands. In the server they run on a thread of their own, so that an fsync never delays a request; for the
// simulation and small tools they run in the caller's thread. One batch is always one transaction.

import type { Worker } from 'node:worker_threads';
import { startThread } from '../../shipped-files.ts';
import type { Database } from './database.ts';
import { openBeside } from './open.ts';
import { notCrossing, packCommands, unpackReplies } from './packed-calls.ts';
import type { Packed } from './packing.ts';
import type { StartCheck } from './start-check.ts';
import { type Command, createVerbs, failedReply, marksOf, type Reply, runBatch } from './verbs.ts';

export interface Executor {
  /** Rejects only if the store is broken for good. `from` is the node that sends the batch. */
  execute(commands: readonly Command[], from: string): Promise<readonly Reply[]>;
  /**
   * Calls `listener` after every batch of another node that may have made work, and says whether it cancelled
   * something. An executor that serves only one store does not need this.
   */
  onOthers?(node: string, listener: (hasCancelled: boolean) => void): void;
  /**
   * Moves the write-ahead log into the database; completely, if nobody reads. The next write starts the log from the
   * beginning.
   */
  emptyLog?(): Promise<void>;
  close(): Promise<void>;
}

/** In the caller's thread. Several stores can share one database by sharing one executor. */
export function inlineExecutor(database: Database): Executor {
  const verbs = createVerbs(database);
  const neighbours = new Neighbours();
  return {
    async execute(commands, from) {
      const replies = runBatch(database, verbs, commands);
      neighbours.tell(commands, from);
      return replies;
    },
    onOthers: (node, listener) => neighbours.add(node, listener),
    close: async () => database.close(),
  };
}

/** In the caller's thread, on a file that a running service may use at the same time. */
export function besideExecutor(directory: string): Executor {
  return inlineExecutor(openBeside(directory));
}

/** Orders to a thread other than batches. */
export type ThreadOrder = 'close' | 'emptyLog';

/** What a thread replies. */
export type ThreadMessage =
  | { readonly kind: 'opened'; readonly found: StartCheck }
  | { readonly kind: 'replies'; readonly replies: Packed }
  | { readonly kind: 'closed' | 'emptied' }
  | { readonly kind: 'broken'; readonly message: string };

/** Before a reader can open a directory, a writer must have opened it. */
export interface ThreadData {
  readonly directory: string;
  readonly role: 'writer' | 'reader';
}

/**
 * On a thread of its own; the writer's thread owns the data directory. Rejects with a message for people if the
 * directory cannot be opened. `onEnd` is called when the thread has ended by itself or can no longer be used; `onFound`
 * with what the writer found when it opened the database.
 */
export async function threadExecutor(
  directory: string,
  role: ThreadData['role'] = 'writer',
  onEnd: (error: Error) => void = () => {},
  onFound: (found: StartCheck) => void = () => {},
): Promise<Executor> {
  const workerData: ThreadData = { directory, role };
  const worker = startThread('store/sqlite/thread', workerData);
  const neighbours = new Neighbours();
  /** In the order of the requests, which is also the order of the replies. */
  let waiting: { resolve: (message: ThreadMessage) => void; reject: (error: Error) => void }[] = [];
  let broken: Error | null = null;
  const fail = (error: Error) => {
    if (broken) return;
    broken = error;
    for (const each of waiting) each.reject(broken);
    waiting = [];
    onEnd(broken);
  };
  worker.on('message', (message: ThreadMessage) => {
    if (message.kind === 'broken') return fail(new Error(message.message));
    waiting.shift()?.resolve(message);
  });
  worker.on('messageerror', fail);
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => fail(new Error('The store is closed.')));
  const next = () =>
    new Promise<ThreadMessage>((resolve, reject) => {
      if (broken) reject(broken);
      else waiting.push({ resolve, reject });
    });
  const opened = await next();
  if (opened.kind === 'opened') onFound(opened.found);
  return {
    async execute(commands, from) {
      if (broken) throw broken;
      const { sent, refused } = send(worker, commands);
      if (refused !== null && sent.length === 0) return refused as readonly Reply[];
      const message = await next();
      neighbours.tell(sent, from);
      const replies = message.kind === 'replies' ? unpackReplies(message.replies) : [];
      return refused === null ? replies : refused.map((reply) => reply ?? replies.shift()!);
    },
    onOthers: (node, listener) => neighbours.add(node, listener),
    async emptyLog() {
      if (broken) throw broken;
      const answer = next();
      worker.postMessage('emptyLog' satisfies ThreadOrder);
      await answer;
    },
    async close() {
      if (!broken) {
        const answer = next();
        worker.postMessage('close' satisfies ThreadOrder);
        await answer;
      }
      await worker.terminate();
    },
  };
}

/**
 * Sends all commands that can be transferred to the thread. If some cannot, `refused` is parallel to `commands`: the
 * reason, or null.
 */
function send(
  worker: Worker,
  commands: readonly Command[],
): { readonly sent: readonly Command[]; readonly refused: readonly (Reply | null)[] | null } {
  const post = (some: readonly Command[]) => {
    const packed = packCommands(some);
    worker.postMessage(packed, [packed.bodies.buffer]);
  };
  try {
    post(commands);
    return { sent: commands, refused: null };
  } catch {
    // At least one command cannot be transferred, so none was sent.
  }
  const refused = notCrossing(commands, (command) => packCommands([command]));
  const sent = commands.filter((_, index) => refused[index] === null);
  try {
    if (sent.length > 0) post(sent);
    return { sent, refused };
  } catch (error) {
    // Each of them can be transferred alone, but there is not enough memory for all of them together.
    return { sent: [], refused: commands.map(() => failedReply(error)) };
  }
}

/** The stores that share an executor. Each plans with the due times it knows, so it must hear what the others write. */
class Neighbours {
  readonly #listeners = new Map<string, (hasCancelled: boolean) => void>();

  add(node: string, listener: (hasCancelled: boolean) => void): void {
    this.#listeners.set(node, listener);
  }

  tell(commands: readonly Command[], from: string): void {
    if (this.#listeners.size === 1 && this.#listeners.has(from)) return;
    const marks = commands.map(({ verb }) => marksOf(verb));
    if (!marks.some(({ makesWorkAt, schedulesAt }) => makesWorkAt || schedulesAt)) return;
    const hasCancelled = marks.some(({ cancels }) => cancels);
    for (const [node, listener] of this.#listeners) if (node !== from) listener(hasCancelled);
  }
}
