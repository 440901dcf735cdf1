// The facts about an account that its alerts are evaluated by, and which of them its rules need. The lists of messages
// and attempts are bounded, and say whether older entries were left out.

import { MINUTE_MS, startOfSpan } from '../accounts/activity.ts';
import { statesAfterAttempt } from '../delivery/event.ts';
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

/** An attempt that ended, or (`expired`) a message that ended without one. */
export interface AttemptFact extends ScopeFact, Pick<Attempt, 'status' | 'nextAt'> {
  readonly outcome: Attempt['outcome'] | 'expired';
  readonly endedAt: number;
}

/** Facts since the requested time, the newest first, up to a maximum number. */
export interface BoundedList<T> {
  readonly rows: readonly T[];
  /** Whether there are older facts since the requested time, which were not read. */
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

/** A message that notified the target of an alert, and has ended. */
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
  /** Hosts for which messages are parked now. */
  readonly parkedHosts: readonly string[];
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
  /** Whether the runs of all schedules whose messages failed are needed too. */
  readonly areFailedSchedulesAsked: boolean;
  readonly areParkedHostsAsked: boolean;
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
    // The counts are by minute, so the period begins with a whole minute.
    countedFromAt: earliest(ratesOfAll.map(({ windowMs }) => startOfSpan(now - windowMs, MINUTE_MS))),
    queues: queues.includes(null) ? 'all' : named(queues),
    schedules: named(schedules),
    areFailedSchedulesAsked: schedules.includes(null),
    areParkedHostsAsked: hosts.length > 0,
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
    (host === null || isNamedHost(fact.host, host)) &&
    (queue === null || fact.queueName === queue) &&
    (label === null || fact.labels.includes(label))
  );
}

/** A rule may name a host with or without its port. */
export function isNamedHost(host: string, named: string): boolean {
  return host === named || host.slice(0, host.lastIndexOf(':')) === named;
}

/** How the attempt ended its message, or null if the message has not ended with it. */
export function messageEndOf({
  outcome,
  status,
  nextAt,
}: Pick<AttemptFact, 'outcome' | 'status' | 'nextAt'>): 'delivered' | 'failed' | null {
  if (outcome === 'expired') return 'failed';
  const end = statesAfterAttempt({ outcome, status, nextAt }).at(-1);
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
