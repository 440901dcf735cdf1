// Group commit: commands that arrive while a transaction runs are collected for the next one, so that many requests
// share one commit. Each command gets its reply when its batch is on disk. If more wait than one transaction should
// hold, the accounts take turns.

import { CostEstimates, WriterTurns } from '../../../rules/limits/turns.ts';
import { type OnCommit, StoreUnavailable } from '../../ports/store.ts';
import { toStoreError } from '../sessions/errors.ts';
import type { LastGroup, WriteTurns } from './write-turns.ts';

interface Waiting<C, R> {
  readonly command: C;
  readonly resolve: (reply: R) => void;
  readonly reject: (error: Error) => void;
}

export interface CommitterOptions<C, R> {
  /** Runs all commands in one transaction. Returns the replies, parallel to `commands`. */
  readonly run: (commands: readonly C[]) => Promise<readonly R[]>;
  /** How much of a transaction a command takes up. */
  readonly sizeOf: (command: C) => number;
  /** The limit for one transaction, unless a single command is larger. */
  readonly sizeMax: number;
  /** The account of a command, if accounts take turns here. Without it, commands are run in order of arrival. */
  readonly byAccount?: ByAccount<C>;
  readonly nowMs: () => number;
  readonly onCommit: OnCommit;
  /** The turns that this committer shares with other committers, if they do not write side by side. */
  readonly inTurn?: InTurn<C>;
}

interface ByAccount<C> {
  /** `units`: roughly, how many messages the command writes. */
  readonly workOf: (command: C) => { readonly accountId: string; readonly units: number };
}

/** How long one transaction should take, by the estimate. */
const TRANSACTION_US = 50_000;
/** The expected cost of one unit of work of an account without measurements. */
const UNIT_US = 50;
/** Costs are learned from groups of this size on: a smaller one takes little more than the round trip. */
const LEARNED_UNITS_MIN = 50;

interface InTurn<C> {
  readonly turns: WriteTurns;
  readonly messagesOf: (command: C) => number;
  /** Whether other committers wait for the end of the transaction. Must be false if it may wait for a lock. */
  readonly isAwaited: (commands: readonly C[]) => boolean;
}

export class Committer<C, R> {
  readonly #options: CommitterOptions<C, R>;
  #waiting: Waiting<C, R>[] = [];
  #running: Promise<void> | null = null;
  #isClosed = false;
  #last: LastGroup | null = null;
  readonly #turns = new WriterTurns();
  readonly #costs = new CostEstimates(UNIT_US);

  constructor(options: CommitterOptions<C, R>) {
    this.#options = options;
  }

  call(command: C): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new StoreUnavailable('unavailable', 'The store is closed.'));
      this.#waiting.push({ command, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Everything that is called in this turn of the event loop gets into the first batch.
    await null;
    const { inTurn } = this.#options;
    while (this.#waiting.length > 0) {
      if (inTurn) await this.#commitInTurn(inTurn);
      else await this.#commit(this.#nextBatch());
    }
    this.#running = null;
  }

  async #commitInTurn({ turns, messagesOf, isAwaited }: InTurn<C>): Promise<void> {
    await turns.begin(this.#last);
    const batch = this.#nextBatch();
    const commands = batch.map(({ command }) => command);
    const beganAtMs = turns.nowMs;
    let end = () => turns.end();
    if (!isAwaited(commands)) {
      end();
      end = () => {};
    }
    await this.#commit(batch);
    end();
    const endedAtMs = turns.nowMs;
    const messages = commands.reduce((sum, command) => sum + messagesOf(command), 0);
    this.#last = { messages, tookMs: endedAtMs - beganAtMs, endedAtMs };
  }

  #nextBatch(): Waiting<C, R>[] {
    const { byAccount } = this.#options;
    if (byAccount) return this.#chosen(byAccount);
    const { sizeOf, sizeMax } = this.#options;
    let size = 0;
    const end = this.#waiting.findIndex(({ command }, index) => {
      size += sizeOf(command);
      return index > 0 && size > sizeMax;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  /** The commands for the next transaction. Accounts take turns if more wait than it should hold. */
  #chosen({ workOf }: ByAccount<C>): Waiting<C, R>[] {
    const { sizeOf, sizeMax } = this.#options;
    const asked = this.#waiting.map(({ command }) => {
      const { accountId, units } = workOf(command);
      const sizeCost = (sizeOf(command) / sizeMax) * TRANSACTION_US;
      return { accountId, line: '', cost: Math.max(this.#costs.of(accountId, units), sizeCost) };
    });
    const chosen = new Set(this.#turns.choose(asked, TRANSACTION_US));
    const batch = this.#waiting.filter((_, index) => chosen.has(index));
    this.#waiting = this.#waiting.filter((_, index) => !chosen.has(index));
    return batch;
  }

  /** Learns the costs of accounts: each command is charged the part of the time that was expected of it. */
  #learn({ workOf }: ByAccount<C>, commands: readonly C[], tookMs: number): void {
    const work = commands.map(workOf);
    const expected = work.map(({ accountId, units }) => this.#costs.of(accountId, units));
    const sum = expected.reduce((all, each) => all + each, 0);
    // An estimate that is too high is corrected by any group: otherwise a single pause of the database would count for
    // ever.
    const isSmall = work.reduce((all, { units }) => all + units, 0) < LEARNED_UNITS_MIN;
    if (isSmall && sum <= tookMs * 1000) return;
    work.forEach(({ accountId, units }, index) => {
      const tookUs = (tookMs * 1000 * expected[index]!) / sum;
      this.#turns.charge(accountId, tookUs - expected[index]!);
      this.#costs.note(accountId, units, tookUs);
    });
  }

  async #commit(batch: readonly Waiting<C, R>[]): Promise<void> {
    const { run, byAccount, nowMs, onCommit } = this.#options;
    try {
      const commands = batch.map(({ command }) => command);
      const beganAtMs = nowMs();
      const replies = await run(commands);
      const tookMs = nowMs() - beganAtMs;
      onCommit(tookMs, commands.length);
      if (byAccount) this.#learn(byAccount, commands, tookMs);
      batch.forEach(({ resolve }, index) => {
        resolve(replies[index]!);
      });
    } catch (error) {
      await this.#report(batch, toStoreError(error));
    }
  }

  async #report(batch: readonly Waiting<C, R>[], error: Error): Promise<void> {
    // One command failed and rolled back all of them. Run each alone, so that only the bad one fails.
    if (batch.length > 1 && !(error instanceof StoreUnavailable)) {
      for (const each of batch) await this.#commit([each]);
    } else {
      for (const { reject } of batch) reject(error);
    }
  }
}
