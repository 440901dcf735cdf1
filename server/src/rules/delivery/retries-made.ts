// How many retries of a message have begun. `retried` in the store is another number: it counts a retry as soon as it
// is decided, because the limit applies to that number.

import type { Message } from './message.ts';

type Counted = Pick<Message, 'state' | 'retried' | 'interrupted' | 'attempts' | 'hasBegunRetry'>;

export function retriesMade({ state, retried, interrupted, attempts, hasBegunRetry }: Counted): number {
  // If the last attempt was interrupted, the retry that now waits to be repeated has already begun.
  if (retried === 0 || interrupted > 0) return retried;
  if (state !== 'pending' && state !== 'cancelled') return retried;
  // A retry is decided at the end of an attempt. If there are no more attempts than decided retries, the last retry has
  // not begun.
  return attempts > retried && hasBegunRetry ? retried : retried - 1;
}
