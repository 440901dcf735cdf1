// Counts what becomes of messages: how they were accepted, their attempts, their acks and their ends.

import type { AcksOptions } from '../acks/acks.ts';
import type { EngineEvent } from '../delivery/engine/engine.ts';
import { EXPIRED } from '../rules/delivery/expiry.ts';
import type { Attempt, MessageKind, Settlement } from '../rules/delivery/message.ts';
import { afterCancel } from '../rules/delivery/settle.ts';
import type { AcceptResult } from '../store/ports/delivery-store.ts';
import type { Store } from '../store/ports/store.ts';
import type { Metrics } from './metrics.ts';

/** How a message was created. Each message is counted once, on the node that accepted it. */
const WAYS_IN = {
  publish: 'way="publish"',
  schedule: 'way="schedule"',
  callback: 'way="callback"',
  failureCallback: 'way="failureCallback"',
  alert: 'way="alert"',
  retry: 'way="retry"',
} satisfies Record<MessageKind | 'retry', string>;

const ENDS = { delivered: 'state="delivered"', failed: 'state="failed"', cancelled: 'state="cancelled"' };

export type MessageCounters = ReturnType<typeof messageCounters>;

export function messageCounters(metrics: Metrics) {
  const countAccepted = metrics.counter(
    'postrider_messages_accepted_total',
    'Messages accepted, by source: publish, schedule, callback, failure callback, alert, or retry of a dead letter.',
  );
  const countEnded = metrics.counter('postrider_messages_ended_total', 'Messages that have ended, by state.');
  const countExpired = metrics.counter(
    'postrider_messages_expired_total',
    'Messages that failed because they expired. They count as failed too.',
  );
  const countChanged = metrics.counter('postrider_messages_changed_total', 'Changes of messages that waited.');
  const countDebounced = metrics.counter(
    'postrider_messages_debounced_total',
    'Accepted messages with a debounce key that took the place of one that waited.',
  );
  const countSkipped = metrics.counter(
    'postrider_schedule_ticks_skipped_total',
    'Ticks of schedules that created no message, because a message of the tick before was open.',
  );
  return {
    accepted(way: keyof typeof WAYS_IN, by: number): void {
      if (by > 0) countAccepted(WAYS_IN[way], by);
    },
    debounced(by: number): void {
      if (by > 0) countDebounced('', by);
    },
    ended(state: keyof typeof ENDS, by: number): void {
      if (by > 0) countEnded(ENDS[state], by);
    },
    /** The end of a message by an attempt or an ack. */
    endedBy(next: Settlement['next']): void {
      if (next.state !== 'delivered' && next.state !== 'failed') return;
      countEnded(ENDS[next.state]);
      if (next.state === 'failed' && next.code === EXPIRED) countExpired();
    },
    /** Their ends while they waited. */
    expired(by: number): void {
      if (by === 0) return;
      countEnded(ENDS.failed, by);
      countExpired('', by);
    },
    changed(): void {
      countChanged();
    },
    skipped(ticks: number): void {
      if (ticks > 0) countSkipped('', ticks);
    },
  };
}

function countIds(ids: readonly (string | null)[]): number {
  let count = 0;
  for (const id of ids) if (id !== null) count += 1;
  return count;
}

/**
 * Wraps the store and counts what is accepted and cancelled. The results of settlements are counted from the engine's
 * events. `noteWrite` gets the error of a failed acceptance or heartbeat, or null after one that succeeded. Heartbeats
 * are included because they are written even while nobody publishes.
 */
export function countingStore(
  store: Store,
  { accepted, changed, debounced, ended, expired: expire, skipped }: MessageCounters,
  noteWrite: (error: unknown) => void,
): Store {
  const failed = (error: unknown) => {
    noteWrite(error);
    throw error;
  };
  return {
    ...store,
    async heartbeat(node, ttlMs, time) {
      const heard = await store.heartbeat(node, ttlMs, time).catch(failed);
      noteWrite(null);
      return heard;
    },
    // Not async, because each publish passes here and `then` allocates half as much.
    accept(messages, now, dayMax) {
      const count = (answer: AcceptResult) => {
        noteWrite(null);
        if (answer.isOverQuota || answer.misplaced) return answer;
        // All messages of one request have the same kind.
        accepted(messages[0]?.kind ?? 'publish', messages.length - countIds(answer.duplicates));
        if (answer.debounced) debounced(answer.debounced.filter((each) => each && each.count > 1).length);
        return answer;
      };
      return store.accept(messages, now, dayMax).then(count, failed);
    },
    async fireSchedules(ticks, now) {
      const made = await store.fireSchedules(ticks, now);
      accepted(
        'schedule',
        made.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0),
      );
      skipped(made.filter((each) => each === 'skipped').length);
      return made;
    },
    async expireMessages(expirations, now) {
      const expired = await store.expireMessages(expirations, now);
      const isExpired = new Set(expired);
      const ofExpired = expirations.filter(({ messageId }) => isExpired.has(messageId));
      accepted('failureCallback', ofExpired.flatMap(({ followUps }) => followUps).length);
      expire(expired.length);
      return expired;
    },
    async changeMessage(...change) {
      const done = await store.changeMessage(...change);
      if (done.outcome === 'changed') changed();
      return done;
    },
    async notifyAlerts(evaluated, now) {
      const results = await store.notifyAlerts(evaluated, now);
      accepted('alert', results.filter((each) => each === 'notified').length);
      return results;
    },
    async retryDeadLetters(retries, now, dayMax) {
      const isRetried = await store.retryDeadLetters(retries, now, dayMax);
      if (isRetried !== 'overQuota') accepted('retry', isRetried.filter(Boolean).length);
      return isRetried;
    },
    async runJobStep(accountId, id, work, step) {
      const done = await store.runJobStep(accountId, id, work, step);
      if (work.action === 'retry') accepted('retry', done);
      if (work.action === 'cancel') ended('cancelled', done);
      return done;
    },
    async release(leases, now) {
      const overtaken = await store.release(leases, now);
      ended('cancelled', overtaken.length);
      return overtaken;
    },
    async cancel(accountId, messageIds, now, expiresAt) {
      const answer = await store.cancel(accountId, messageIds, now, expiresAt);
      ended('cancelled', answer.cancelled.length + answer.requested.length);
      return answer;
    },
  };
}

