// Decides by the facts of an account whether the rule of an alert applies, and when a firing alert is over. Most rules
// need a margin for the end, so that a value near its limit does not start and end the alert again and again.

import { MINUTE_MS, startOfSpan } from '../accounts/activity.ts';
import { formatDurationMs } from '../time/duration.ts';
import type { Alert, AlertScope, Finding } from './alert.ts';
import {
  type AlertFacts,
  appliesTo,
  failuresFrom,
  HOST_WINDOW_MS,
  hostResultOf,
  isNamedHost,
  isScoped,
  messageEndOf,
  type RuleOf,
  type ScheduleFact,
} from './alert-facts.ts';

/** What the node knows itself, besides the facts that it reads from the store: limits and the use of the disk. */
export interface NodeAlertFacts {
  /** The most messages in a day; null: no quota. */
  readonly dayMax: number | null;
  /** What the account stores, and the limit of its tier; null: no limit. */
  readonly storedBytes: number;
  readonly storedBytesMax: number | null;
  /** Null: not known, or the data is in a database. */
  readonly freeBytes: number | null;
}

/** A firing alert is over when a share is below its limit times RATE_OVER, or an age below its limit times AGE_OVER. */
const RATE_OVER = 0.8;
const AGE_OVER = 0.5;
/** A firing alert is over when the free space exceeds the limit by this factor. */
const SPACE_OVER = 1.1;
/** How many names a text lists at most. */
const NAMED_MAX = 3;

/** Null when the facts do not decide whether the rule applies. */
export function findingOf(alert: Alert, facts: AlertFacts, sight: NodeAlertFacts, now: number): Finding | null {
  const { rule } = alert;
  const isFiring = alert.state === 'firing';
  switch (rule.type) {
    case 'messageFailed':
      return messageFailed(rule, alert, facts, now);
    case 'failureRate':
      return failureRate(rule, isFiring, facts, now);
    case 'queueStalled':
      return queueStalled(rule, isFiring, facts, now);
    case 'hostFailing':
      return hostFailing(rule, isFiring, facts, now);
    case 'scheduleFailed':
      return scheduleFailed(rule, facts);
    case 'quotaNear':
      return quotaNear(rule, isFiring, facts.used, sight);
    case 'diskLow':
      return sight.freeBytes === null ? null : diskLow(rule, isFiring, sight.freeBytes);
  }
}

/** A firing alert is over when no message failed for a whole window. */
function messageFailed(rule: RuleOf<'messageFailed'>, alert: Alert, facts: AlertFacts, now: number): Finding | null {
  const fromAt = failuresFrom(alert, rule.windowMs, now);
  const failed = facts.failed.rows.filter((row) => row.endedAt >= fromAt && appliesTo(row, rule)).length;
  const isCut = isCutAfter(facts.failed, fromAt);
  const isFiring = alert.state === 'firing';
  // Not all failures were read: those that started this alert may be among the others, so it stays as it is.
  if (isFiring && isCut && failed === 0) return null;
  const isWrong = failed >= (isFiring ? 1 : rule.count);
  // The span is longer than the window if the target could not be notified for some time.
  const spanMs = Math.max(rule.windowMs, wholeSeconds(now - fromAt));
  const count = `${failed}${isCut ? ' or more' : ''} message${failed === 1 && !isCut ? '' : 's'}`;
  return {
    isWrong,
    text: isWrong
      ? `${count} failed${about(rule)} within ${formatDurationMs(spanMs)}.`
      : `No message failed${about(rule)} for ${formatDurationMs(rule.windowMs)}.`,
    facts: { failed, ...(isCut && { isCut }) },
  };
}

/** A firing alert is over when the share is below 80 % of the limit. */
function failureRate(rule: RuleOf<'failureRate'>, isFiring: boolean, facts: AlertFacts, now: number): Finding | null {
  const { failed, ended, isCut } = isScoped(rule) ? endsOf(rule, facts, now) : countsOf(rule, facts, now);
  if (isFiring && isCut && ended === 0) return null;
  const share = ended === 0 ? 0 : failed / ended;
  const isOn = ended >= rule.minimum && share >= rule.share;
  const isWrong = isFiring ? share >= rule.share * RATE_OVER : isOn;
  const many = `${failed} of ${isCut ? 'the newest ' : ''}${ended} messages`;
  return {
    isWrong,
    text: `${many} failed${about(rule)} within ${formatDurationMs(rule.windowMs)}: ${percent(share)}${isWrong ? '' : ', which is below the limit'}.`,
    facts: { failed, ended, share, ...(isCut && { isCut }) },
  };
}

