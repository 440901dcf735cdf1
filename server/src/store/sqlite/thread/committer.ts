// Group commit: commands that arrive while a transaction runs are collected for the next one, so that many requests
// share one fsync. Each gets its reply when its batch is on disk. If more wait than one transaction should hold, the
// accounts take turns. A command that can wait does so briefly, until one arrives that cannot.

import { Costs, isLong, longCost, type PendingWork, Turns } from '../../../rules/limits/turns.ts';
import { lanes } from '../../../runtime/lane-part.ts';
import type { Clock } from '../../../runtime/world.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { AccountWork } from '../../resources/shared-verb.ts';
import type { Executor } from './executor-port.ts';
import { type BatchTimes, transactionMs } from './shared-transaction.ts';
import { type Command, type FailedReply, marksOf, type Reply, type VerbName, type Verbs } from './verbs.ts';

/** How long a command that can wait is delayed if no other command arrives. */
const LINGER_MS = 5;

/** The expected cost of one unit of work of an account without measurements, in microseconds. */
const ACCEPT_US = 25;
const CHANGE_US = 12;

/** How many transactions of accounts may come before long work of the node that waits. */
const PASSED_OVER_TIMES_MAX = 2;

/** Work of the node has its own transaction only if it takes this part of a commit or more: each transaction has one. */
const OWN_FROM_COMMIT_PART = 0.5;

const NONE: readonly number[] = [];

interface Waiting {
  readonly command: Command;
  /** Null for the work of the node itself, which is in the next transaction, or a long one soon after it. */
  readonly work: AccountWork | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Committer {
  readonly #executor: Executor;
  readonly #node: string;
  readonly #onBroken: (error: Error) => void;
  readonly #timers: Clock | null;
  #waiting: Waiting[] = [];
  /** The transactions for which long work of the node has waited, and whether the last of them was short. */
  #passedOver = 0;
  #wasShort = false;
  /** How long the last such work took, if that is known. */
  #nodesUs = Number.POSITIVE_INFINITY;
  /** Whether one of the waiting commands cannot be delayed. */
  #isUrgent = false;
  #running: Promise<void> | null = null;
  #closed: Error | null = null;
  #cancelLinger: (() => void) | null = null;
  readonly #turns = new Turns();
  /** The measured costs of each verb. */
  readonly #costs = new Map<VerbName, Costs>();
  #commitMs = 0;
  /**
   * The expected time of the accounts' commands in the current batch, in microseconds. Null when the executor reported
   * the real time.
   */
  #expectedUs: number | null = null;

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

  /** `call` without a promise: one of the functions gets the result. They must not throw. */
  callThen<V extends VerbName>(
    verb: V,
    args: Parameters<Verbs[V]>,
    resolve: (reply: ReturnType<Verbs[V]>) => void,
    reject: (error: Error) => void,
  ): void {
    this.#push(verb, args, resolve as (value: unknown) => void, reject);
    this.#hurry();
  }

  /** For a command that can wait: it shares the fsync of the next command, or gets its own shortly after. */
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
    else this.#waiting.push({ command: { verb, args }, work: marksOf(verb).work?.(...args) ?? null, resolve, reject });
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
        // The executor reports only what took long.
        this.#commitMs = 0;
        const replies = await this.#executor.execute(commands, this.#node, (took) => this.#noteTook(batch, took));
        if (this.#expectedUs !== null) this.#noteShort(batch, this.#expectedUs);
        const putOff = batch.filter((waiting, index) => !answer(waiting, replies[index]!));
        if (putOff.length > 0) this.#goFirst(putOff);
      } catch (error) {
        this.#break(error as Error, batch);
      }
    }
    this.#running = null;
    if (this.#waiting.length > 0) this.#linger();
  }

  /**
   * Everything that waits, if it takes no longer than one transaction should, and no piece of it is long. Else the
   * accounts take turns: no call gets a reply before the transaction is done.
   */
  #nextBatch(): Waiting[] {
    const waiting = this.#waiting;
    const budget = partUs(this.#commitMs);
    let cost = 0;
    let longest = 0;
    for (const { command, work } of waiting) {
      if (work === null) continue;
      const own = this.#costOf(command.verb, work);
      cost += own;
      if (own > longest) longest = own;
    }
    if (cost <= budget && !isLong(longest, budget)) {
      this.#turns.forget();
      this.#passedOver = 0;
      this.#waiting = [];
      this.#expectedUs = cost;
      return waiting;
    }
    return this.#batchInTurn(waiting, budget);
  }

