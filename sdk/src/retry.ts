// Decides when a failed call is sent again: when the service says that it did nothing, or when the call has the same
// effect however often it is sent. A publish gets a deduplication id here, so that it has the same effect too.

import type { PostriderError } from './errors.ts';
import { UnreachableError } from './errors.ts';
import type { ConnectionOptions, RetryPolicy } from './send.ts';

export interface RetryOptions {
  /** Maximum number of retries of one call. A call is retried only if that cannot repeat its effect. Default: 2. */
  readonly retries?: number | undefined;
}

export type ClientOptions = ConnectionOptions & RetryOptions;

/** How long to wait at least before the first retry. The time doubles with each retry. */
const WAIT_MS = 125;
/** How long to wait at most. If a longer wait is required, the caller gets the error instead. */
const WAIT_MS_MAX = 10_000;

/** A policy for `connect`: retries a failed call, at most `retries` times, if that cannot repeat its effect. */
export function retry({ retries = 2 }: RetryOptions = {}): RetryPolicy {
  return async (call, headerPrefix, attempt, signal) => {
    const isKeyOurs = call.repeat === 'key' && retries > 0;
    const isRepeatable = isKeyOurs || call.repeat === 'yes' || (call.method === 'GET' && !call.repeat);
    const headers: Record<string, string> = isKeyOurs
      ? { [`${headerPrefix}Deduplication-Id`]: newDeduplicationId() }
      : {};
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await attempt(headers);
        return isKeyOurs ? withoutDuplicates(answer) : answer;
      } catch (error) {
        const waitMs = backoffMs(tries, (error as Partial<PostriderError>).retryAfterSeconds);
        if (tries >= retries || waitMs > WAIT_MS_MAX || !isSafe(error, isRepeatable)) throw error;
        await pause(waitMs, signal);
      }
    }
  };
}

function isSafe(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof UnreachableError) return isRepeatable;
  const { status, code } = error as Partial<PostriderError>;
  const isNothingDone = status === 429 || (status === 503 && code !== '' && code !== 'outcome_unknown');
  return isNothingDone || (isRepeatable && (status === 502 || status === 503 || status === 504));
}

/**
 * Removes `deduplicated` from a response. The deduplication id was made here, so a duplicate can only be an earlier try
 * of the same call. The caller has published once and needs no notice of it.
 */
function withoutDuplicates<T>(answer: T): T {
  if (typeof answer !== 'object' || answer === null) return answer;
  if (Array.isArray(answer)) return answer.map(withoutDuplicates) as T;
  const entries = Object.entries(answer).filter(([name]) => name !== 'deduplicated');
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutDuplicates(value as unknown)])) as T;
}

/**
 * A random wait, between one and two times a base that doubles with each try, and no shorter than the service requires.
 */
export function backoffMs(tries: number, leastSeconds?: number | null): number {
  const random = 1 + Math.random();
  const ownMs = Math.min(WAIT_MS_MAX / 2, WAIT_MS * 2 ** tries) * random;
  return Math.max(ownMs, (leastSeconds ?? 0) * 1000 * (1 + random / 20));
}

/** Waits for a time. When the signal aborts, the wait ends early with an error. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}

/** A random id. It does not use `randomUUID`, which browsers offer only to pages from HTTPS or from localhost. */
export function newDeduplicationId(): string {
  return crypto.getRandomValues(new BigUint64Array(2)).join('-');
}
