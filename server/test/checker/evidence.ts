// A history put in order for the rules: every message with all that is known about it, found by its id.

import type {
  Arrival,
  Cancel,
  Change,
  ExpectedMessage,
  Fault,
  History,
  Publish,
  StoredAttempt,
  StoredMessage,
} from './history.ts';

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
  /** The changes of each message that were or may have been made. */
  readonly changed: ReadonlyMap<string, readonly Change[]>;
  /** Messages whose time was changed: their waits and their places in line are not what was asked for at first. */
  readonly moved: ReadonlySet<string>;
  /** How often a message was in flight when something happened to the process that held it. */
  readonly cutOffs: ReadonlyMap<string, number>;
  /** Of those, how often the process was told to stop: that does not count. */
  readonly drains: ReadonlyMap<string, number>;
  readonly callbacksOf: ReadonlyMap<string, readonly StoredMessage[]>;
}

export function gatherEvidence(history: History): Evidence {
  const made = [...(history.changes ?? []), ...replacements(history)].filter(({ outcome }) => outcome !== 'refused');
  return {
    history,
    stored: new Map(history.stored.map((message) => [message.id, message])),
    arrivals: Map.groupBy(history.arrivals, ({ messageId }) => messageId),
    expected: expectedById(history),
    cancels: Map.groupBy(history.cancels, ({ messageId }) => messageId),
    changed: Map.groupBy(made, ({ messageId }) => messageId),
    moved: new Set(made.flatMap(({ messageId, isTimeChanged }) => (isTimeChanged ? [messageId] : []))),
    cutOffs: timesInFlight(history.faults.filter(({ kind }) => kind !== 'clockJump')),
    drains: timesInFlight(history.faults.filter(({ kind }) => kind === 'stop')),
    callbacksOf: Map.groupBy(
      history.stored.filter(({ kind }) => kind !== 'publish'),
      ({ sourceMessageId }) => sourceMessageId ?? '',
    ),
  };
}

/**
 * Whoever publishes with a debounce key changes the message that waits. Of the publishes that were answered with its id the
 * first has made it; what had no answer may have changed any message with its key.
 */
function replacements({ publishes }: History): Change[] {
  const all = publishes.flatMap(({ messages, ...publish }) =>
    messages.flatMap((content) => (content.debounceKey == null ? [] : [{ ...publish, content }])),
  );
  const answered = Map.groupBy(
    all.filter(({ content }) => content.id !== null),
    ({ content }) => content.id!,
  );
  return [...answered].flatMap(([messageId, own]) => {
    const first = own.reduce((one, other) => (other.askedAt < one.askedAt ? other : one));
    const unknown = all.filter(
      ({ outcome, content }) => outcome === 'unknown' && content.debounceKey === first.content.debounceKey,
    );
    return [...own.filter((each) => each !== first), ...unknown].map(({ content, outcome, askedAt, endedAt }) => ({
      messageId,
      outcome: outcome === 'ok' ? 'changed' : 'unknown',
      askedAt,
      endedAt,
      content,
      isTimeChanged: true,
    }));
  });
}

function isOlder(known: Expected | undefined, { askedAt }: Publish): boolean {
  return known !== undefined && known.message.debounceKey != null && known.publish.askedAt <= askedAt;
}

function timesInFlight(faults: readonly Fault[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { inFlight } of faults) for (const id of new Set(inFlight)) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
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
      for (const id of ids) if (!isOlder(expected.get(id), publish)) expected.set(id, { publish, message, index });
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

/** Those with a known result that count among the attempts that a message may have. */
export function countedAttempts(message: StoredMessage): StoredAttempt[] {
  return knownAttempts(message).filter(({ isFree }) => isFree !== true);
}

export function isSuccess(attempt: StoredAttempt): boolean {
  return attempt.outcome === 'answered' && attempt.status !== null && attempt.status >= 200 && attempt.status <= 299;
}

/**
 * Whether a request may have come behind one that was sent after it (which came at `passedAt`), because it was still on
 * its way when its sender gave it up: when its time was over, or when the process was cut off.
 */
export function mayBeLate(evidence: Evidence, message: StoredMessage, at: number, passedAt: number): boolean {
  const { faults, lateMsMax } = evidence.history;
  if (hasTimedOut(message) && at - passedAt <= lateMsMax) return true;
  return faults.some(
    (fault) =>
      fault.kind !== 'clockJump' && at >= fault.at && at - fault.at <= lateMsMax && fault.inFlight.includes(message.id),
  );
}

export function hasTimedOut({ attempts }: StoredMessage): boolean {
  return attempts.some(({ outcome }) => outcome === 'timedOut');
}

/** The attempts at its end that were cut off, without a known result after them. */
export function cutOffAtEnd(message: StoredMessage): number {
  return message.attempts.length - 1 - message.attempts.findLastIndex(({ outcome }) => outcome !== 'interrupted');
}
