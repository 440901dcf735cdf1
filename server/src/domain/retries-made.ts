// How many retries of a message were made, as people count them: one that still waits for its time is none yet. The
// store counts it from the moment it is decided, because that is what the limit is held against.

import type { Message } from './message.ts';

type Counted = Pick<Message, 'state' | 'retried' | 'interrupted' | 'attempts'>;

export function retriesMade({ state, retried, interrupted, attempts }: Counted): number {
  // After an interruption the retry that waits is one that had begun.
  if (retried === 0 || interrupted > 0) return retried;
  if (state === 'pending') return retried - 1;
  return state === 'cancelled' ? Math.min(retried, attempts - 1) : retried;
}
