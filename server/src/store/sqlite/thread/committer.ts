// Group commit: commands that arrive while a transaction runs are collected for the next one, so that many requests
// share one fsync. A command gets its reply when its batch is on disk. If more wait than one transaction should hold,
// the accounts take turns; a command that can wait waits briefly for one that cannot.

import type { AuditRow } from '../../../rules/accounts/audit.ts';
import { CostEstimates, isLong, longCost, type PendingWork, WriterTurns } from '../../../rules/limits/turns.ts';
import { lanes } from '../../../runtime/lane-part.ts';
import type { Clock } from '../../../runtime/world.ts';
import { StoreUnavailable } from '../../ports/store.ts';
import type { AccountWork } from '../../resources/shared-verb.ts';
import type { Executor } from './executor-port.ts';
import { type BatchTimes, OWN_FROM_COMMIT_PART, transactionMs } from './shared-transaction.ts';
import { type Command, type FailedReply, marksOf, type Reply, type VerbName, type Verbs } from './verbs.ts';

/** How long a command that can wait is delayed if no urgent command arrives. */
const LINGER_MS = 5;

/** Expected microseconds for a unit of work of an account without measurements: for accepts, and for other work. */
const ACCEPT_US = 25;
const CHANGE_US = 12;

/** Limit for the transactions of accounts that come before waiting long work of the node. */
const PASSED_OVER_TIMES_MAX = 2;

const NONE: readonly number[] = [];

interface Waiting {
  readonly command: Command;
  /** Null for work of the node itself: it goes into the next transaction, but long work may wait for a few more. */
  readonly work: AccountWork | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A batch of long work of one account, on its way to the writer beside other batches. */
interface LongBatch {
  readonly accountId: string;
  readonly ended: Promise<void>;
}

export class Committer {
  readonly #executor: Executor;
  readonly #longExecutor: Executor | null;
  readonly #node: string;
  readonly #onBroken: (error: Error) => void;
  readonly #timers: Clock | null;
  #waiting: Waiting[] = [];
  /** How many transactions long work of the node has waited for, and whether the last of them was short. */
  #passedOver = 0;
  #wasShort = false;
  /** How long the last long work of the node took, in microseconds. Infinity if that is not known. */
  #nodesUs = Number.POSITIVE_INFINITY;
  /** Whether one of the waiting commands must not be delayed. */
  #isUrgent = false;
  #running: Promise<void> | null = null;
  #long: LongBatch | null = null;
  #closed: Error | null = null;
  #broken: Error | null = null;
  #cancelLinger: (() => void) | null = null;
  readonly #turns = new WriterTurns();
  /** The measured costs of each verb. */
  readonly #costs = new Map<VerbName, CostEstimates>();
  #commitMs = 0;
  /** The expected time of the accounts' commands in the batch that was chosen last, in microseconds. */
  #expectedUs = 0;

  /**
   * Without timers no command is delayed. `longExecutor`: where several lanes share the writer, long commands of accounts
   * go there, so that the short ones of this lane do not wait for the long ones of all lanes.
   */
  constructor(
    executor: Executor,
    node: string,
    onBroken: (error: Error) => void,
    timers: Clock | null = null,
    longExecutor: Executor | null = null,
  ) {
    this.#executor = executor;
    this.#longExecutor = longExecutor;
    this.#node = node;
    this.#onBroken = onBroken;
    this.#timers = timers;
  }

  call<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const answer = this.#add(verb, args);
    this.#hurry();
    return answer;
  }

  /** Like `call`. If the verb changes something, the row is written with it. */
  callAudited<V extends VerbName>(
    row: AuditRow | null,
    verb: V,
    ...args: Parameters<Verbs[V]>
  ): Promise<ReturnType<Verbs[V]>> {
    const answer = this.#add(verb, args, row);
    this.#hurry();
    return answer;
  }

  /** Like `call`, but without a promise: one of the two functions gets the result. They must not throw. */
  callThen<V extends VerbName>(
    verb: V,
    args: Parameters<Verbs[V]>,
    resolve: (reply: ReturnType<Verbs[V]>) => void,
    reject: (error: Error) => void,
  ): void {
    this.#push(verb, args, resolve as (value: unknown) => void, reject);
    this.#hurry();
  }

  /** For a command that can wait: it shares the fsync of the next urgent command, or gets its own shortly after. */
  callSometime<V extends VerbName>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    const answer = this.#add(verb, args);
    if (!this.#running) this.#linger();
    return answer;
  }

