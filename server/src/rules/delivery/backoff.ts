// The built-in wait before a retry: the spec's min(86400, e^(2n)) seconds, where n is the number of retries made so
// far; and the random part that a message may add to any wait. retry-after.ts handles what the receiver requests.

import { shareOf } from '../requests/id.ts';

export const RETRY_WAIT_MS_MAX = 86_400_000;

/** Rounded up, because a retry may come later than the formula says but never earlier. */
export function backoffMs(retried: number): number {
  return Math.ceil(Math.min(RETRY_WAIT_MS_MAX, Math.exp(2 * retried) * 1_000));
}

/**
 * How long to wait beyond `waitMs`: a share of it between 0 and `retryJitter` percent. It follows from the message and
 * the number of its retries, so that a settlement that is decided twice has one result.
 */
export function jitterMs(
  message: { readonly id: string; readonly retried: number; readonly retryJitter: number | null },
  waitMs: number,
): number {
  const { id, retried, retryJitter } = message;
  return retryJitter === null ? 0 : Math.floor(waitMs * (retryJitter / 100) * shareOf(`${id}.${retried}`));
}
