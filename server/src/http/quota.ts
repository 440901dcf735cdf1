// What a caller over its daily quota is told: how much there is, and when there is more.

const DAY_MS = 24 * 60 * 60 * 1000;

export function quotaHeaders(dayMax: number, now: number): [name: string, value: string][] {
  const resetSeconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1000);
  return [
    ['Retry-After', String(resetSeconds)],
    ['RateLimit-Limit', String(dayMax)],
    ['RateLimit-Remaining', '0'],
    ['RateLimit-Reset', String(resetSeconds)],
  ];
}
