// Writes down what the store did, step by step, for the rules of the checker that look at it. It takes the facts about a
// message from what the verb was given, and reads from the database only what nobody is given.

import type { NewMessage } from '../../src/rules/delivery/message.ts';
import { backlogOf } from '../../src/rules/hosts/parking.ts';
import { UNCOUNTED_BODY_BYTES_MAX } from '../../src/rules/limits/budgets.ts';
import { BACKLOG } from '../../src/store/rows/message-columns.ts';
import { LEASE_AWAITING } from '../../src/store/rows/rows.ts';
import { BODY_BYTES } from '../../src/store/sqlite/deliveries/bodies.ts';
import type { Database } from '../../src/store/sqlite/thread/database.ts';
import type { Verbs } from '../../src/store/sqlite/thread/verbs.ts';
import type { ClaimedStep, End, Step } from '../checker/step.ts';
import { queueKey } from './draft.ts';
import { ParkedHosts, type ParkedHostsWorld } from './parked-hosts.ts';
import { FORMS } from './schedule-actions.ts';
import { MINUTE_SCHEDULE } from './ticks.ts';

/** Calls `then` with what each call of the verb was given and what it answered. */
export type Watch = <V extends keyof Verbs>(
  name: V,
  then: (args: Parameters<Verbs[V]>, reply: ReturnType<Verbs[V]>) => void,
) => void;

type Ended = (Step & { readonly kind: 'ended' })['how'];

export class StepLog {
  readonly steps: Step[] = [];
  readonly #database: Database;
  /** By lease. */
  readonly #claimed = new Map<string, string>();
  readonly #cancelling = new Set<string>();
  readonly #parked: ParkedHosts;

  constructor(database: Database, world: Pick<ParkedHostsWorld, 'nowMs' | 'peaceMs' | 'note' | 'say'>) {
    this.#database = database;
    this.#parked = new ParkedHosts({ ...world, database, push: (step) => this.steps.push(step) });
  }

  /** Attempts that used up no retry, as id and number. */
  get free(): ReadonlySet<string> {
    return this.#parked.free;
  }

