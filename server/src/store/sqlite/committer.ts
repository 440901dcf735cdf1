// Group commit: commands that arrive while a transaction runs are collected for the next one, so that many requests
// share one fsync. Each gets its reply when its batch is on disk. A command that can wait does so briefly, until one
// arrives that cannot.

import type { Clock } from '../../world.ts';
import type { AcceptCommand } from '../commands.ts';
import { waitingBytes } from '../inbox.ts';
import { StoreUnavailable } from '../store.ts';
import type { Executor } from './executor.ts';
import { type Command, type FailedReply, marksOf, type Reply, type VerbName, type Verbs } from './verbs.ts';

/** How long a command that can wait is delayed if no other command arrives. */
const LINGER_MS = 5;

/**
 * One transaction accepts no more than this, unless a single command is larger. Commands sent to the writer are in
 * memory twice, and nobody gets a reply until the batch is done. Small commands join the batch in any case, so that a
 * small publish waits for one transaction and not for the whole backlog of another account.
 */
const BATCH_MESSAGES_MAX = 2000;
const BATCH_BYTES_MAX = 32 * 1024 * 1024;
const SMALL_MESSAGES_MAX = 100;
const SMALL_BYTES_MAX = 256 * 1024;

/**
 * How many messages the calls of people may change in one transaction, for each account. So other accounts wait for one
 * piece of its work at most. The first call is never split.
 */
const PIECE_MESSAGES_MAX = 1000;
interface Waiting {
  readonly command: Command;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Committer {
  readonly #executor: Executor;
  readonly #node: string;
  readonly #onBroken: (error: Error) => void;
  readonly #timers: Clock | null;
  #waiting: Waiting[] = [];
  /** One of the waiting commands cannot be delayed. */
  #isUrgent = false;
  #running: Promise<void> | null = null;
  #closed: Error | null = null;
  #cancelLinger: (() => void) | null = null;

  /** Without timers nothing is delayed. */
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

  /** `call` without a promise of its own: one of the functions gets the result. They must not throw. */
  callThen<V extends VerbName>(
    verb: V,
    args: Parameters<Verbs[V]>,
    resolve: (reply: ReturnType<Verbs[V]>) => void,
    reject: (error: Error) => void,
  ): void {
    this.#push(verb, args, resolve as (value: unknown) => void, reject);
    this.#hurry();
  }

  /** For a command that can wait: it shares the fsync of the next command, or gets its own after a moment. */
  callSometime<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const answer = this.#add(verb, args);
    if (!this.#running) this.#linger();
    return answer;
  }

  async close(): Promise<void> {
    // First, so that no new command reaches an executor that is being closed.
    this.#closed ??= new Error('The store is closed.');
    this.#hurry();
    await this.#running;
    await this.#executor.close();
  }

  #add<V extends VerbName>(verb: V, args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    return new Promise((resolve, reject) => this.#push(verb, args, resolve as (value: unknown) => void, reject));
  }

  #push<V extends VerbName>(
    verb: V,
    args: Parameters<Verbs[V]>,
    resolve: Waiting['resolve'],
    reject: Waiting['reject'],
  ): void {
    if (this.#closed) reject(new StoreUnavailable('unavailable', this.#closed.message));
    else this.#waiting.push({ command: { verb, args }, resolve, reject });
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
    // Everything that is called in this turn of the event loop gets into the first batch.
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
    /** Accounts with a command that did not fit: their later commands wait behind it. */
    const behind = new Set<string>();
    const changed = new Map<string, number>();
    return waiting.filter((each, index) => {
      const { verb, args } = each.command;
      const change = marksOf(verb).changes?.(...args);
      if (change) {
        const before = changed.get(change.accountId) ?? 0;
        // Once a change does not fit, all later changes of the account wait behind it.
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

/** Null if the command accepts nothing. */
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
