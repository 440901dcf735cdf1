// Messages with a debounce key: a new one takes the place of the one that waits, with its id, until the first attempt
// starts. The store finds the one that waits, calls these functions, and writes the result, in one transaction.

import { isExpired } from '../delivery/expiry.ts';
import type { Debounce, Message, NewMessage } from '../delivery/message.ts';
import { eachMax } from '../limits/budgets.ts';

/** A message with a debounce key. */
export type Debounced<T extends NewMessage = NewMessage> = T & { readonly debounce: Debounce };

/** Cannot occur in a key. */
const BEFORE_URL = '\n';

/** Each endpoint of a topic has a waiting message of its own. `endpointUrl` is null for a message to a URL. */
export function debounceKey(given: string, endpointUrl: string | null): string {
  return endpointUrl === null ? given : given + BEFORE_URL + endpointUrl;
}

/** The key as its caller gave it. */
export function givenDebounceKey({ key }: Pick<Debounce, 'key'>): string {
  const end = key.indexOf(BEFORE_URL);
  return end === -1 ? key : key.slice(0, end);
}

export function isDebounced<T extends NewMessage>(message: T): message is Debounced<T> {
  return message.debounce !== null;
}

/** Whether a new message may take the place of this one: it waits, and no attempt of it has started. */
export function canBeReplaced(
  { state, attempts, mustStartBefore }: Pick<Message, 'state' | 'attempts' | 'mustStartBefore'>,
  now: number,
): boolean {
  return state === 'pending' && attempts === 0 && !isExpired({ mustStartBefore }, now);
}

/** What decides in which line a message waits. A new message cannot take a place in another line. */
export interface PlaceInLine extends Pick<NewMessage, 'queueName' | 'orderKey'> {
  readonly flow: { readonly key: string } | null;
}
/** A message that waits under a key, or is to be written, and its line. */
export type PlaceOfMessage = PlaceInLine & Pick<NewMessage, 'id'>;
export type LinePart = 'queue' | 'order key' | 'flow key';

/** In what the places of two messages differ, or null. */
export function lineDifference(one: PlaceInLine, other: PlaceInLine): LinePart | null {
  if (one.queueName !== other.queueName) return 'queue';
  if (one.orderKey !== other.orderKey) return 'order key';
  return one.flow?.key === other.flow?.key ? null : 'flow key';
}

/** A message that cannot take the place of the one that waits, so that nothing of its request is accepted. */
export interface Misplaced {
  /** Which of the messages it is. */
  readonly index: number;
  /** The one that waits. */
  readonly messageId: string;
  readonly part: LinePart;
}

/** The first of the messages that would have to leave the line of the one that waits. `waiting`: by key. */
export function misplacedOf(
  messages: readonly NewMessage[],
  waiting: ReadonlyMap<string, PlaceOfMessage>,
): Misplaced | null {
  const places = new Map(waiting);
  for (const [index, message] of messages.entries()) {
    if (!isDebounced(message)) continue;
    const { key } = message.debounce;
    const before = places.get(key);
    const part = before ? lineDifference(before, message) : null;
    if (before && part !== null) return { index, messageId: before.id, part };
    if (!before) places.set(key, message);
  }
  return null;
}

/** What the caller of an accepted message with a debounce key gets. */
export interface DebounceResult {
  readonly messageId: string;
  readonly count: number;
}

/** The waiting message after `newest` has taken its place: everything is that of the newest, except id and acceptance. */
export function replaced<T extends NewMessage>(waiting: Debounced<T>, newest: Debounced): Debounced<T> {
  const latestAt = waiting.createdAt + (newest.debounce.latestAt - newest.createdAt);
  return {
    ...waiting,
    ...newest,
    id: waiting.id,
    createdAt: waiting.createdAt,
    dueAt: dueAfter(waiting.dueAt, newest, latestAt),
    debounce: { key: waiting.debounce.key, latestAt, count: waiting.debounce.count + 1 },
  };
}

/** From the latest time on, it is due at once; and if it was due already, it keeps its time, and its place in a line. */
function dueAfter(before: number, { dueAt, createdAt: now }: NewMessage, latestAt: number): number {
  const wanted = Math.min(dueAt, latestAt);
  return wanted > now ? wanted : Math.min(before, now);
}

/** A message that waits under a key, of several: a claim was given back, and a newer message had come meanwhile. */
export interface WaitingUnderKey {
  /** The order in which they were accepted. */
  readonly seq: number;
  readonly debounced: number;
}

/** How long a message is kept that has ended because a newer one waits under its key. */
export const OVERTAKEN_KEPT_MS = 86_400_000;

/** The newest of the messages that wait under a key stands for all of them. Null if no more than one waits. */
export function standingForAll<T extends WaitingUnderKey>(
  waiting: readonly T[],
): { readonly newest: T; readonly overtaken: readonly T[]; readonly count: number } | null {
  if (waiting.length < 2) return null;
  const ordered = waiting.toSorted((one, other) => one.seq - other.seq);
  const newest = ordered.at(-1)!;
  const count = ordered.reduce((sum, { debounced }) => sum + debounced, 0);
  return { newest, overtaken: ordered.slice(0, -1), count };
}

const EVENTS_MAX = eachMax('messageChanges');

/** Whether the replacement that led to this message gets an event: not after so many that they would fill the log. */
export function hasEvent({ debounce: { count } }: { readonly debounce: Pick<Debounce, 'count'> }): boolean {
  return count - 1 <= EVENTS_MAX;
}
