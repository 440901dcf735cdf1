// Looks over the store's shoulder: replays every change in the model, holds queues to their order inside the very
// transaction that starts a message, and compares the database with the model after every event.

import type { MessageChange } from '../../src/rules/delivery/change.ts';
import type { Expiration } from '../../src/rules/delivery/settle.ts';
import type { KeptTime } from '../../src/rules/time/clock.ts';
import type { AloneReply } from '../../src/store/ports/delivery-store.ts';
import type { AcceptCommand, SettleReply } from '../../src/store/shared/commands.ts';
import type { ClaimReply } from '../../src/store/shared/standing-offer.ts';
import type { ClaimCommand } from '../../src/store/sqlite/deliveries/claim.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import { createVerbs, type Verbs } from '../../src/store/sqlite/thread/verbs.ts';
import type { Model } from './model.ts';
import { everyMsOf } from './schedule-actions.ts';
import type { StepLog } from './step-log.ts';
import { MINUTE_SCHEDULE } from './ticks.ts';

interface AuditorListeners {
  readonly ticked: (scheduleId: string) => void;
  /** A schedule runs from now on, so often; null: it does not. */
  readonly scheduled: (scheduleId: string, everyMs: number | null) => void;
  readonly kept: () => void;
}

interface Holder {
  readonly id: string;
  readonly account_id: string;
  readonly queue_name: string;
  readonly first_due_at: number;
  readonly seq: number;
  readonly state: string;
}

/** Another message with its order key has its turn, or is ahead of it. */
const IS_BEHIND_KEY = `(order_key IS NOT NULL AND EXISTS (SELECT 1 FROM messages other
  WHERE other.ended_at IS NULL AND other.seq <> m.seq AND other.account_id = m.account_id
    AND other.queue_name = m.queue_name AND other.order_key = m.order_key
    AND (other.holds_place = 1 OR (other.first_due_at, other.seq) < (m.first_due_at, m.seq))))`;

export class Auditor {
  readonly #database: Database;
  readonly #model: Model;
  readonly #log: StepLog;
  readonly #report: (violation: string) => void;
  readonly #say: (line: string) => void;
  readonly #on: AuditorListeners;
  #holders = new Set<string>();
  #isChanged = false;

  constructor(
    database: Database,
    model: Model,
    log: StepLog,
    report: (violation: string) => void,
    say: (line: string) => void,
    on: AuditorListeners,
  ) {
    this.#on = on;
    this.#database = database;
    this.#model = model;
    this.#log = log;
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
    this.#log.watch(watch, node);
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
    watch('accept', ([command]: [AcceptCommand], reply) => {
      this.#changed();
      model.accepted(command, reply);
    });
    watch('settle', ([settlements, now], { results, claims }: SettleReply) => {
      this.#changed();
      settlements.forEach(({ messageId, attempt, next }, index) => {
        const after = `attempt ${attempt.number} (${attempt.status ?? attempt.outcome})`;
        this.#say(`${results[index]}: ${messageId} ${next.state} after ${after}`);
      });
      model.settled(settlements, results, node);
      if (claims.length === 0) return;
      this.#say(`took over ${claims.map(({ lease, message }) => `${message.id} by ${lease}`).join(', ')}`);
      model.tookOver(settlements, claims, node, now);
      for (const { message } of claims) this.#checkQueue(message.accountId, message.queueName);
    });
    watch('noteProgress', ([{ messageId }], ack) => {
      if (ack) model.noted(messageId, ack);
    });
    watch('release', ([leases, , now]: [readonly string[], string, number], { overtaken }) => {
      this.#changed();
      this.#say(`released ${leases.join(', ')}${overtaken.length > 0 ? `, overtaken: ${overtaken.join(', ')}` : ''}`);
      model.released(leases, node, overtaken, now);
    });
    watch('cancel', ([, ids]: [string, readonly string[], number, number], answer) => {
      this.#changed();
      model.cancelled(ids, answer);
    });
    watch('changeMessage', ([, id, change]: [string, string, MessageChange, number], { outcome }) => {
      this.#changed();
      model.changed(id, change, outcome.outcome);
    });
    watch('expireMessages', ([expirations, now]: [readonly Expiration[], number], { expired }) => {
      this.#changed();
      if (expired.length > 0) this.#say(`expired ${expired.join(', ')}`);
      model.expired(expirations, expired, now);
    });
    watch('claimAlone', ([, now]: [unknown, number], { claim }: AloneReply) => {
      this.#checkHolders();
      if (!claim) return;
      this.#isChanged = true;
      this.#say(`claimed alone ${claim.message.id} by ${claim.lease}`);
      model.handedOutAlone(claim, node, now);
      this.#checkQueue(claim.message.accountId, claim.message.queueName);
    });
    watch('releaseHeld', (_args, { released }) => {
      this.#changed();
      if (released.length > 0) this.#say(`let go ${released.join(', ')}`);
      model.releasedHeld(released);
    });
    watch('fireSchedules', ([ticks], { made }) => {
      this.#changed();
      for (const [index, { schedule, messages }] of ticks.entries()) {
        const result = made[index]!;
        if (result === null) continue;
        this.#on.ticked(schedule.id);
        if (schedule.id === MINUTE_SCHEDULE) continue;
        this.#say(`${schedule.id} ticks: ${result}, ${messages.map(({ id }) => id)}`);
        model.ticked(messages, result);
      }
    });
    watch('saveSchedule', ([{ id, cron, isPaused }], isSaved) => {
      if (isSaved) this.#on.scheduled(id, isPaused ? null : everyMsOf(cron));
    });
    watch('pauseSchedule', ([accountId, id], found) => {
      const sql = 'SELECT cron FROM schedules WHERE account_id = ? AND id = ?';
      const cron = this.#database.get<{ cron: string }>(sql, accountId, id)?.cron;
      if (found && cron !== undefined) this.#on.scheduled(id, found.nextAt === null ? null : everyMsOf(cron));
    });
    for (const verb of ['noteHosts', 'parkHost', 'resumeHost'] as const) watch(verb, () => this.#readChanges());
    watch('saveQueue', ([accountId, name, change]) => {
      this.#changed();
      model.queueSaved(accountId, name, change);
    });
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
    this.#checkSum(
      'SELECT ifnull(sum(count), 0) AS n FROM usage',
      this.#model.sums.total + this.#model.replaced,
      'counted for usage',
    );
  }

  /** An event of a host is a change of one message, and nobody says of which. */
  #readChanges(): void {
    const sql = 'SELECT id, changes FROM messages WHERE ended_at IS NULL AND changes IS NOT NULL';
    for (const { id, changes } of this.#database.all<{ id: string; changes: number }>(sql)) {
      const entry = this.#model.entries.get(id);
      if (entry) entry.changes = changes;
    }
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
      'SELECT id, account_id, queue_name, first_due_at, seq, state FROM messages WHERE holds_place = 1 AND queue_name IS NOT NULL',
    );
    for (const holder of holders) {
      // Only with an attempt under way may one have a place that another lost when the parallelism was lowered.
      const hadPlace = this.#holders.has(holder.id);
      if (hadPlace && holder.state === 'claimed') continue;
      const { account_id: account, queue_name: queue } = holder;
      const ahead = this.#database.get<{ id: string }>(
        `SELECT id FROM messages m WHERE ended_at IS NULL AND holds_place = 0 AND account_id = ? AND queue_name = ?
           AND (first_due_at, seq) < (?, ?) AND (ready_at IS NOT NULL OR NOT ?) AND NOT ${IS_BEHIND_KEY} LIMIT 1`,
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
