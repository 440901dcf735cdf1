// Where the commands run: on a thread of their own in the server, so that an fsync never holds up a request, or
// right here for the simulation and small tools. Either way one batch is one transaction.

import { Worker } from 'node:worker_threads';
import { openDatabase } from './open.ts';
import { type Command, createVerbs, type Reply, runBatch } from './verbs.ts';

export interface Executor {
  /** Rejects only when the store is broken for good. */
  execute(commands: readonly Command[]): Promise<readonly Reply[]>;
  close(): Promise<void>;
}

/** In the caller's thread. Several stores may share one database by sharing one of these. */
export function inlineExecutor(path: string): Executor {
  const database = openDatabase(path);
  const verbs = createVerbs(database);
  return {
    execute: async (commands) => runBatch(database, verbs, commands),
    close: async () => database.close(),
  };
}

/** What the writer's thread says back. */
export type ThreadMessage =
  | { readonly kind: 'opened' }
  | { readonly kind: 'replies'; readonly replies: readonly Reply[] }
  | { readonly kind: 'closed' }
  | { readonly kind: 'broken'; readonly message: string };

/** On a thread of its own, which owns the data directory. Rejects with a message for people if it cannot. */
export async function threadExecutor(directory: string): Promise<Executor> {
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: { directory } });
  let waiting: { resolve: (message: ThreadMessage) => void; reject: (error: Error) => void } | null = null;
  let broken: Error | null = null;
  const fail = (error: Error) => {
    broken ??= error;
    waiting?.reject(broken);
    waiting = null;
  };
  worker.on('message', (message: ThreadMessage) => {
    if (message.kind === 'broken') return fail(new Error(message.message));
    waiting?.resolve(message);
    waiting = null;
  });
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', () => fail(new Error('The store is closed.')));
  const next = () =>
    new Promise<ThreadMessage>((resolve, reject) => {
      if (broken) reject(broken);
      else waiting = { resolve, reject };
    });
  await next();
  return {
    async execute(commands) {
      const answer = next();
      if (!broken) worker.postMessage(commands);
      const message = await answer;
      return message.kind === 'replies' ? message.replies : [];
    },
    async close() {
      if (broken) return;
      const answer = next();
      worker.postMessage('close');
      await answer;
      await worker.terminate();
    },
  };
}