  /** What this work leases, the node will not know of. */
  leasedUnknown<T>(work: () => T): T {
    const before = new Set(this.#claimed.keys());
    const result = work();
    this.#parked.unheard([...this.#claimed.keys()].filter((lease) => !before.has(lease)));
    return result;
  }

  watch(watch: Watch, node: string): void {
    this.#parked.watch(watch);
    this.#watchLines(watch);
    this.#watchSchedules(watch);
    watch('accept', ([{ messages, leases, now }], { duplicates, debounced, misplaced }) => {
      if (misplaced) return;
      for (const [index, message] of messages.entries()) {
        const of = duplicates[index] ?? null;
        const waiting = debounced?.[index]?.messageId ?? message.id;
        if (waiting !== message.id) {
          this.steps.push({ kind: 'replaced', id: waiting, key: debounceKeyOf(message)!, at: now });
          continue;
        }
        if (of !== null) this.steps.push({ kind: 'duplicate', of, key: deduplicationKey(message)!, at: now });
        else this.#accepted(message, now);
        const lease = leases[index] ?? null;
        if (lease !== null) this.#claim('accept', { lease, message }, now, node);
      }
    });
    watch('claim', ([{ now }], { claims }) => {
      for (const claim of claims) this.#claim('search', claim, now, node);
    });
    watch('claimAlone', ([, now], { claim }) => {
      if (claim) this.#claim('alone', claim, now, node);
    });
    watch('settle', ([settlements, now], { results, claims }) => {
      for (const [index, settlement] of settlements.entries()) {
        const { lease, messageId, attempt, next, followUps } = settlement;
        const result = results[index];
        this.#parked.over(lease);
        if (result === 'lost') continue;
        if (result === 'settled') this.#parked.settled(settlement);
        else this.#parked.cancelled(settlement);
        const end = { outcome: attempt.outcome, at: attempt.endedAt };
        if (result === 'cancelled') this.#end(lease, 'cancelled', end);
        else if (next.state === 'awaiting') this.#await(lease, messageId);
        else if (next.state === 'delivered' || next.state === 'failed') this.#end(lease, next.state, end);
        else this.#wait(lease, true, end);
        if (next.state === 'awaiting' && result !== 'cancelled') continue;
        const made = result === 'cancelled' ? followUps.filter(({ kind }) => kind === 'callback') : followUps;
        for (const message of made) this.#accepted(message, now);
      }
      for (const claim of claims) this.#claim('succession', claim, now, node);
    });
    this.#watchEnds(watch);
  }

  #watchEnds(watch: Watch): void {
    watch('noteProgress', ([{ messageId }], ack) => {
      if (ack?.isAwaiting) this.steps.push({ kind: 'awaiting', id: messageId, deadlineAt: ack.deadlineAt });
    });
    watch('release', ([leases, , now], { overtaken }) => {
      // First, as if the others waited only then: all of it is one transaction.
      for (const id of overtaken) this.steps.push({ kind: 'ended', id, how: 'cancelled', isOvertaken: true });
      for (const lease of leases) {
        const id = this.#claimed.get(lease);
        this.#parked.over(lease);
        if (id !== undefined && overtaken.includes(id)) this.#claimed.delete(lease);
        const isCancelled = id !== undefined && this.#cancelling.has(id);
        this.#wait(lease, false, undefined, isCancelled ? undefined : now);
        if (isCancelled) this.steps.push({ kind: 'ended', id, how: 'cancelled' });
      }
    });
    watch('cancel', (_args, { cancelled, requested }) => {
      for (const id of cancelled) this.steps.push({ kind: 'ended', id, how: 'cancelled' });
      for (const id of requested) {
        this.#cancelling.add(id);
        this.steps.push({ kind: 'cancelRequested', id });
      }
    });
    watch('expireMessages', ([expirations, now], { expired }) => {
      for (const { messageId, followUps } of expirations) {
        if (!expired.includes(messageId)) continue;
        this.steps.push({ kind: 'ended', id: messageId, how: 'failed' });
        for (const message of followUps) this.#accepted(message, now);
      }
    });
    watch('changeMessage', ([, id, { dueAt, priority }], { outcome }) => {
      if (outcome.outcome === 'changed') this.steps.push({ kind: 'changed', id, dueAt, priority });
    });
  }