  #batchInTurn(waiting: readonly Waiting[], budget: number): Waiting[] {
    const asked: PendingWork[] = [];
    for (const { command, work } of waiting) {
      if (work === null) continue;
      const line = command.verb === 'accept' ? 'accepts' : 'changes';
      asked.push({ accountId: work.accountId, line, cost: this.#costOf(command.verb, work) });
    }
    const hasOwn = this.#nodesUs >= this.#commitMs * OWN_FROM_COMMIT_PART * 1000;
    const isNodesTurn = hasOwn && this.#isNodesTurn(asked, budget);
    const chosen = isNodesTurn ? NONE : this.#turns.choose(asked, budget);
    this.#wasShort = chosen.length > 0 && !chosen.some((index) => isLong(asked[index]!.cost, budget));
    this.#expectedUs = chosen.reduce((sum, index) => sum + asked[index]!.cost, 0);
    this.#waiting = [];
    let at = 0;
    let next = 0;
    return waiting.filter((each) => {
      if (each.work === null) {
        if (isNodesTurn || !hasOwn || !takesLong(each)) return true;
        this.#waiting.push(each);
        return false;
      }
      const isChosen = chosen[next] === at;
      at += 1;
      if (isChosen) next += 1;
      else this.#waiting.push(each);
      return isChosen;
    });
  }

  /**
   * Whether long work of the node has the next transaction, and accounts' work waits. It follows a transaction with
   * short work of accounts, so that this waits for one long transaction at a time.
   */
  #isNodesTurn(asked: readonly PendingWork[], budget: number): boolean {
    if (!this.#waiting.some(takesLong)) {
      this.#passedOver = 0;
      return false;
    }
    const isNext =
      this.#passedOver >= PASSED_OVER_TIMES_MAX ||
      (this.#passedOver > 0 && (this.#wasShort || asked.every(({ cost }) => isLong(cost, budget))));
    this.#passedOver = isNext ? 0 : this.#passedOver + 1;
    return isNext;
  }

  #costOf(verb: VerbName, { accountId, units }: AccountWork): number {
    return this.#costsOf(verb).of(accountId, units);
  }

  #costsOf(verb: VerbName): Costs {
    let costs = this.#costs.get(verb);
    if (!costs) {
      costs = new Costs(verb === 'accept' ? ACCEPT_US : CHANGE_US);
      this.#costs.set(verb, costs);
    }
    return costs;
  }

  #noteTook(batch: readonly Waiting[], { commitMs, commandsUs }: BatchTimes): void {
    this.#commitMs = commitMs;
    this.#expectedUs = null;
    batch.forEach(({ command, work }, index) => {
      const us = commandsUs[index]!;
      if (work === null && marksOf(command.verb).takesLong) this.#nodesUs = us;
      // It was put off, or ran in another transaction.
      if (work === null || us === 0) return;
      const costs = this.#costsOf(command.verb);
      this.#turns.charge(work.accountId, us - this.#costOf(command.verb, work));
      costs.note(work.accountId, work.units, us);
    });
  }

  /** A batch that was not reported was short. If more was expected of it, the estimate was too high. */
  #noteShort(batch: readonly Waiting[], expectedUs: number): void {
    const shortUs = longCost(partUs(0));
    if (expectedUs <= shortUs) return;
    for (const { command, work } of batch) {
      if (work === null) continue;
      const ownUs = this.#costOf(command.verb, work);
      const us = (ownUs * shortUs) / expectedUs;
      const isLess = this.#costsOf(command.verb).noteLess(work.accountId, work.units, us);
      if (isLess) this.#turns.charge(work.accountId, us - ownUs);
    }
  }

  /** The transaction had no time left for these. They came before everything that waits now. */
  #goFirst(putOff: readonly Waiting[]): void {
    this.#waiting = [...putOff, ...this.#waiting];
    this.#isUrgent = true;
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

function takesLong({ command }: Waiting): boolean {
  return marksOf(command.verb).takesLong === true;
}

/** How long the commands of accounts may take in one transaction. The lanes of a node share it. */
function partUs(commitMs: number): number {
  return (transactionMs(commitMs) * 1000) / lanes();
}

/** False if the command must be sent again. */
function answer(waiting: Waiting, reply: Reply): boolean {
  if ('isPutOff' in reply) return false;
  if ('value' in reply) waiting.resolve(reply.value);
  else waiting.reject(toError(reply));
  return true;
}

function toError({ error, reason }: FailedReply): Error {
  return reason === null || reason === 'unreadable' ? new Error(error) : new StoreUnavailable(reason, error);
}