function endsOf(rule: RuleOf<'failureRate'>, facts: AlertFacts, now: number) {
  const fromAt = now - rule.windowMs;
  const ends = facts.attempts.rows
    .filter((row) => row.endedAt >= fromAt && appliesTo(row, rule))
    .map(messageEndOf)
    .filter((end) => end !== null);
  return {
    failed: ends.filter((end) => end === 'failed').length,
    ended: ends.length,
    isCut: isCutAfter(facts.attempts, fromAt),
  };
}

function countsOf(rule: RuleOf<'failureRate'>, facts: AlertFacts, now: number) {
  const fromAt = startOfSpan(now - rule.windowMs, MINUTE_MS);
  const since = facts.counted.filter(({ at }) => at >= fromAt);
  const notified = facts.notified.filter(({ endedAt }) => endedAt >= fromAt);
  const countOf = (name: 'delivered' | 'failed') => {
    const all = since.reduce((total, minute) => total + minute[name], 0);
    return Math.max(0, all - notified.filter(({ end }) => end === name).length);
  };
  const failed = countOf('failed');
  return { failed, ended: failed + countOf('delivered'), isCut: false };
}

/** A firing alert is over when the oldest message is younger than half of the limit. */
function queueStalled(rule: RuleOf<'queueStalled'>, isFiring: boolean, facts: AlertFacts, now: number): Finding {
  const limitMs = rule.olderThanMs * (isFiring ? AGE_OVER : 1);
  const stalled = facts.queues
    .filter(({ name, oldestDueAt }) => (rule.queue === null || name === rule.queue) && now - oldestDueAt >= limitMs)
    .toSorted((a, b) => a.oldestDueAt - b.oldestDueAt);
  const [worst] = stalled;
  const shown = stalled.map(({ name, isPaused, oldestDueAt }) => ({
    queue: name,
    oldestDueAt,
    ...(isPaused && { paused: true }),
  }));
  return {
    isWrong: worst !== undefined,
    text: worst
      ? `The oldest message in ${queuesText(stalled)} has been due for ${formatDurationMs(wholeSeconds(now - worst.oldestDueAt))}${worst.isPaused ? '; the queue is paused' : ''}.`
      : `No message in ${rule.queue === null ? 'any queue' : `queue ${rule.queue}`} has been due for long.`,
    facts: { stalled: shown.slice(0, SHOWN_MAX) },
  };
}

function queuesText(queues: readonly { readonly name: string }[]): string {
  return `queue ${listed(queues.map(({ name }) => name))}`;
}

/**
 * A firing alert is over when no host has as many failures in a row as the rule names. A response below 500 ends a row.
 */
function hostFailing(rule: RuleOf<'hostFailing'>, isFiring: boolean, facts: AlertFacts, now: number): Finding | null {
  const hosts = rowsOfFailures(rule, facts.attempts.rows, now - HOST_WINDOW_MS);
  // The number of attempts read is limited. A firing alert continues if older attempts may belong to the same row.
  const isCut = isCutAfter(facts.attempts, now - HOST_WINDOW_MS);
  if (isFiring && isCut && rule.host !== null && hosts.size === 0) return null;
  const fails = ({ row, seen }: { row: number; seen: number }) =>
    row >= rule.attempts || (isFiring && isCut && row === seen);
  const failing = [...hosts].filter(([, host]) => fails(host)).toSorted(([, a], [, b]) => b.row - a.row);
  const answers = `${rule.host ?? 'Every host'} responds again, or was not called ${isCut ? 'lately' : 'for an hour'}.`;
  return {
    isWrong: failing.length > 0,
    text: failing.length > 0 ? failingText(failing, facts.parkedHosts) : answers,
    facts: {
      hosts: failing.slice(0, SHOWN_MAX).map(([host, { row }]) => {
        const shown = { host, failedInARow: row };
        return facts.parkedHosts.includes(host) ? { ...shown, isParked: true } : shown;
      }),
      ...(isCut && { isCut }),
    },
  };
}

/** The one that failed most often in a row is the first. */
function failingText(failing: readonly (readonly [host: string, HostRow])[], parkedHosts: readonly string[]): string {
  const names = failing.map(([host]) => host);
  const text = `The last ${failing[0]![1].row} attempts to ${listed(names)} failed: no connection, no response in time, or a status of 500 or more.`;
  const parked = names.filter((host) => parkedHosts.includes(host));
  return parked.length === 0 ? text : `${text} Messages that park wait for ${listed(parked)}.`;
}

/**
 * A firing alert is over when the next run of each schedule was delivered, or the failed run or the schedule is gone.
 */
function scheduleFailed(rule: RuleOf<'scheduleFailed'>, facts: AlertFacts): Finding {
  const failing = facts.schedules
    .filter((schedule) => (rule.schedule === null || schedule.id === rule.schedule) && hasFailed(schedule))
    .map(({ id }) => id);
  return {
    isWrong: failing.length > 0,
    text:
      failing.length > 0
        ? `The last run of schedule ${listed(failing)} failed.`
        : `The last run of ${rule.schedule === null ? 'every schedule' : `schedule ${rule.schedule}`} did not fail, or was deleted.`,
    facts: { schedules: failing.slice(0, SHOWN_MAX) },
  };
}