  async close(): Promise<void> {
    // This is set first, so that no new command reaches an executor that is being closed.
    this.#closed ??= new Error('The store is closed.');
    this.#hurry();
    while (this.#running || this.#long) await (this.#running ?? this.#long!.ended);
    await this.#longExecutor?.close();
    await this.#executor.close();
  }

  #add<V extends VerbName>(
    verb: V,
    args: Parameters<Verbs[V]>,
    audit: AuditRow | null = null,
  ): Promise<ReturnType<Verbs[V]>> {
    return new Promise((resolve, reject) => this.#push(verb, args, resolve as (value: unknown) => void, reject, audit));
  }

  #push<V extends VerbName>(
    verb: V,
    args: Parameters<Verbs[V]>,
    resolve: Waiting['resolve'],
    reject: Waiting['reject'],
    audit: AuditRow | null = null,
  ): void {
    if (this.#closed) {
      reject(new StoreUnavailable('unavailable', this.#closed.message));
      return;
    }
    const command = audit === null ? { verb, args } : { verb, args, audit };
    this.#waiting.push({ command, work: marksOf(verb).work?.(...args) ?? null, resolve, reject });
  }

  #hurry(): void {
    this.#isUrgent = true;
    this.#running ??= this.#run();
  }

  #linger(): void {
    if (!this.#timers) {
      this.#hurry();
      return;
    }
    this.#cancelLinger ??= this.#timers.after(LINGER_MS, () => {
      this.#cancelLinger = null;
      this.#hurry();
    });
  }

  async #run(): Promise<void> {
    // All commands of this turn of the event loop get into the first batch.
    await null;
    while (this.#isUrgent && this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      // Everything else waits for the end of a long batch, which continues here.
      if (batch.length === 0) break;
      this.#isUrgent = this.#waiting.length > 0;
      this.#cancelLinger?.();
      this.#cancelLinger = null;
      await this.#send(batch, this.#executor, this.#expectedUs);
    }
    this.#running = null;
    // If the rest waits for a long batch, its end starts the next run.
    if (this.#waiting.length > 0 && !this.#isUrgent) this.#linger();
  }

  async #send(batch: readonly Waiting[], executor: Executor, expectedUs: number): Promise<void> {
    try {
      const commands = batch.map((waiting) => waiting.command);
      // The executor reports the times of long batches only.
      let isShort = true;
      if (executor === this.#executor) this.#commitMs = 0;
      const replies = await executor.execute(commands, this.#node, (took) => {
        isShort = false;
        this.#noteTook(batch, took);
      });
      if (isShort) this.#noteShort(batch, expectedUs);
      const putOff = batch.filter((waiting, index) => !answer(waiting, replies[index]!));
      if (putOff.length > 0) this.#goFirst(putOff);
    } catch (error) {
      this.#break(error as Error, batch);
    }
  }

  /** The next batch for the writer. Long work of an account is sent beside it, if a lane of the node can do that. */
  #nextBatch(): readonly Waiting[] {
    if (this.#longExecutor === null) return this.#chooseBatch();
    const batch = this.#chooseUnblocked();
    const long = this.#long === null ? batch.find((each) => this.#isLong(each)) : undefined;
    if (long === undefined) return batch;
    const owner = long.work!.accountId;
    this.#sendLong(
      batch.filter(({ work }) => work?.accountId === owner),
      this.#longExecutor,
    );
    const others = batch.filter(({ work }) => work?.accountId !== owner);
    // They are chosen again now, and charged again.
    for (const { command, work } of others)
      if (work) this.#turns.charge(work.accountId, -this.#costOf(command.verb, work));
    this.#waiting = [...others, ...this.#waiting];
    return this.#chooseUnblocked();
  }

  /** `batch`: commands of one account. */
  #sendLong(batch: readonly Waiting[], executor: Executor): void {
    const ended = this.#send(batch, executor, this.#expectedUs).then(() => {
      this.#long = null;
      if (this.#waiting.length > 0) this.#hurry();
    });
    this.#long = { accountId: batch[0]!.work!.accountId, ended };
  }

  /** While a long batch is under way, other long commands wait, and so do later commands of their accounts. */
  #chooseUnblocked(): readonly Waiting[] {
    if (this.#long === null) return this.#chooseBatch();
    const accounts = new Set([this.#long.accountId]);
    const blocked: Waiting[] = [];
    this.#waiting = this.#waiting.filter((each) => {
      if (each.work === null) return true;
      if (!accounts.has(each.work.accountId) && !this.#isLong(each)) return true;
      accounts.add(each.work.accountId);
      blocked.push(each);
      return false;
    });
    const batch = this.#waiting.length === 0 ? [] : this.#chooseBatch();
    this.#waiting = [...this.#waiting, ...blocked];
    return batch;
  }

  #isLong({ command, work }: Waiting): boolean {
    return work !== null && isLong(this.#costOf(command.verb, work), partUs(this.#commitMs));
  }

  /**
   * All waiting commands, if together they fit into one transaction, none of them takes long, and no account has just
   * used more of the writer than others. Otherwise the accounts take turns, because no call gets a reply before the whole
   * transaction has ended.
   */
  #chooseBatch(): Waiting[] {
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
    if (this.#turns.isCalm && cost <= budget && !isLong(longest, budget)) {
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
   * Whether long work of the node gets the next transaction, while work of accounts waits. It comes after a transaction
   * with short work of accounts, and before long work if there is no short work: so short work waits for one long
   * transaction at a time, and a message that was just accepted is claimed before the next long one. The node asks for
   * its next long work only after the reply, so that work of accounts comes in between.
   */
  #isNodesTurn(asked: readonly PendingWork[], budget: number): boolean {
    if (!this.#waiting.some(takesLong)) {
      this.#passedOver = 0;
      return false;
    }
    const isNext =
      this.#passedOver >= PASSED_OVER_TIMES_MAX || this.#wasShort || asked.every(({ cost }) => isLong(cost, budget));
    this.#passedOver = isNext ? 0 : this.#passedOver + 1;
    return isNext;
  }

  #costOf(verb: VerbName, { accountId, units }: AccountWork): number {
    return this.#costsOf(verb).of(accountId, units);
  }

  #costsOf(verb: VerbName): CostEstimates {
    let costs = this.#costs.get(verb);
    if (!costs) {
      costs = new CostEstimates(verb === 'accept' ? ACCEPT_US : CHANGE_US);
      this.#costs.set(verb, costs);
    }
    return costs;
  }

  #noteTook(batch: readonly Waiting[], { commitMs, commandsUs }: BatchTimes): void {
    this.#commitMs = commitMs;
    batch.forEach(({ command, work }, index) => {
      const us = commandsUs[index]!;
      if (work === null && marksOf(command.verb).takesLong) this.#nodesUs = us;
      // `us` is 0 if the command was put off or ran in another transaction.
      if (work === null || us === 0) return;
      const costs = this.#costsOf(command.verb);
      this.#turns.charge(work.accountId, us - this.#costOf(command.verb, work));
      costs.note(work.accountId, work.units, us);
    });
  }

  /** A batch without reported times was short. If more time was expected for it, the estimate was too high. */
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

  /** The transaction had no time left for these commands. They go before everything that waits now. */
  #goFirst(putOff: readonly Waiting[]): void {
    this.#waiting = [...putOff, ...this.#waiting];
    this.#isUrgent = true;
  }

  #break(error: Error, batch: readonly Waiting[]): void {
    const isFirst = this.#broken === null;
    this.#broken ??= error;
    this.#closed = error;
    for (const waiting of [...batch, ...this.#waiting]) {
      waiting.reject(new StoreUnavailable('unavailable', error.message));
    }
    this.#waiting = [];
    if (isFirst) this.#onBroken(error);
  }
}

function takesLong({ command }: Waiting): boolean {
  return marksOf(command.verb).takesLong === true;
}

/** How many microseconds the accounts' commands of one lane may take in a transaction, which the lanes share. */
function partUs(commitMs: number): number {
  return (transactionMs(commitMs) * 1000) / lanes();
}

/** Gives the reply to the caller. Returns false if the command was put off and must be sent again. */
function answer(waiting: Waiting, reply: Reply): boolean {
  if ('isPutOff' in reply) return false;
  if ('value' in reply) waiting.resolve(reply.value);
  else waiting.reject(toError(reply));
  return true;
}

function toError({ error, reason }: FailedReply): Error {
  return reason === null || reason === 'unreadable' ? new Error(error) : new StoreUnavailable(reason, error);
}
