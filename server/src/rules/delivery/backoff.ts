// The built-in wait before a retry: the spec's min(86400, e^(2n)) seconds, where n is the number of retries made so
// far. No jitter. retry-after.ts handles what the receiver requests.

export const RETRY_WAIT_MS_MAX = 86_400_000;

/** Rounded up, because a retry may come later than the formula says but never earlier. */
export function backoffMs(retried: number): number {
  return Math.ceil(Math.min(RETRY_WAIT_MS_MAX, Math.exp(2 * retried) * 1_000));
}
