// What was answered with ok is there, once and unchanged; what was refused is not; what nobody asked for is nowhere.

import { contentKey, type Evidence } from './evidence.ts';
import type { Content, HeaderPairs } from './history.ts';

export function* lost({ history, stored }: Evidence): Iterable<string> {
  for (const publish of history.publishes) {
    if (publish.outcome !== 'ok') continue;
    for (const { id, url } of publish.messages) {
      if (id === null) yield `a publish to ${url} was answered with ok, but without a message id`;
      else if (!stored.has(id)) yield `${id} was accepted at ${publish.endedAt} and is not in the store: lost`;
    }
  }
}

/** A delivered message that no receiver has seen is as lost as one that is gone. */
export function* deliveredWithoutArrival({ history, arrivals }: Evidence): Iterable<string> {
  for (const { id, state, retried } of history.stored) {
    if (state !== 'delivered') continue;
    const hasArrived = arrivals.get(id)?.some((arrival) => arrival.retried === retried);
    if (!hasArrived) yield `${id} counts as delivered, but its last attempt reached no receiver`;
  }
}

export function* unexpected({ history, stored, expected }: Evidence): Iterable<string> {
  for (const { id, kind, sourceMessageId } of history.stored) {
    if (kind === 'publish' && !expected.has(id)) yield `${id} is in the store, but nobody published it`;
    if ((kind === 'callback' || kind === 'failureCallback') && !stored.has(sourceMessageId ?? '')) {
      yield `${id} is a callback of ${sourceMessageId}, which does not exist`;
    }
  }
  for (const { messageId, url } of history.arrivals) {
    if (!stored.has(messageId)) yield `${messageId} arrived at ${url}, but is not in the store`;
  }
  const seen = new Set<string>();
  for (const { id } of history.stored) {
    if (seen.has(id)) yield `${id} is in the store twice`;
    seen.add(id);
  }
}

/** A topic's copies and the elements of a batch are accepted together or not at all. */
export function* partial({ history, stored }: Evidence): Iterable<string> {
  const byContent = Map.groupBy(history.stored, contentKey);
  for (const publish of history.publishes) {
    const present = publish.messages.filter((message) =>
      message.id === null ? byContent.has(contentKey(message)) : stored.has(message.id),
    ).length;
    const total = publish.messages.length;
    const what = `the publish of ${total} messages at ${publish.askedAt} (first to ${publish.messages[0]?.url})`;
    if (publish.outcome === 'refused' && present > 0) yield `${what} was refused, yet ${present} are in the store`;
    if (present > 0 && present < total) yield `${what} is in the store only in part: ${present} of them`;
  }
}

/** What arrives is what was published, byte for byte; a callback is what the store says. For changes: change-rules.ts. */
export function* unlikePublished(evidence: Evidence): Iterable<string> {
  const { history, stored, expected, changed } = evidence;
  for (const message of history.stored) {
    const asked = expected.get(message.id)?.message;
    const isOwn = !changed.has(message.id);
    if (asked && isOwn) yield* differences(`${message.id} in the store`, asked, message);
    if (asked && asked.queue !== message.queue) {
      yield `${message.id} is in queue ${message.queue}, but was published to ${asked.queue}`;
    }
    if (asked && asked.retriesMax !== message.retriesMax) {
      yield `${message.id} has ${message.retriesMax} retries, but ${asked.retriesMax} were asked for`;
    }
  }
  for (const arrival of history.arrivals) {
    if (changed.has(arrival.messageId)) continue;
    const source = expected.get(arrival.messageId)?.message ?? stored.get(arrival.messageId);
    if (source) yield* differences(`${arrival.messageId} as it arrived at ${arrival.at}`, source, arrival);
  }
}

export function* differences(what: string, asked: Content, found: Content): Generator<string> {
  for (const field of ['url', 'method', 'bodyHash'] as const) {
    if (asked[field] !== found[field]) yield `${what}: the ${field} is ${found[field]}, not ${asked[field]}`;
  }
  for (const name of new Set(asked.headers.map(([name]) => name.toLowerCase()))) {
    const [wanted, got] = [valuesOf(asked.headers, name), valuesOf(found.headers, name)];
    if (wanted !== got) yield `${what}: the header ${name} is ${got}, not ${wanted}`;
  }
}

function valuesOf(headers: HeaderPairs, lowerName: string): string {
  return JSON.stringify(headers.filter(([name]) => name.toLowerCase() === lowerName).map(([, value]) => value));
}
