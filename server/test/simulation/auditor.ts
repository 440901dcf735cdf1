// Looks over the store's shoulder: replays every change in the model, holds queues to their order inside the very
// transaction that starts a message, and compares the database with the model after every event.

import type { KeptTime } from '../../src/rules/time/clock.ts';
import type { AloneReply } from '../../src/store/ports/delivery-store.ts';
import type { AcceptCommand, SettleReply } from '../../src/store/shared/commands.ts';
import type { ClaimReply } from '../../src/store/shared/standing-offer.ts';
import type { ClaimCommand } from '../../src/store/sqlite/deliveries/claim.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import { createVerbs, type Verbs } from '../../src/store/sqlite/thread/verbs.ts';
import type { Model } from './model.ts';

interface Holder {
  readonly id: string;
  readonly account_id: string;
  readonly queue_name: string;
  readonly first_due_at: number;
  readonly seq: number;
  readonly state: string;
}

export class Auditor {
  readonly #database: Database;
  readonly #model: Model;
  readonly #report: (violation: string) => void;
  readonly #say: (line: string) => void;
  readonly #on: { readonly tick: () => void; readonly kept: () => void };
  #holders = new Set<string>();
  #isChanged = false;

  constructor(
    database: Database,
    model: Model,
    report: (violation: string) => void,
    say: (line: string) => void,
    on: { readonly tick: () => void; readonly kept: () => void },
  ) {
    this.#on = on;
    this.#database = database;
    this.#model = model;
    this.#report = report;
    this.#say = say;
  }

  /** The verbs of one node's connection, watched. */
  watchedVerbs(node: string): Verbs {
    const verbs = createVerbs(this.#database);
    const watch = <V extends keyof Verbs>(
      name: V,
      then: (args: Parameters<Verbs[V]>, reply: ReturnType<Verbs[V]>) => void,
    ) => {
      const verb = verbs[name] as (...args: unknown[]) => ReturnType<Verbs[V]>;
      const watched = (...args: unknown[]) => {
        const reply = verb(...args);
        then(args as Parameters<Verbs[V]>, reply);
        return reply;
      };
      Object.assign(verbs, { [name]: watched });
    };
    const model = this.#model;
    watch('heartbeat', ([id, aliveUntilMs]: [string, number, KeptTime | null]) => {
      model.aliveUntilMs.set(id, aliveUntilMs);
      this.#on.kept();
    });
    watch('claim', ([command]: [ClaimCommand], { claims }: ClaimReply) => {
      this.#checkHolders();
      if (claims.length === 0) return;
      this.#isChanged = true;
      this.#say(`claimed ${claims.map(({ lease, message }) => `${message.id} by ${lease}`).join(', ')}`);
      model.handedOut(command, claims);
      for (const { message } of claims) this.#checkQueue(message.accountId, message.queueName);
    });
    watch('accept', ([command]: [AcceptCommand]) => {
      this.#changed();
      model.accepted(command);
    });
    watch('settle', ([settlements], { results, claims }: SettleReply) => {
      this.#changed();
      settlements.forEach(({ messageId, attempt, next }, index) => {
        const after = `attempt ${attempt.number} (${attempt.status ?? attempt.outcome})`;
        this.#say(`${results[index]}: ${messageId} ${next.state} after ${after}`);
      });
      model.settled(settlements, results, node);
      if (claims.length === 0) return;
      this.#say(`took over ${claims.map(({ lease, message }) => `${message.id} by ${lease}`).join(', ')}`);
      model.tookOver(settlements, claims, node);
      for (const { message } of claims) this.#checkQueue(message.accountId, message.queueName);
    });
    watch('release', ([leases]: [readonly string[], string, number]) => {
      this.#changed();
      this.#say(`released ${leases.join(', ')}`);
      model.released(leases, node);
    });
    watch('cancel', ([, ids]: [string, readonly string[], number, number], answer) => {
      this.#changed();
      model.cancelled(ids, answer);
    });
    watch('claimAlone', (_args, { claim }: AloneReply) => {
      this.#checkHolders();
      if (!claim) return;
      this.#isChanged = true;
      this.#say(`claimed alone ${claim.message.id} by ${claim.lease}`);
      model.handedOutAlone(claim, node);
      this.#checkQueue(claim.message.accountId, claim.message.queueName);
    });
    watch('releaseHeld', (_args, { released }) => {
      this.#changed();
      if (released.length > 0) this.#say(`let go ${released.join(', ')}`);
      model.releasedHeld(released);
    });
    watch('fireSchedules', (_args, { made }) => {
      for (const each of made) if (each !== null) this.#on.tick();
    });
    watch('saveQueue', () => this.#changed());
    return verbs;
  }

  /** After every event: what the database says against what the model says. */
  check(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const found = this.#database.get<Record<string, number>>(
      `SELECT count(*) AS total, ifnull(sum(state = 'claimed'), 0) AS claimed, ifnull(sum(held_at IS NOT NULL), 0) AS held, ifnull(sum(state = 'delivered'), 0) AS delivered,
         ifnull(sum(state = 'failed'), 0) AS failed, ifnull(sum(state = 'cancelled'), 0) AS cancelled,
         ifnull(sum(attempts), 0) AS attempts, ifnull(sum(retried), 0) AS retried, ifnull(sum(interrupted), 0) AS interrupted,
         ifnull(sum((state = 'claimed') <> (lease IS NOT NULL AND node IS NOT NULL)), 0) AS odd FROM messages`,
    )!;
    if (found.odd !== 0)
      this.#report(`${found.odd} messages are claimed without a lease, or leased without being claimed`);
    for (const [name, wanted] of Object.entries(this.#model.sums)) {
      if (found[name] !== wanted) this.#report(`the store has ${found[name]} ${name}, the model ${wanted}`);
    }
    const recorded =
      'SELECT (SELECT count(*) FROM attempts) + count(*) AS n FROM messages WHERE first_started_at IS NOT NULL';
    this.#checkSum(recorded, this.#model.sums.attempts, 'recorded attempts');
    this.#checkSum('SELECT ifnull(sum(count), 0) AS n FROM usage', this.#model.sums.total, 'counted for usage');
  }

  #changed(): void {
    this.#isChanged = true;
    this.#checkHolders();
  }

  #checkSum(sql: string, wanted: number, what: string): void {
    const { n } = this.#database.get<{ n: number }>(sql)!;
    if (n !== wanted) this.#report(`${n} ${what}, the model has ${wanted}`);
  }

