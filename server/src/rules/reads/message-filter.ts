// Decides which messages a list, a cancel or a bulk operation selects: OR within a key, AND between keys. The store
// finds candidates by any indexed key. Whether a candidate matches is decided here, in the same way for every adapter.

import type { Message } from '../delivery/message.ts';
import { givenDebounceKey } from '../publish/debounce.ts';
import { parseTargetUrl } from '../publish/destination.ts';
import type { ReadAmount } from './read-amount.ts';

/** The states that users see. `pending` is shown as CREATED before the first attempt, and as RETRY after it. */
export const SHOWN_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'HELD',
  'CANCEL_REQUESTED',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
] as const;
export type ShownState = (typeof SHOWN_STATES)[number];

/** States of messages that have not ended. */
export const OPEN_STATES: readonly ShownState[] = ['CREATED', 'ACTIVE', 'RETRY', 'HELD', 'CANCEL_REQUESTED'];

export interface MessageFilter {
  readonly messageIds?: readonly string[];
  readonly states?: readonly ShownState[];
  readonly urls?: readonly string[];
  readonly hosts?: readonly string[];
  readonly paths?: readonly string[];
  readonly queueNames?: readonly string[];
  readonly topicNames?: readonly string[];
  readonly scheduleIds?: readonly string[];
  /** Callbacks and retried messages carry the names of the message they come from, too: what made them tells them apart. */
  readonly kinds?: readonly Message['kind'][];
  /**
   * Ids of messages that led to other messages. A callback matches by the message that it reports on, and a retried
   * message by its dead letter.
   */
  readonly sourceMessageIds?: readonly string[];
  readonly labels?: readonly string[];
  readonly flowKeys?: readonly string[];
  /** As callers give them: those of a message to a topic are the same for each of its endpoints. */
  readonly debounceKeys?: readonly string[];
  readonly callerIps?: readonly string[];
  /** The status of the last response, or 0 for a message that was tried and got no response. */
  readonly statuses?: readonly number[];
  /** Failure texts, which are matched exactly. */
  readonly failures?: readonly string[];
  /**
   * Selects dead letters that were sent again (true), that were not (false), or both (`any`). Without this key, calls
   * about dead letters select only those that were not sent again.
   */
  readonly isRetried?: boolean | 'any';
  /** Selects messages accepted at this time or later, in milliseconds since 1970. */
  readonly fromAt?: number;
  /** Selects messages accepted at this time or earlier. */
  readonly toAt?: number;
  /** Selects messages that ended at this time or earlier. Open messages do not match. */
  readonly endedToAt?: number;
  /**
   * A text that must occur in the id, URL, queue, topic, schedule, a label, or the body. Letter case does not matter. A
   * redacted body is not searched.
   */
  readonly text?: string;
}

export type StateCounts = Readonly<Record<ShownState, number>>;

export class StateTally {
  count = 0;
  readonly states: Record<ShownState, number> = {
    CREATED: 0,
    ACTIVE: 0,
    RETRY: 0,
    HELD: 0,
    CANCEL_REQUESTED: 0,
    DELIVERED: 0,
    FAILED: 0,
    CANCELLED: 0,
  };

  add(message: StateFields): void {
    this.count += 1;
    this.states[shownState(message)] += 1;
  }

  addPiece({ count, states }: CountPiece): void {
    this.count += count;
    for (const state of SHOWN_STATES) this.states[state] += states[state];
  }

  piece(cursor: number | null, looked: ReadAmount): CountPiece {
    return { count: this.count, states: this.states, cursor, looked };
  }
}

/** The result of one piece of a count. `cursor`: where the next piece continues; null if everything is counted. */
export interface CountPiece {
  readonly count: number;
  /** How many messages of each state the piece found. */
  readonly states: StateCounts;
  readonly cursor: number | null;
  readonly looked: ReadAmount;
}

/** The result of a count, over all its pieces. */
export interface MessageCount {
  readonly count: number;
  /** Whether counting stopped at a limit, so that the real number may be larger. */
  readonly isCut: boolean;
}

/** The fields that decide which state is shown. */
export type StateFields = Pick<Message, 'state' | 'attempts' | 'cancelRequestedAt'>;

export function shownState(message: StateFields): ShownState {
  switch (message.state) {
    case 'pending':
      return message.attempts === 0 ? 'CREATED' : 'RETRY';
    case 'claimed':
      return message.cancelRequestedAt === undefined ? 'ACTIVE' : 'CANCEL_REQUESTED';
    case 'held':
      return 'HELD';
    case 'delivered':
      return 'DELIVERED';
    case 'failed':
      return 'FAILED';
    case 'cancelled':
      return 'CANCELLED';
  }
}

