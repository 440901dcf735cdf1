// The health of a host for one account: how its attempts went in the last hour, how long they took, and since when the
// host fails. Each node adds up what it measured, and the store merges that into what all nodes have measured.

import { HOUR_MS, LAG_BUCKETS, lagBucket, lagPercentile, MINUTE_MS, startOfSpan } from '../accounts/activity.ts';
import { hostResultOf } from '../alerts/alert-facts.ts';
import type { Attempt } from '../delivery/message.ts';
import type { Parking } from './parking.ts';

/** Attempts are counted by spans, so that those of the last hour can be told from older ones. */
export const HEALTH_SPAN_MS = 5 * MINUTE_MS;
export const HEALTH_WINDOW_MS = HOUR_MS;
/** A host without an attempt for this long is forgotten. */
export const HEALTH_KEPT_MS = 7 * 24 * HOUR_MS;
/** The text of an error is cut to this length: it is shown beside many others. */
export const HEALTH_ERROR_MAX = 200;

export interface HealthSpan {
  readonly at: number;
  readonly attempts: number;
  readonly delivered: number;
  /** How many attempts took how long: the index is that of `lagBucket`. Buckets without attempts are left out. */
  readonly durations: Readonly<Record<number, number>>;
}

export interface HostFailure {
  readonly at: number;
  readonly status: number | null;
  readonly error: string | null;
}

export interface HostHealth {
  /** The oldest first. */
  readonly spans: readonly HealthSpan[];
  readonly lastAttemptAt: number;
  /** When the host last responded with anything but a 5xx. */
  readonly lastAnswerAt: number | null;
  /** The first failure after the last such response. Null while the host does not fail. */
  readonly failingSince: number | null;
  readonly lastFailure: HostFailure | null;
}

/** The health of a host, as it is stored and read. */
export interface MeasuredHost {
  readonly accountId: string;
  readonly host: string;
  readonly health: HostHealth;
}

/** A host as people see it. */
export interface KnownHost extends MeasuredHost {
  readonly parking: Parking | null;
}

/**
 * What one node has measured of a host since it last wrote. It is changed in place, because every attempt is added to
 * one. An attempt that says nothing about its host is left out: no connection was tried, or we cut the attempt off.
 */
export class HostTally {
  #spans: { at: number; attempts: number; delivered: number; durations: Record<number, number> }[] = [];
  #lastAttemptAt = Number.NEGATIVE_INFINITY;
  #lastAnswerAt: number | null = null;
  #failingSince: number | null = null;
  #lastFailure: HostFailure | null = null;

  add({ outcome, status, error, startedAt, endedAt }: Attempt): void {
    const result = hostResultOf({ outcome, status });
    if (result === null) return;
    const at = startOfSpan(endedAt, HEALTH_SPAN_MS);
    let span = this.#spans.at(-1);
    if (span?.at !== at) {
      span = { at, attempts: 0, delivered: 0, durations: {} };
      this.#spans.push(span);
    }
    span.attempts += 1;
    if (status !== null && status >= 200 && status <= 299) span.delivered += 1;
    const bucket = lagBucket(endedAt - startedAt);
    span.durations[bucket] = (span.durations[bucket] ?? 0) + 1;
    this.#lastAttemptAt = endedAt;
    if (result === 'answers') {
      this.#lastAnswerAt = endedAt;
      this.#failingSince = null;
    } else {
      this.#failingSince ??= endedAt;
      this.#lastFailure = { at: endedAt, status, error: error?.slice(0, HEALTH_ERROR_MAX) ?? null };
    }
  }