  /** Who takes a place in a queue must be the first of those who wait, and there must be a place. */
  #checkHolders(): void {
    const holders = this.#database.all<Holder>(
      'SELECT id, account_id, queue_name, first_due_at, seq, state FROM messages WHERE holds_place = 1',
    );
    for (const holder of holders) {
      // Only with an attempt under way may one have a place that another lost when the parallelism was lowered.
      const hadPlace = this.#holders.has(holder.id);
      if (hadPlace && holder.state === 'claimed') continue;
      const { account_id: account, queue_name: queue } = holder;
      const ahead = this.#database.get<{ id: string }>(
        `SELECT id FROM messages WHERE ended_at IS NULL AND holds_place = 0 AND account_id = ? AND queue_name = ?
           AND (first_due_at, seq) < (?, ?) AND (ready_at IS NOT NULL OR NOT ?) LIMIT 1`,
        account,
        queue,
        holder.first_due_at,
        holder.seq,
        hadPlace ? 1 : 0,
      );
      if (ahead) this.#report(`${holder.id} has a place in ${queue} before ${ahead.id}, which stands ahead of it`);
      const { parallelism } = this.#queue(account, queue);
      const held = holders.filter((other) => other.account_id === account && other.queue_name === queue).length;
      if (held > parallelism) this.#report(`${holder.id} is number ${held} of ${parallelism} in ${queue}`);
    }
    this.#holders = new Set(holders.map(({ id }) => id));
  }

  #checkQueue(account: string, name: string | null): void {
    if (name === null) return;
    const { parallelism, is_paused: isPaused } = this.#queue(account, name);
    const claimed = [...this.#model.claimed].filter(
      ({ accountId, queueName }) => accountId === account && queueName === name,
    );
    if (claimed.length > parallelism)
      this.#report(`${name} has ${claimed.length} attempts under way, ${parallelism} are allowed`);
    if (isPaused) this.#report(`${name} is paused and started ${claimed.map(({ id }) => id)}`);
  }

  #queue(account: string, name: string): { parallelism: number; is_paused: 0 | 1 } {
    return this.#database.get<{ parallelism: number; is_paused: 0 | 1 }>(
      'SELECT parallelism, is_paused FROM queues WHERE account_id = ? AND name = ?',
      account,
      name,
    )!;
  }
}