/** The label texts, by outcome and class of status. Each is built once. */
const ATTEMPT_LABELS = new Map<Attempt['outcome'], Map<number, string>>();

function attemptLabels(outcome: Attempt['outcome'], status: number | null): string {
  const group = status === null ? 0 : Math.floor(status / 100);
  const known = ATTEMPT_LABELS.get(outcome)?.get(group);
  if (known !== undefined) return known;
  const labels = `outcome="${outcome}",status="${status === null ? 'none' : `${group}xx`}"`;
  const groups = ATTEMPT_LABELS.get(outcome) ?? new Map<number, string>();
  ATTEMPT_LABELS.set(outcome, groups.set(group, labels));
  return labels;
}

type AttemptEvent = Extract<EngineEvent, { readonly kind: 'attempt' }>;

function timesOfAttempts(metrics: Metrics): (event: AttemptEvent) => void {
  const duration = metrics.histogram('postrider_attempt_duration_seconds', 'How long attempts took.');
  const startLag = metrics.histogram(
    'postrider_attempt_lag_seconds',
    'How long after its due time an attempt started. The time in which a queue or a flow key held the message back does not count.',
  );
  const deliveryLag = metrics.histogram(
    'postrider_delivery_lag_seconds',
    'How long after its first due time a message was delivered, with all its attempts and the waits between them.',
  );
  return ({ claim: { message }, settlement: { attempt, next, lagMs }, result }) => {
    if (result !== 'lost' && next.state === 'delivered') deliveryLag(lagMs);
    // For an attempt cut off by a crash, `endedAt` is when the crash was found, not when it happened.
    if (attempt.outcome === 'interrupted') return;
    duration(attempt.endedAt - attempt.startedAt);
    startLag(attempt.startedAt - Math.max(message.dueAt, message.readyAt ?? message.dueAt));
  };
}

/** Counts acks, and the ends of messages by acks. */
export function ackCounters(
  metrics: Metrics,
  { accepted, endedBy }: MessageCounters,
): Pick<AcksOptions, 'onEnd' | 'onProgress'> {
  const received = metrics.counter('postrider_acks_received_total', 'Acks of receivers, by what they say.');
  const missing = metrics.counter('postrider_acks_missing_total', 'Attempts that failed because no ack came in time.');
  return {
    onEnd(kind, { next, followUps }) {
      if (kind === 'none') missing();
      else received(`kind="${kind}"`);
      for (const each of followUps) accepted(each.kind, 1);
      endedBy(next);
    },
    onProgress: () => received('kind="progress"'),
  };
}

/** Counts attempts, ends and callbacks as the engine reports them. */
export function countEngine(metrics: Metrics, { accepted, endedBy }: MessageCounters): (event: EngineEvent) => void {
  const attempts = metrics.counter(
    'postrider_attempts_total',
    'Attempts that have ended, by outcome and status class.',
  );
  const held = metrics.counter(
    'postrider_messages_held_total',
    'Times a message was held, because the server crashed repeatedly while only this message was in flight.',
  );
  const awaiting = metrics.counter(
    'postrider_acks_awaited_total',
    'Attempts that were answered with 202 and await an ack.',
  );
  const trouble = metrics.counter(
    'postrider_engine_troubles_total',
    'Times the delivery engine failed and tried again.',
  );
  const strays = metrics.counter(
    'postrider_stray_claims_total',
    'Messages that were leased to this node without its knowledge and were released.',
  );
  const countTimes = timesOfAttempts(metrics);
  const countNext = (next: Settlement['next']) => {
    if (next.state === 'held') held();
    else if (next.state === 'awaiting') awaiting();
    else endedBy(next);
  };
  const followUpsOf = ({ settlement, result }: AttemptEvent) => {
    if (result === 'cancelled') return afterCancel(settlement).followUps;
    return settlement.next.state === 'awaiting' ? [] : settlement.followUps;
  };
  return (event) => {
    if (event.kind === 'trouble') return trouble(`during="${event.during}"`);
    if (event.kind === 'strays') return strays(undefined, event.count);
    const { attempt, next } = event.settlement;
    attempts(attemptLabels(attempt.outcome, attempt.status));
    countTimes(event);
    if (event.result === 'lost') return;
    for (const { kind } of followUpsOf(event)) accepted(kind, 1);
    if (event.result === 'settled') countNext(next);
  };
}
