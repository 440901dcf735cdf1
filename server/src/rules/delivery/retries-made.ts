// How many retries of a message were made, as people count them: a pending retry does not count. The store counts a
// retry from the moment it is decided, because the limit applies to that number.

import type { Message } from './message.ts';

type Counted = Pick<Message, 'state' | 'retried' | 'interrupted' | 'attempts' | 'hasBegunRetry'>;

export function retriesMade({ state, retried, interrupted, attempts, hasBegunRetry }: Counted): number {
  // After an interruption, the waiting retry had already begun.
  if (retried === 0 || interrupted > 0) return retried;
  if (state !== 'pending' && state !== 'cancelled') return retried;
  // A retry is decided at the end of an attempt. If there are no more attempts than decided retries, the last retry has
  // not begun.
  return attempts > retried && hasBegunRetry ? retried : retried - 1;
}