/** Applies a filter to many messages. The cost for one message does not depend on how many values the filter has. */
export class Matcher {
  readonly #tests: readonly ((message: Message) => boolean)[];
  readonly #text: string | null;

  constructor(filter: MessageFilter) {
    const { fromAt, toAt, endedToAt, text, isRetried } = filter;
    this.#text = text === undefined ? null : text.toLowerCase();
    this.#tests = [
      among(filter.messageIds, ({ id }) => id),
      among(filter.states, shownState),
      among(filter.urls, ({ url }) => url),
      // A filter may name a host with or without its port.
      amongAny(filter.hosts, ({ host }) => [host, host.slice(0, host.lastIndexOf(':'))]),
      among(filter.paths, ({ url }) => pathOf(url)),
      among(filter.queueNames, ({ queueName }) => queueName),
      among(filter.topicNames, ({ topicName }) => topicName),
      among(filter.scheduleIds, ({ scheduleId }) => scheduleId),
      among(filter.kinds, ({ kind }) => kind),
      among(filter.sourceMessageIds, ({ sourceMessageId }) => sourceMessageId),
      amongAny(filter.labels, ({ labels }) => labels),
      among(filter.flowKeys, ({ flow }) => flow?.key ?? null),
      among(filter.debounceKeys, ({ debounce }) => debounce && givenDebounceKey(debounce)),
      among(filter.callerIps, ({ callerIp }) => callerIp),
      // A message that was tried and got no response has the status 0.
      among(filter.statuses, ({ lastStatus, attempts }) => lastStatus ?? (attempts > 0 ? 0 : null)),
      among(filter.failures, ({ failure }) => failure),
      typeof isRetried !== 'boolean' ? null : ({ retriedAs }: Message) => (retriedAs !== undefined) === isRetried,
      fromAt === undefined ? null : ({ createdAt }: Message) => createdAt >= fromAt,
      toAt === undefined ? null : ({ createdAt }: Message) => createdAt <= toAt,
      endedToAt === undefined ? null : ({ endedAt }: Message) => endedAt !== null && endedAt <= endedToAt,
    ].filter((test) => test !== null);
  }

  /** Whether the filter searches for a text, so that bodies must be read. */
  get hasText(): boolean {
    return this.#text !== null;
  }

  matches(message: Message): boolean {
    return this.mayMatch(message) && (this.#text === null || hasText(message, this.#text));
  }

  /** Like `matches`, but ignores the text of the filter. For messages that were read without their bodies. */
  mayMatch(message: Message): boolean {
    return this.#tests.every((test) => test(message));
  }
}

function among<T>(wanted: readonly T[] | undefined, read: (message: Message) => T | null) {
  if (wanted === undefined) return null;
  const values = new Set<T | null>(wanted);
  return (message: Message) => {
    const value = read(message);
    return value !== null && values.has(value);
  };
}

function amongAny<T>(wanted: readonly T[] | undefined, read: (message: Message) => readonly T[]) {
  if (wanted === undefined) return null;
  const values = new Set(wanted);
  return (message: Message) => read(message).some((value) => values.has(value));
}

/** The path without its query. */
function pathOf(url: string): string {
  const target = parseTargetUrl(url);
  return 'problem' in target ? '' : target.path.split('?')[0]!;
}

function hasText(message: Message, text: string): boolean {
  const { id, url, queueName, topicName, scheduleId, labels } = message;
  const isNamed = [id, url, queueName, topicName, scheduleId, ...labels].some((each) =>
    each?.toLowerCase().includes(text),
  );
  // A search must not find a redacted value either.
  if (isNamed || message.redaction?.body) return isNamed;
  return isInBody(message.body, text);
}

/**
 * How many bytes of a body are decoded at a time. The text takes up to twice as much memory, and its lower-case copy
 * takes the same again.
 */
const SEARCHED_AT_ONCE = 256 * 1024;

function isInBody(body: Uint8Array, text: string): boolean {
  const decoder = new TextDecoder();
  let before = '';
  for (let at = 0; at < body.length; at += SEARCHED_AT_ONCE) {
    const isLast = at + SEARCHED_AT_ONCE >= body.length;
    const piece = before + decoder.decode(body.subarray(at, at + SEARCHED_AT_ONCE), { stream: !isLast });
    if (piece.toLowerCase().includes(text)) return true;
    // An occurrence may begin in one piece and end in the next one.
    before = piece.slice(-text.length);
  }
  return false;
}
