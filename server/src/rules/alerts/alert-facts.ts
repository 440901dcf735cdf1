// The facts that are read of an account so that its alerts can be evaluated, and which of them its rules need. Every
// list is bounded, and says whether its limit cut it.

import { MINUTE_MS, startOf } from '../accounts/activity.ts';
import { attemptEnds } from '../delivery/event.ts';
import type { Attempt, MessageKind, MessageState } from '../delivery/message.ts';
import type { Alert, AlertRule, AlertScope } from './alert.ts';

/** The fields of a message that rules select by. */
export interface ScopeFact {
  readonly kind: MessageKind;
  readonly host: string;
  readonly queueName: string | null;
  readonly labels: readonly string[];
}

/** A message that failed. */
export interface FailedFact extends ScopeFact {
  readonly endedAt: number;
  readonly scheduleId: string | null;
}

/** An attempt that ended. */
export interface AttemptFact extends ScopeFact, Pick<Attempt, 'outcome' | 'status' | 'nextAt'> {
  readonly endedAt: number;
}

/** The newest facts first, down to the requested time or to a limit. */
export interface BoundedList<T> {
  readonly rows: readonly T[];
  /** Older facts since the requested time were not read. */
  readonly isCut: boolean;
}

export interface QueueFact {
  readonly name: string;
  readonly isPaused: boolean;
  /** When the oldest of its open messages became due. It may be in the future. */
  readonly oldestDueAt: number;
}

/** A message that a schedule created. */
export interface RunFact {
  readonly createdAt: number;
  readonly state: MessageState;
}

export interface ScheduleFact {
  readonly id: string;
  /** The newest first. */
  readonly runs: readonly RunFact[];
}

export interface MinuteFact {
  readonly at: number;
  readonly delivered: number;
  readonly failed: number;
}

/** A message to the target of an alert; the message has ended. */
export interface NotifiedFact {
  readonly endedAt: number;
  readonly end: 'delivered' | 'failed';
}

export interface AlertFacts {
  readonly failed: BoundedList<FailedFact>;
  readonly attempts: BoundedList<AttemptFact>;
  /** Messages of all kinds that ended since `countedFromAt`, by minute. */
  readonly counted: readonly MinuteFact[];
  /** The ended messages that notified the targets of alerts. */
  readonly notified: readonly NotifiedFact[];
  readonly queues: readonly QueueFact[];
  readonly schedules: readonly ScheduleFact[];
  /** Messages made today. */
  readonly used: number;
}

/** The facts to read for an evaluation. A field that is null or empty means that its facts are not needed. */
export interface NeededAlertFacts {
  readonly failedFromAt: number | null;
  readonly attemptsFromAt: number | null;
  readonly countedFromAt: number | null;
  /** `all`: the queues with open messages, up to a limit. */
  readonly queues: readonly string[] | 'all';
  readonly schedules: readonly string[];
  /** Whether the schedules of the failed messages are needed too. */
  readonly areFailedSchedulesAsked: boolean;
  readonly isUsageAsked: boolean;
}

/** How far back attempts count for the health of a host. */
export const HOST_WINDOW_MS = 3_600_000;

/**
 * The time from which failures count: the start of the window, but not before the alert was created. While the alert is
 * calm, all failures since its last evaluation count, even if that was before the window.
 */
export function failuresFrom(alert: Pick<Alert, 'state' | 'evaluatedAt' | 'createdAt'>, windowMs: number, now: number) {
  const lookedAt = alert.state === 'calm' ? (alert.evaluatedAt ?? alert.createdAt) : now;
  return Math.max(alert.createdAt, Math.min(now - windowMs, lookedAt));
}

export function isScoped({ host, queue, label }: AlertScope): boolean {
  return host !== null || queue !== null || label !== null;
}

/** What the alerts of one account need together. */
export function neededFacts(alerts: readonly Alert[], now: number): NeededAlertFacts {
  const failed = ofType(alerts, 'messageFailed').map((alert) => failuresFrom(alert, alert.rule.windowMs, now));
  const rates = ofType(alerts, 'failureRate').map(({ rule }) => rule);
  const hosts = ofType(alerts, 'hostFailing');
  const queues = ofType(alerts, 'queueStalled').map(({ rule }) => rule.queue);
  const schedules = ofType(alerts, 'scheduleFailed').map(({ rule }) => rule.schedule);
  const ratesOfSome = rates.filter(isScoped).map(({ windowMs }) => now - windowMs);
  const ratesOfAll = rates.filter((rule) => !isScoped(rule));
  return {
    failedFromAt: earliest(schedules.includes(null) ? [...failed, 0] : failed),
    attemptsFromAt: earliest([...ratesOfSome, ...hosts.map(() => now - HOST_WINDOW_MS)]),
    // Minutes are counted whole.
    countedFromAt: earliest(ratesOfAll.map(({ windowMs }) => startOf(now - windowMs, MINUTE_MS))),
    queues: queues.includes(null) ? 'all' : named(queues),
    schedules: named(schedules),
    areFailedSchedulesAsked: schedules.includes(null),
    isUsageAsked: alerts.some(({ rule }) => rule.type === 'quotaNear'),
  };
}

function ofType<T extends AlertRule['type']>(alerts: readonly Alert[], type: T) {
  return alerts.filter((alert): alert is Alert & { readonly rule: RuleOf<T> } => alert.rule.type === type);
}

function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times);
}

function named(names: readonly (string | null)[]): string[] {
  return [...new Set(names)].filter((name) => name !== null);
}

/** Whether a rule applies to this message. Messages of alerts are never counted. */
export function appliesTo(fact: ScopeFact, { host, queue, label }: AlertScope): boolean {
  return (
    fact.kind !== 'alert' &&
    (host === null || isHost(fact.host, host)) &&
    (queue === null || fact.queueName === queue) &&
    (label === null || fact.labels.includes(label))
  );
}

/** A rule may name a host with or without its port. */
export function isHost(host: string, named: string): boolean {
  return host === named || host.slice(0, host.lastIndexOf(':')) === named;
}

/** How the attempt ended its message, or null if the message has not ended with it. */
export function messageEndOf(
  attempt: Pick<AttemptFact, 'outcome' | 'status' | 'nextAt'>,
): 'delivered' | 'failed' | null {
  const end = attemptEnds(attempt).at(-1);
  return end === 'DELIVERED' ? 'delivered' : end === 'FAILED' ? 'failed' : null;
}

/**
 * What the attempt says about its host: no connection, no response in time and a 5xx are failures of the host, any
 * other response means that it works. Null when no connection to the host was tried, or when we cut the attempt off.
 */
export function hostResultOf({ outcome, status }: Pick<AttemptFact, 'outcome' | 'status'>): 'fails' | 'answers' | null {
  if (outcome === 'unreachable' || outcome === 'timedOut') return 'fails';
  if (outcome !== 'answered' || status === null) return null;
  return status >= 500 && status <= 599 ? 'fails' : 'answers';
}

export type RuleOf<T extends AlertRule['type']> = Extract<AlertRule, { type: T }>;
