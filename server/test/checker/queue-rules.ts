// First in, first out, as the receivers saw it: a queue's next message, or the next with its order key, comes only when the
// one before is over for good.
// A repeat is allowed, a step back is not; but for a request that was still on its way when its sender gave it up.

import { type Evidence, mayBeLate } from './evidence.ts';
import type { Arrival, StoredMessage } from './history.ts';

export function* stepsBack(evidence: Evidence): Iterable<string> {
  for (const [queue, arrivals] of serialArrivals(evidence)) {
    const left = new Set<string>();
    let current: string | null = null;
    for (const { messageId, at } of arrivals) {
      if (messageId === current) continue;
      if (current !== null) left.add(current);
      if (left.has(messageId)) yield `queue ${queue} stepped back to ${messageId} at ${at}, after ${current}`;
      current = messageId;
    }
  }
}

/**
 * What was accepted before another was even asked for, and is due no later, comes first. Of two without a delay the times
 * in the store are not looked at: whatever the clock did, the order is theirs.
 */
export function* overtaken(evidence: Evidence): Iterable<string> {
  const { expected, stored } = evidence;
  for (const [queue, arrivals] of serialArrivals(evidence)) {
    const ids = [...new Set(arrivals.map(({ messageId }) => messageId))];
    for (const [position, id] of ids.entries()) {
      for (const earlierId of ids.slice(0, position)) {
        const [mine, other] = [expected.get(id), expected.get(earlierId)];
        if (!mine || !other || evidence.moved.has(id) || evidence.moved.has(earlierId)) continue;
        const isAhead =
          mine.publish === other.publish ? mine.index < other.index : mine.publish.endedAt < other.publish.askedAt;
        const areUndelayed = mine.message.isUndelayed && other.message.isUndelayed;
        if (isAhead && (areUndelayed || stored.get(id)!.firstDueAt <= stored.get(earlierId)!.firstDueAt)) {
          yield `queue ${queue}: ${earlierId} came before ${id}, which stood ahead of it`;
        }
      }
    }
  }
}

/** The arrivals of each line that takes one at a time, those of cancelled messages among them. */
function serialArrivals(evidence: Evidence): Map<string, Arrival[]> {
  const { history, stored } = evidence;
  const serial = new Set(history.serialQueues);
  const byLine = Map.groupBy(history.arrivals, ({ messageId }) => lineOf(serial, stored.get(messageId)));
  byLine.delete(null);
  return new Map([...byLine].map(([line, arrivals]) => [line!, withoutLate(evidence, arrivals)]));
}

/** A queue of parallelism 1, or those of another queue that have one order key; null for what stands in neither. */
function lineOf(serial: ReadonlySet<string>, message: StoredMessage | undefined): string | null {
  const { queue = null, orderKey = null } = message ?? {};
  if (queue === null || serial.has(queue)) return queue;
  return orderKey === null ? null : `${queue}, order key ${orderKey}`;
}

/** Without those that came behind the next message because they were given up on their way. */
function withoutLate(evidence: Evidence, arrivals: readonly Arrival[]): Arrival[] {
  const began = new Map<string, number>();
  return arrivals.filter(({ messageId, at }, index) => {
    const message = evidence.stored.get(messageId)!;
    const before = arrivals[index - 1];
    if (!began.has(messageId)) began.set(messageId, index);
    if (!before || before.messageId === messageId) return true;
    // The first that came of another message since this one had its turn, if it had.
    const passing = arrivals.slice(began.get(messageId)! + 1, index).find((other) => other.messageId !== messageId);
    return !mayBeLate(evidence, message, at, (passing ?? before).at);
  });
}