  #watchLines(watch: Watch): void {
    watch('saveQueue', ([accountId, name, { priority }]) => {
      if (priority !== undefined) this.steps.push({ kind: 'queueSet', queue: queueKey(accountId, name), priority });
    });
    watch('pinFlowKey', ([accountId, key, { parallelism }]) => {
      if (typeof parallelism !== 'number') return;
      this.steps.push({ kind: 'flowPinned', key: queueKey(accountId, key), parallelism });
    });
    watch('pauseFlowKey', ([accountId, key, isPaused], found) => {
      if (found) this.steps.push({ kind: 'flowPaused', key: queueKey(accountId, key), isPaused });
    });
  }

  #watchSchedules(watch: Watch): void {
    watch('saveSchedule', ([{ id: scheduleId, cron, createdAt, overlap, jitterMs, isPaused }], isSaved) => {
      const { everyMs, offsetMs } = FORMS.find((form) => form.cron === cron)!;
      const what = { scheduleId, createdAt, everyMs, offsetMs, overlap, jitterMs, isPaused };
      if (isSaved) this.steps.push({ kind: 'schedule', ...what });
    });
    watch('pauseSchedule', ([, scheduleId, isPaused], found) => {
      if (found) this.steps.push({ kind: 'schedulePaused', scheduleId, isPaused });
    });
    watch('fireSchedules', ([ticks, now], { made }) => {
      for (const [index, { schedule, messages }] of ticks.entries()) {
        const result = made[index] ?? null;
        // That of every minute makes no messages: ticks.ts looks at it.
        if (result === null || schedule.id === MINUTE_SCHEDULE) continue;
        const { id: scheduleId, nextAt, version } = schedule;
        const written = result === 'skipped' ? [] : messages;
        this.steps.push({
          kind: 'tick',
          scheduleId,
          tickAt: nextAt!,
          version,
          result: result === 'skipped' ? 'skipped' : 'made',
          messages: written.map(({ id, createdAt, dueAt }) => ({ id, laterMs: dueAt - createdAt })),
        });
        for (const message of written) this.#accepted(message, now);
      }
    });
  }

  setBack(): void {
    this.steps.push({ kind: 'clockSetBack' });
  }

  #accepted(message: NewMessage, at: number): void {
    const { id, accountId, dueAt, queueName, orderKey, flow, priority, deduplication, mustStartBefore } = message;
    const queue = queueName && queueKey(accountId, queueName);
    this.steps.push({
      kind: 'accepted',
      id,
      at,
      dueAt,
      queue,
      orderKey: orderKey && `${queue} ${orderKey}`,
      flow: flow && { key: queueKey(accountId, flow.key), ...flow.limits },
      priority,
      debounceKey: debounceKeyOf(message),
      mustStartBefore,
      deduplication: deduplication && { key: deduplicationKey(message)!, until: deduplication.expiresAt },
    });
  }

  #claim(
    by: ClaimedStep['by'],
    { lease, message }: { readonly lease: string; readonly message: NewMessage },
    at: number,
    node: string,
  ): void {
    const { id, dueAt } = message;
    this.#claimed.set(lease, id);
    const left = this.#left(message, at);
    const parked = this.#parked.leased(lease, message, node);
    const periodStartAt = this.#periodStartAt(message);
    this.steps.push({
      kind: 'claimed',
      id,
      at,
      dueAt,
      by,
      left,
      periodStartAt,
      parked: by === 'alone' ? null : parked,
    });
  }

  /** As the store has it: a word that came before the response may have put the deadline off. */
  #await(lease: string, id: string): void {
    if (this.#claimed.delete(lease)) this.#claimed.set(lease + LEASE_AWAITING, id);
    const sql =
      'SELECT a.deadline_at AS at FROM acks a JOIN messages m ON m.account_id = a.account_id AND m.seq = a.message_seq WHERE m.id = ? AND a.is_awaiting = 1';
    const row = this.#database.get<{ readonly at: number }>(sql, id);
    if (row) this.steps.push({ kind: 'awaiting', id, deadlineAt: row.at });
  }

  #wait(lease: string, hasBegun: boolean, end?: End, at?: number): void {
    const id = this.#claimed.get(lease);
    if (!this.#claimed.delete(lease)) return;
    this.steps.push({ kind: 'waits', id: id!, hasBegun, ...(end && { end }), ...(at !== undefined && { at }) });
  }

  #end(lease: string, how: Ended, end?: End): void {
    const id = this.#claimed.get(lease);
    if (this.#claimed.delete(lease)) this.steps.push({ kind: 'ended', id: id!, how, ...(end && { end }) });
  }

  /** Without what has expired, and what may have been too large for that moment. */
  #left(message: NewMessage, at: number): { readonly id: string; readonly dueAt: number }[] {
    return this.#database.all<{ readonly id: string; readonly dueAt: number }>(
      `SELECT id, due_at AS dueAt FROM messages WHERE state = 'ready' AND account_id = ? AND ${BACKLOG} = ?
         AND (must_start_before IS NULL OR must_start_before > ?) AND ${BODY_BYTES} <= ?`,
      message.accountId,
      backlogOf(message),
      at,
      UNCOUNTED_BODY_BYTES_MAX,
    );
  }

  #periodStartAt({ accountId, flow }: NewMessage): number | null {
    if (!flow || flow.limits.rate === null) return null;
    const sql = 'SELECT window_start_at AS at FROM flow_keys WHERE account_id = ? AND key = ?';
    return this.#database.get<{ readonly at: number }>(sql, accountId, flow.key)!.at;
  }
}

function debounceKeyOf({ accountId, debounce }: NewMessage): string | null {
  return debounce && `${accountId} ${debounce.key}`;
}

function deduplicationKey({ accountId, deduplication }: NewMessage): string | null {
  return deduplication && `${accountId} ${deduplication.key}`;
}