  /** Null if nothing was added. */
  get health(): HostHealth | null {
    if (this.#spans.length === 0) return null;
    return {
      spans: this.#spans,
      lastAttemptAt: this.#lastAttemptAt,
      lastAnswerAt: this.#lastAnswerAt,
      failingSince: this.#failingSince,
      lastFailure: this.#lastFailure,
    };
  }
}

/** `news` is what was measured after `before`, or beside it by another node. */
export function mergeHealth(before: HostHealth, news: HostHealth): HostHealth {
  const lastAnswerAt = latest(before.lastAnswerAt, news.lastAnswerAt);
  const lastFailure =
    (news.lastFailure?.at ?? Number.NEGATIVE_INFINITY) >= (before.lastFailure?.at ?? Number.NEGATIVE_INFINITY)
      ? news.lastFailure
      : before.lastFailure;
  return {
    spans: mergeSpans(before.spans, news.spans),
    lastAttemptAt: Math.max(before.lastAttemptAt, news.lastAttemptAt),
    lastAnswerAt,
    failingSince: failingSince(before, news, lastAnswerAt, lastFailure),
    lastFailure,
  };
}

function failingSince(
  before: HostHealth,
  news: HostHealth,
  lastAnswerAt: number | null,
  lastFailure: HostFailure | null,
): number | null {
  // Each of the two knows its own order. Of a response and a failure in the same millisecond, that of `news` came later.
  const isBefore =
    before.failingSince !== null && before.failingSince > (news.lastAnswerAt ?? Number.NEGATIVE_INFINITY);
  const isNews = news.failingSince !== null && news.failingSince >= (before.lastAnswerAt ?? Number.NEGATIVE_INFINITY);
  if (isBefore && isNews) return Math.min(before.failingSince, news.failingSince);
  if (isBefore) return before.failingSince;
  if (isNews) return news.failingSince;
  // Another node got a response during the failures of this one, and this one has failed again since.
  return lastFailure !== null && lastAnswerAt !== null && lastFailure.at > lastAnswerAt ? lastFailure.at : null;
}

/** Adds up spans that begin at the same time, and leaves out those before the window of the newest one. */
function mergeSpans(before: readonly HealthSpan[], news: readonly HealthSpan[]): readonly HealthSpan[] {
  const spans = new Map(before.map((span) => [span.at, span]));
  for (const span of news) {
    const other = spans.get(span.at);
    spans.set(span.at, other ? sumOf(other, span) : span);
  }
  const sorted = [...spans.values()].sort((one, other) => one.at - other.at);
  const newestAt = sorted.at(-1)?.at ?? 0;
  return sorted.filter(({ at }) => at >= newestAt - HEALTH_WINDOW_MS);
}

function sumOf(one: HealthSpan, other: HealthSpan): HealthSpan {
  const durations = { ...one.durations };
  for (const [bucket, count] of Object.entries(other.durations)) {
    durations[Number(bucket)] = (durations[Number(bucket)] ?? 0) + count;
  }
  return {
    at: one.at,
    attempts: one.attempts + other.attempts,
    delivered: one.delivered + other.delivered,
    durations,
  };
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

export function attemptsOf({ spans }: Pick<HostHealth, 'spans'>): number {
  return spans.reduce((sum, { attempts }) => sum + attempts, 0);
}

export interface HealthSummary {
  /** Attempts of the last hour, of which so many delivered their message. */
  readonly attempts: number;
  readonly delivered: number;
  /** How long the attempts took. Null without attempts. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** The last hour, to the length of a span. */
export function summaryOf({ spans }: Pick<HostHealth, 'spans'>, now: number): HealthSummary {
  const recent = spans.filter(({ at }) => at + HEALTH_SPAN_MS > now - HEALTH_WINDOW_MS);
  const lags: number[] = new Array(LAG_BUCKETS).fill(0);
  for (const { durations } of recent) {
    for (const [bucket, count] of Object.entries(durations)) lags[Number(bucket)]! += count;
  }
  return {
    attempts: attemptsOf({ spans: recent }),
    delivered: recent.reduce((sum, { delivered }) => sum + delivered, 0),
    p50Ms: lagPercentile({ lags }, 0.5),
    p95Ms: lagPercentile({ lags }, 0.95),
  };
}

/**
 * Whether a host is forgotten. One that failures have parked is, too: a probe would have been sent to it if any message
 * waited. One that a person has parked stays so.
 */
export function isForgotten(lastAttemptAt: number, parking: Parking | null, now: number): boolean {
  return lastAttemptAt <= now - HEALTH_KEPT_MS && parking?.isByHand !== true;
}
