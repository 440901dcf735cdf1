// How many retries of a message were made, as people count them: one that still waits for its time is none yet. The
// store counts it from the moment it is decided, because that is what the limit is held against.

import type { Message } from './message.ts';

type Counted = Pick<Message, 'state' | 'retried' | 'interrupted' | 'attempts' | 'hasBegunRetry'>;

export function retriesMade({ state, retried, interrupted, attempts, hasBegunRetry }: Counted): number {
  // After an interruption the retry that waits is one that had begun.
  if (retried === 0 || interrupted > 0) return retried;
  if (state !== 'pending' && state !== 'cancelled') return retried;
  // Each decided retry has an attempt before it: with no more than those, the last retry has not begun.
  return attempts > retried && hasBegunRetry ? retried : retried - 1;
}
