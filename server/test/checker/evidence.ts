// A history put in order for the rules: every message with all that is known about it, found by its id.

import type { Arrival, Cancel, ExpectedMessage, History, Publish, StoredAttempt, StoredMessage } from './history.ts';

export interface Expected {
  readonly publish: Publish;
  readonly message: ExpectedMessage;
  /** Its place among the messages of its publish. */
  readonly index: number;
}

export interface Evidence {
  readonly history: History;
  readonly stored: ReadonlyMap<string, StoredMessage>;
  readonly arrivals: ReadonlyMap<string, readonly Arrival[]>;
  /** What was asked for, by message id; for a publish without an answer, by what the store has of it. */
  readonly expected: ReadonlyMap<string, Expected>;
  readonly cancels: ReadonlyMap<string, readonly Cancel[]>;
  /** How often a message was in flight when something happened to the process that held it. */
  readonly cutOffs: ReadonlyMap<string, number>;
  readonly callbacksOf: ReadonlyMap<string, readonly StoredMessage[]>;
}

export function gatherEvidence(history: History): Evidence {
  const cutOffs = new Map<string, number>();
  for (const fault of history.faults) {
    if (fault.kind === 'clockJump') continue;
    for (const id of new Set(fault.inFlight)) cutOffs.set(id, (cutOffs.get(id) ?? 0) + 1);
  }
  return {
    history,
    stored: new Map(history.stored.map((message) => [message.id, message])),
    arrivals: Map.groupBy(history.arrivals, ({ messageId }) => messageId),
    expected: expectedById(history),
    cancels: Map.groupBy(history.cancels, ({ messageId }) => messageId),
    cutOffs,
    callbacksOf: Map.groupBy(
      history.stored.filter(({ kind }) => kind !== 'publish'),
      ({ sourceMessageId }) => sourceMessageId ?? '',
    ),
  };
}

function expectedById(history: History): Map<string, Expected> {
  const byContent = Map.groupBy(
    history.stored.filter(({ kind }) => kind === 'publish'),
    contentKey,
  );
  const expected = new Map<string, Expected>();
  for (const publish of history.publishes) {
    publish.messages.forEach((message, index) => {
      const ids = message.id === null ? (byContent.get(contentKey(message)) ?? []).map(({ id }) => id) : [message.id];
      for (const id of ids) expected.set(id, { publish, message, index });
    });
  }
  return expected;
}

export function contentKey(message: Pick<ExpectedMessage, 'url' | 'bodyHash'>): string {
  return `${message.url} ${message.bodyHash}`;
}

export function knownAttempts(message: StoredMessage): StoredAttempt[] {
  return message.attempts.filter(({ outcome }) => outcome !== 'interrupted');
}

export function isSuccess(attempt: StoredAttempt): boolean {
  return attempt.status !== null && attempt.status >= 200 && attempt.status <= 299;
}