/** Whether the newest run with a known end has failed. A run to a topic has several messages; one that failed is enough. */
function hasFailed({ runs }: ScheduleFact): boolean {
  const byRun = [...Map.groupBy(runs, ({ createdAt }) => createdAt)].toSorted(([a], [b]) => b - a);
  for (const [, messages] of byRun) {
    if (messages.some(({ state }) => state === 'failed')) return true;
    if (messages.every(({ state }) => state === 'delivered' || state === 'cancelled')) return false;
  }
  return false;
}

interface HostRow {
  /** Failed attempts since the last response below 500. */
  row: number;
  /** All attempts that were read, except those that say nothing about the host. */
  seen: number;
  /** Whether a response below 500 was found, so that older attempts do not belong to the row. */
  isOver: boolean;
}

/** `attempts`: the newest first. */
function rowsOfFailures(
  rule: RuleOf<'hostFailing'>,
  attempts: AlertFacts['attempts']['rows'],
  fromAt: number,
): Map<string, HostRow> {
  const hosts = new Map<string, HostRow>();
  const isCounted = ({ kind, endedAt, host }: AlertFacts['attempts']['rows'][number]) =>
    kind !== 'alert' && endedAt >= fromAt && (rule.host === null || isNamedHost(host, rule.host));
  for (const attempt of attempts.filter(isCounted)) {
    const end = hostResultOf(attempt);
    if (end === null) continue;
    const host = hosts.get(attempt.host) ?? { row: 0, seen: 0, isOver: false };
    hosts.set(attempt.host, host);
    host.seen += 1;
    if (end === 'answers') host.isOver = true;
    else if (!host.isOver) host.row += 1;
  }
  return hosts;
}

/**
 * A firing alert is over when less of the quota is used: on the next day, with a larger quota, or without one. The same
 * applies to stored bytes.
 */
function quotaNear(rule: RuleOf<'quotaNear'>, isFiring: boolean, used: number, sight: NodeAlertFacts): Finding | null {
  const { dayMax, storedBytes, storedBytesMax } = sight;
  const isDayNear = dayMax !== null && used >= rule.share * dayMax;
  const isStoreNear = storedBytesMax !== null && storedBytes >= rule.share * storedBytesMax;
  const isWrong = isDayNear || isStoreNear;
  if (!isWrong && dayMax === null) {
    return isFiring ? { isWrong, text: NO_QUOTA_NEAR, facts: { used, storedBytes } } : null;
  }
  const dayText =
    dayMax !== null && (isDayNear || !isStoreNear) && `${used} of the ${dayMax} messages of the day are used`;
  const storeText = isStoreNear && `${mebibytes(storedBytes)} of ${mebibytes(storedBytesMax)} are stored`;
  const text = [dayText, storeText].filter((each) => each !== false).join(', and ');
  return {
    isWrong,
    text: `${text}${isWrong ? '' : ', which is below the limit'}.`,
    facts: {
      used,
      ...(dayMax !== null && { dayMax }),
      ...(isStoreNear && { storedBytes, storedBytesMax }),
    },
  };
}

const NO_QUOTA_NEAR = 'There is no daily quota any more, and less is stored than the limit.';

/** A firing alert is over when 10 % more than the limit is free. */
function diskLow(rule: RuleOf<'diskLow'>, isFiring: boolean, freeBytes: number): Finding {
  const isWrong = freeBytes < rule.freeBytes * (isFiring ? SPACE_OVER : 1);
  return {
    isWrong,
    text: `${mebibytes(freeBytes)} are free on the disk of the data; the limit is ${mebibytes(rule.freeBytes)}.`,
    facts: { freeBytes, limitBytes: rule.freeBytes },
  };
}

/** How many queues, hosts or schedules the facts in the message to the target list at most. */
const SHOWN_MAX = 20;

function isCutAfter<T extends { readonly endedAt: number }>(
  { rows, isCut }: { readonly rows: readonly T[]; readonly isCut: boolean },
  fromAt: number,
): boolean {
  // The first row that was not read may have ended at the same time as the last row that was read.
  return isCut && (rows.at(-1)?.endedAt ?? Number.POSITIVE_INFINITY) >= fromAt;
}

function about({ host, queue, label }: AlertScope): string {
  return [
    host === null ? '' : ` at ${host}`,
    queue === null ? '' : ` in queue ${queue}`,
    label === null ? '' : ` with label ${label}`,
  ].join('');
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

function wholeSeconds(ms: number): number {
  return Math.max(1000, ms - (ms % 1000));
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / (1024 * 1024)).toLocaleString('en-US')} MiB`;
}
