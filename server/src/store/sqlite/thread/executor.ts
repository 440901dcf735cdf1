// Runs the commands. In the server they run on a separate thread, so that an fsync never delays a request. In the
// simulation and small tools they run in the caller's thread.

import { join } from 'node:path';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { startThread } from '../../../shipped-files.ts';
import type { OnCommit } from '../../ports/store.ts';
import { DATABASE_FILE } from '../files/directory.ts';
import { LogKeeper } from '../files/log-keeper.ts';
import { openBesideService } from '../files/open.ts';
import type { StartCheck } from '../files/start-check.ts';
import {
  CHECKPOINTER_STATES,
  type CheckpointerData,
  isCheckpointerOpen,
  markCheckpointerNotStarted,
  newCheckpointerState,
  type SharedCheckpointerState,
  setCheckpointerOpen,
} from './checkpointer.ts';
import type { Database } from './database.ts';
import type { Executor } from './executor-port.ts';
import { PortCalls } from './port-executor.ts';
import { type Command, createVerbs, marksOf, runBatch } from './verbs.ts';

/** Runs commands in the caller's thread. Several stores can share one database by sharing one executor. */
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

/** Runs commands in the caller's thread, on a file that a running service may use at the same time. */
export function besideServiceExecutor(directory: string): Executor {
  const { database, close } = openBesideService(directory);
  return { ...inlineExecutor(database), close: async () => close() };
}

/** The same executor, which reports each batch that it has run. */
export function timedExecutor(executor: Executor, nowMs: () => number, onCommit: OnCommit): Executor {
  return {
    ...executor,
    async execute(commands, from, onTook) {
      const sentAtMs = nowMs();
      const replies = await executor.execute(commands, from, onTook);
      onCommit(nowMs() - sentAtMs, commands.length);
      return replies;
    },
  };
}

/** What a thread needs to begin. A reader can open a directory only after a writer has opened it. */
export interface ThreadData {
  readonly directory: string;
  readonly role: 'writer' | 'reader';
  /** For the writer: its shared state with the thread that copies its log. */
  readonly copying: SharedCheckpointerState | null;
}

/** Orders to a thread, besides batches. After `connect`, another thread may send batches over that port. */
export type ThreadOrder = 'close' | 'emptyLog' | { readonly connect: MessagePort };

/**
 * Runs commands on a separate thread; the writer's thread owns the data directory. Rejects with a text for people if
 * the directory cannot be opened. `onEnd` is called once, when the thread has ended or can no longer be used. `onFound`
 * gets what the writer found when it opened the database.
 */
export async function threadExecutor(
  directory: string,
  role: ThreadData['role'] = 'writer',
  onEnd: (error: Error) => void = () => {},
  onFound: (found: StartCheck) => void = () => {},
): Promise<Executor> {
  const copying: SharedCheckpointerState | null = role === 'writer' ? newCheckpointerState() : null;
  const workerData: ThreadData = { directory, role, copying };
  const worker = startThread('store/sqlite/thread/thread', { workerData, name: role });
  const neighbours = new Neighbours();
  const fail = (error: unknown) => calls.fail(error instanceof Error ? error : new Error(String(error)));
  const checkpointer = copying && new Checkpointer({ directory, copying }, fail);
  const calls = new PortCalls(worker, onEnd, () => checkpointer?.start());
  worker.on('error', fail);
  worker.on('exit', () => calls.fail(new Error('The store is closed.')));
  const opened = await calls.next();
  if (opened.kind === 'opened') onFound(opened.found);
  // When a thread is ended, its connections close in any order. So the connection that keeps the log is on this thread.
  const keeper = role === 'writer' ? new LogKeeper(join(directory, DATABASE_FILE)) : null;
  keeper?.open();
  return {
    async execute(commands, from, onTook) {
      const replies = await calls.execute(commands, onTook);
      neighbours.tell(commands, from);
      return replies;
    },
    onOthers: (node, listener) => neighbours.add(node, listener),
    connect() {
      const { port1, port2 } = new MessageChannel();
      worker.postMessage({ connect: port1 } satisfies ThreadOrder, [port1]);
      return port2;
    },
    emptyLog: () => calls.order('emptyLog'),
    async close() {
      await checkpointer?.close();
      if (!calls.isBroken) {
        keeper?.close();
        await calls.order('close');
      }
      await worker.terminate();
      keeper?.close();
    },
  };
}

/** The thread that makes the checkpoints of an open directory. It starts when it is first needed. */
class Checkpointer {
  readonly #data: CheckpointerData;
  readonly #onError: (error: unknown) => void;
  #ended: Promise<void> | null = null;
  #isClosed = false;

  constructor(data: CheckpointerData, onError: (error: unknown) => void) {
    this.#data = data;
    this.#onError = onError;
  }

  start(): void {
    if (this.#isClosed) return;
    const { copying } = this.#data;
    setCheckpointerOpen(copying, false);
    try {
      const worker = startThread('store/sqlite/thread/checkpointer-thread', {
        workerData: this.#data,
        name: 'checkpointer',
      });
      let why: unknown = null;
      worker.on('error', (error) => {
        why = error;
      });
      this.#ended = new Promise((resolve) => {
        worker.once('exit', () => {
          this.#end(why);
          resolve();
        });
      });
    } catch {
      // The system allows no further thread now. A later order tries again.
      markCheckpointerNotStarted(copying);
    }
  }

  /**
   * If the thread ended before it opened the database, it could not start, for example for lack of file handles. Then
   * the writer copies the log alone, and starts the thread again later.
   */
  #end(why: unknown): void {
    if (!isCheckpointerOpen(this.#data.copying)) markCheckpointerNotStarted(this.#data.copying);
    else if (why !== null) this.#onError(why);
    else if (!this.#isClosed) this.#onError(new Error('the thread that copies the log has ended'));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    Atomics.store(this.#data.copying, 0, CHECKPOINTER_STATES.close);
    Atomics.notify(this.#data.copying, 0);
    await this.#ended;
  }
}

/**
 * The stores that share an executor. Each store plans with the due times that it knows, so it must be notified of what
 * the other stores write.
 */
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
