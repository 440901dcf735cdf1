// The error for a caller over its daily quota: how large it is, and when it starts again.

import type { Tier } from '../domain/tier.ts';
import { ApiError } from './errors.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function quotaHeaders(dayMax: number, now: number): [name: string, value: string][] {
  const resetSeconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1000);
  return [
    ['Retry-After', String(resetSeconds)],
    ['RateLimit-Limit', String(dayMax)],
    ['RateLimit-Remaining', '0'],
    ['RateLimit-Reset', String(resetSeconds)],
  ];
}

/** Over the quota nothing is made. The response headers say when the next day starts. */
export function requireQuota(
  isOverQuota: boolean,
  tier: Tier,
  now: number,
  setHeader: (name: string, value: string) => void,
): void {
  const dayMax = tier.messagesPerDayMax;
  if (!isOverQuota || dayMax === null) return;
  for (const [name, value] of quotaHeaders(dayMax, now)) setHeader(name, value);
  throw new ApiError(
    'quota_exceeded',
    `the account would exceed its daily quota on the ${tier.name} tier: ${dayMax} messages`,
  );
}
