// What expires: nothing starts from its expiry on, and only what has one fails by it, at that time or for a retry that would
// have come later. That its end comes once, with one failure callback, is among the rules of every failed message.

import type { Evidence } from './evidence.ts';

export function* startsAfterExpiry({ history, arrivals }: Evidence): Iterable<string> {
  for (const { id, mustStartBefore = null, attempts } of history.stored) {
    if (mustStartBefore === null) continue;
    for (const { number, startedAt } of attempts) {
      if (startedAt >= mustStartBefore) {
        yield `attempt ${number} of ${id} started ${startedAt - mustStartBefore} ms after it had expired`;
      }
    }
    for (const { writtenAt } of arrivals.get(id) ?? []) {
      if (writtenAt !== undefined && writtenAt >= mustStartBefore) {
        yield `${id} was written ${writtenAt - mustStartBefore} ms after it had expired`;
      }
    }
  }
}

export function* expiredEnds({ history }: Evidence): Iterable<string> {
  for (const { id, mustStartBefore = null, hasExpired = false, state, endedAt, attempts } of history.stored) {
    if (!hasExpired) continue;
    if (state !== 'failed') yield `${id} has expired, but is ${state}`;
    if (mustStartBefore === null) yield `${id} failed as expired, but never expires`;
    else if (endedAt !== null && endedAt < mustStartBefore && attempts.at(-1)?.endedAt !== endedAt) {
      yield `${id} failed as expired ${mustStartBefore - endedAt} ms too early`;
    }
  }
}
