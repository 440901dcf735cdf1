// Where the commands run: on a thread of their own in the server, so that an fsync never holds up a request, or
// right here for the simulation and small tools. Either way one batch is one transaction.

import { Worker } from 'node:worker_threads';
import { openDatabase } from './open.ts';
import { type Command, createVerbs, type Reply, runBatch } from './verbs.ts';
import { type Packed, packCommands, unpackReplies } from './wire.ts';

export interface Executor {
  /** Rejects only when the store is broken for good. `from` is the node whose batch this is. */
  execute(commands: readonly Command[], from: string): Promise<readonly Reply[]>;
  /**
   * Calls `listener` after every batch that came from another node than `node` and may have made work. An executor
   * that serves a single store can do without.
   */
  onOthers?(node: string, listener: () => void): void;
  close(): Promise<void>;
}

/** In the caller's thread. Several stores may share one database by sharing one of these. */
export function inlineExecutor(path: string): Executor {
  const database = openDatabase(path);
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

/** What the writer's thread says back. */
export type ThreadMessage =
  | { readonly kind: 'opened' }
  | { readonly kind: 'replies'; readonly replies: Packed }
  | { readonly kind: 'closed' }
  | { readonly kind: 'broken'; readonly message: string };

/** A reader needs a writer that has opened the directory before it. */
export interface ThreadData {
  readonly directory: string;
  readonly role: 'writer' | 'reader';
}

/** On a thread of its own; the writer's owns the data directory. Rejects with a message for people if it cannot. */
export async function threadExecutor(directory: string, role: ThreadData['role'] = 'writer'): Promise<Executor> {
  const workerData: ThreadData = { directory, role };
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData });
  const neighbours = new Neighbours();
  /** In the order in which the thread was asked, which is the order in which it answers. */
  let waiting: { resolve: (message: ThreadMessage) => void; reject: (error: Error) => void }[] = [];
  let broken: Error | null = null;
  const fail = (error: Error) => {
    broken ??= error;
    for (const each of waiting) each.reject(broken);
    waiting = [];
  };
  worker.on('message', (message: ThreadMessage) => {
    if (message.kind === 'broken') return fail(new Error(message.message));
    waiting.shift()?.resolve(message);
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => fail(new Error('The store is closed.')));
  const next = () =>
    new Promise<ThreadMessage>((resolve, reject) => {
      if (broken) reject(broken);
      else waiting.push({ resolve, reject });
    });
  await next();
  return {
    async execute(commands, from) {
      const answer = next();
      if (!broken) {
        const packed = packCommands(commands);
        worker.postMessage(packed, [packed.bodies.buffer]);
      }
      const message = await answer;
      neighbours.tell(commands, from);
      return message.kind === 'replies' ? unpackReplies(message.replies) : [];
    },
    onOthers: (node, listener) => neighbours.add(node, listener),
    async close() {
      if (!broken) {
        const answer = next();
        worker.postMessage('close');
        await answer;
      }
      await worker.terminate();
    },
  };
}

/** After one of these there may be something to claim that was not there before. */
const VERBS_MAKING_WORK: ReadonlySet<Command['verb']> = new Set([
  'accept',
  'settle',
  'release',
  'cancel',
  'deliverNow',
  'retryDeadLetters',
  'saveQueue',
  'pauseFlowKey',
  'pinFlowKey',
  'resetFlowRate',
  'saveSchedule',
  'setScheduleNext',
  'fireSchedule',
]);

/** The stores that share an executor: each plans by what it knows to be due, so it must hear of what others write. */
class Neighbours {
  readonly #listeners = new Map<string, () => void>();

  add(node: string, listener: () => void): void {
    this.#listeners.set(node, listener);
  }

  tell(commands: readonly Command[], from: string): void {
    if (!commands.some(({ verb }) => VERBS_MAKING_WORK.has(verb))) return;
    for (const [node, listener] of this.#listeners) if (node !== from) listener();
  }
}
