// The waits before retries, as they were decided: not shorter than asked for, and longer by the jitter of the message at
// most.

import { leastWaitMs } from './attempt-rules.ts';
import { countedAttempts, type Evidence } from './evidence.ts';

/** However short a wait is asked for: the least from this retry on, whatever its tier. */
const FLOOR = { fromRetry: 3, ms: 1000 };

export function* retryJitter(evidence: Evidence): Iterable<string> {
  for (const message of evidence.history.stored) {
    const jitter = evidence.expected.get(message.id)?.message.jitterPercent;
    if (jitter === undefined) continue;
    for (const [failures, { number, endedAt, nextAt }] of countedAttempts(message).entries()) {
      if (nextAt === undefined || nextAt === null) continue;
      const leastMs = leastWaitMs(evidence, message, failures);
      const floorMs = failures >= FLOOR.fromRetry ? FLOOR.ms : 0;
      const mostMs = Math.max(floorMs, Math.ceil(leastMs * (1 + (jitter ?? 0) / 100)));
      const waitMs = nextAt - endedAt;
      if (waitMs >= Math.floor(leastMs) && waitMs <= mostMs) continue;
      yield `${message.id} was to wait ${waitMs} ms after attempt ${number}, not ${leastMs} to ${mostMs} ms`;
    }
  }
}
