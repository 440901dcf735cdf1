// Group commit: collects what is asked while a transaction runs into the next one, so that many requests share one
// fsync, and answers each when its batch is on disk. What can wait does so for a moment, until something comes that
// cannot.

import type { Clock } from '../../world.ts';
import type { AcceptCommand } from '../commands.ts';
import { waitingBytes } from '../inbox.ts';
import { StoreUnavailable } from '../store.ts';
import type { Executor } from './executor.ts';
import { type Command, type FailedReply, marksOf, type Reply, type VerbName, type Verbs } from './verbs.ts';

/** How long what can wait is kept back, if nothing else is asked meanwhile. */
const LINGER_MS = 5;

/**
 * One transaction accepts no more than this, but for one command that is larger by itself: what crosses to the writer is
 * in memory twice, and as long as it takes nobody is answered. What is small goes with it all the same: whoever publishes a
 * message waits for one transaction, not for all that another account has waiting.
 */
const BATCH_MESSAGES_MAX = 2000;
const BATCH_BYTES_MAX = 32 * 1024 * 1024;
const SMALL_MESSAGES_MAX = 100;
const SMALL_BYTES_MAX = 256 * 1024;

/**
 * So many messages one account may have changed in one transaction by calls of people: whatever it asks at once, others wait
 * for one piece of it. The first call goes whole.
 */
const PIECE_MESSAGES_MAX = 1000;
interface Waiting {
  readonly command: Command;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** What is asked while a batch runs goes into the next: under load, many requests share one fsync. */
export class Committer {
  readonly #executor: Executor;
  readonly #node: string;
  readonly #onBroken: (error: Error) => void;
  readonly #timers: Clock | null;
  #waiting: Waiting[] = [];
  /** One of those that wait cannot wait for longer. */
  #isUrgent = false;
  #running: Promise<void> | null = null;
  #closed: Error | null = null;
  #cancelLinger: (() => void) | null = null;

  /** Without timers nothing waits. */
  constructor(executor: Executor, node: string, onBroken: (error: Error) => void, timers: Clock | null = null) {
    this.#executor = executor;
    this.#node = node;
    this.#onBroken = onBroken;
    this.#timers = timers;
  }

  call<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const answer = this.#add(verb, args);
    this.#hurry();
    return answer;
  }

  /** For what can wait: it shares the flush of what is asked next, or gets one of its own after a moment. */
  callSometime<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const answer = this.#add(verb, args);
    if (!this.#running) this.#linger();
    return answer;
  }

  async close(): Promise<void> {
    // First, so that nothing new is asked of an executor that is being closed.
    this.#closed ??= new Error('The store is closed.');
    this.#hurry();
    await this.#running;
    await this.#executor.close();
  }

  #add<V extends VerbName>(verb: V, args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new StoreUnavailable('unavailable', this.#closed.message));
      this.#waiting.push({ command: { verb, args }, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  #hurry(): void {
    this.#isUrgent = true;
    this.#running ??= this.#run();
  }

  #linger(): void {
    if (this.#timers) this.#cancelLinger ??= this.#timers.after(LINGER_MS, () => this.#hurry());
    else this.#hurry();
  }

  async #run(): Promise<void> {
    // Lets everything that is asked in this turn of the loop into the first batch.
    await null;
    while (this.#isUrgent && this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      this.#isUrgent = this.#waiting.length > 0;
      this.#cancelLinger?.();
      this.#cancelLinger = null;
      try {
        const commands = batch.map((waiting) => waiting.command);
        const replies = await this.#executor.execute(commands, this.#node);
        batch.forEach((waiting, index) => {
          answer(waiting, replies[index]!);
        });
      } catch (error) {
        this.#break(error as Error, batch);
      }
    }
    this.#running = null;
    if (this.#waiting.length > 0) this.#linger();
  }

  #nextBatch(): Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    let room = { messages: BATCH_MESSAGES_MAX, bytes: BATCH_BYTES_MAX };
    /** Accounts that have something left: what they asked later stays behind it. */
    const behind = new Set<string>();
    const changed = new Map<string, number>();
    return waiting.filter((each, index) => {
      const { verb, args } = each.command;
      const change = marksOf(verb).changes?.(...args);
      if (change) {
        const before = changed.get(change.accountId) ?? 0;
        // What does not fit keeps all that the account changes later behind it.
        const fits = before === 0 || before + change.messages <= PIECE_MESSAGES_MAX;
        changed.set(change.accountId, fits ? before + change.messages : Number.POSITIVE_INFINITY);
        if (!fits) this.#waiting.push(each);
        return fits;
      }
      const size = acceptSize(each.command);
      if (size === null) return true;
      const fits = size.messages <= room.messages && size.bytes <= room.bytes;
      if (behind.has(size.accountId) || !(fits || size.isSmall || index === 0)) {
        behind.add(size.accountId);
        this.#waiting.push(each);
        return false;
      }
      room = { messages: room.messages - size.messages, bytes: room.bytes - size.bytes };
      return true;
    });
  }

  #break(error: Error, batch: readonly Waiting[]): void {
    this.#closed = error;
    for (const waiting of [...batch, ...this.#waiting]) {
      waiting.reject(new StoreUnavailable('unavailable', error.message));
    }
    this.#waiting = [];
    this.#onBroken(error);
  }
}

/** Null for what accepts nothing. */
function acceptSize({ verb, args }: Command) {
  if (verb !== 'accept') return null;
  const { messages } = args[0] as AcceptCommand;
  const bytes = waitingBytes(messages);
  const isSmall = messages.length <= SMALL_MESSAGES_MAX && bytes <= SMALL_BYTES_MAX;
  return { accountId: messages[0]?.accountId ?? '', messages: messages.length, bytes, isSmall };
}

function answer(waiting: Waiting, reply: Reply): void {
  if ('value' in reply) waiting.resolve(reply.value);
  else waiting.reject(toError(reply));
}

function toError({ error, reason }: FailedReply): Error {
  return reason === null || reason === 'unreadable' ? new Error(error) : new StoreUnavailable(reason, error);
}
