// The events of a message, derived from what the store keeps: the message, its attempts and, for the rest, its journal.
// No fact is stored a second time for its event.

import type { MessageFilter } from '../reads/message-filter.ts';
import type { Attempt, Message } from './message.ts';

export const EVENT_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'HELD',
  'RELEASED',
  'DELIVERED',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELLED',
] as const;
export type EventState = (typeof EVENT_STATES)[number];

export interface MessageEvent {
  readonly at: number;
  readonly state: EventState;
  readonly message: Message;
  /**
   * The attempt of this event. Null for acceptance, release and cancellation, and for an attempt that has not ended.
   */
  readonly attempt: Attempt | null;
  /** The number of an attempt that has not ended. */
  readonly attemptNumber?: number;
  /**
   * The position of the event in the journal, if it was read from there. A live reader continues after this position.
   */
  readonly position?: number;
  /** Whether the event has only the first part of the body. A read of the message itself shows all of it. */
  readonly isBodyCut?: boolean;
}

/** How many bytes of the message body an event contains at most. */
export const EVENT_BODY_BYTES_MAX = 256 * 1024;

/**
 * How many bytes of a body are read for its events; null: all. One byte more than is shown tells whether the body is
 * longer.
 */
export function eventBodyBytes({ redaction }: Pick<Message, 'redaction'>): number | null {
  // A redacted body is shown as its hash, which needs the whole body.
  return redaction?.body ? null : EVENT_BODY_BYTES_MAX + 1;
}

export interface EventFilter {
  readonly messages: MessageFilter;
  readonly states?: readonly EventState[];
  readonly fromAt?: number;
  readonly toAt?: number;
}

/** Whether the filter includes this event of a message that it selects. */
export function isEventWanted({ states, fromAt, toAt }: EventFilter, { state, at }: MessageEvent): boolean {
  return (
    (states === undefined || states.includes(state)) &&
    (fromAt === undefined || at >= fromAt) &&
    (toAt === undefined || at <= toAt)
  );
}

/** Up to this many messages, events are read message by message instead of from the journal of the account. */
const READ_BY_MESSAGE = 20;

/**
 * Whether to read through the journal of the account and leave out the events of other messages. For a few messages it
 * costs less to read and sort their own rows again for each page. For many messages, every page would read too many
 * rows.
 */
export function walksJournal(messageIds: readonly string[] | undefined): boolean {
  return messageIds === undefined || messageIds.length > READ_BY_MESSAGE;
}

/** What happened to a message in one transaction. */
export type Step =
  /** The message was accepted. `isStarted`: its first attempt started at the same time. */
  | { readonly kind: 'accepted'; readonly isStarted: boolean }
  | { readonly kind: 'started'; readonly number: number; readonly at: number }
  /** An attempt ended. */
  | { readonly kind: 'attempt'; readonly attempt: Attempt }
  | { readonly kind: 'released'; readonly at: number }
  /** Cancellation was requested while an attempt was claimed. */
  | { readonly kind: 'cancelRequested'; readonly at: number }
  | { readonly kind: 'cancelled' };

/** The most events of one step. */
export const STEP_EVENTS_MAX = 2;

/** The events of one step. `isLive`: for a reader that gets each step once and never reads it again. */
export function stepEvents(whole: Message, step: Step, isLive = false): MessageEvent[] {
  const isBodyCut = eventBodyBytes(whole) !== null && whole.body.length > EVENT_BODY_BYTES_MAX;
  const message = isBodyCut ? { ...whole, body: whole.body.slice(0, EVENT_BODY_BYTES_MAX) } : whole;
  const events = eventsOf(message, step, isLive);
  return isBodyCut ? events.map((event) => ({ ...event, isBodyCut })) : events;
}

function eventsOf(message: Message, step: Step, isLive: boolean): MessageEvent[] {
  switch (step.kind) {
    case 'accepted': {
      const created: MessageEvent = { at: message.createdAt, state: 'CREATED', message, attempt: null };
      const isStarted = step.isStarted && isStartShown(message, 1, isLive);
      return isStarted ? [created, started(message, 1, message.createdAt)] : [created];
    }
    case 'started':
      return isStartShown(message, step.number, isLive) ? [started(message, step.number, step.at)] : [];
    case 'attempt':
      return endsOf(message, step.attempt).map((state) => ({
        at: step.attempt.endedAt,
        state,
        message,
        attempt: step.attempt,
      }));
    case 'released':
      return [released(message, step.at)];
    case 'cancelRequested':
      return [cancelRequested(message, step.at)];
    case 'cancelled': {
      const at = message.endedAt ?? message.createdAt;
      const cancelled: MessageEvent = { at, state: 'CANCELLED', message, attempt: null };
      // If the cancellation had to wait for an attempt, the request was a separate step before.
      return message.cancelRequestedAt === undefined ? [cancelRequested(message, at), cancelled] : [cancelled];
    }
  }
}

/**
 * Whether the start of an attempt is shown. A claim may be released before its attempt has begun. The attempt then
 * begins with a later claim, which adds no step to the journal. Until then, a list leaves out the start. A live reader
 * gets the start once, with the first claim, unless the message has already ended without that attempt.
 */
function isStartShown({ state, attempts, endedAt }: Message, number: number, isLive: boolean): boolean {
  return number <= attempts || state === 'claimed' || (isLive && endedAt === null);
}

function started(message: Message, attemptNumber: number, at: number): MessageEvent {
  return { at, state: 'ACTIVE', message, attempt: null, attemptNumber };
}

function released(message: Message, at: number): MessageEvent {
  return { at, state: 'RELEASED', message, attempt: null };
}

function cancelRequested(message: Message, at: number): MessageEvent {
  return { at, state: 'CANCEL_REQUESTED', message, attempt: null };
}

/** An attempt that was in flight when its message was cancelled has no consequence: only its result is shown. */
function endsOf(message: Message, attempt: Attempt): EventState[] {
  const ends = attemptEnds(attempt);
  return wasUnderWay(message, attempt) ? ends.slice(0, 1) : ends;
}

/** Whether cancellation was requested during the attempt. Nothing follows such an attempt. */
function wasUnderWay(message: Message, attempt: Attempt): boolean {
  const { state, cancelRequestedAt, attempts } = message;
  return (
    state === 'cancelled' && cancelRequestedAt !== undefined && attempt.nextAt === null && attempt.number === attempts
  );
}

/** The states that follow from the end of an attempt. */
export function attemptEnds(attempt: Pick<Attempt, 'outcome' | 'status' | 'nextAt'>): EventState[] {
  const isSuccess =
    attempt.outcome === 'answered' && attempt.status !== null && attempt.status >= 200 && attempt.status <= 299;
  if (isSuccess) return ['DELIVERED'];
  if (attempt.nextAt !== null) return ['ERROR', 'RETRY'];
  // A message never fails because we cut off its attempt: without a next attempt it is held for a person.
  return ['ERROR', attempt.outcome === 'interrupted' ? 'HELD' : 'FAILED'];
}

/** The events that only the journal shows: the message and its attempts do not. */
export const JOURNAL_ONLY: readonly EventState[] = ['RELEASED'];

/** Whether the journal of a message must be read: the message was held, and only the journal shows a release. */
export function needsJournal(attempts: readonly Attempt[]): boolean {
  return attempts.some(isHolding);
}

/**
 * All events of one message so far, oldest first. `journal`: the events of its journal, needed only if `needsJournal`
 * returns true.
 */
export function messageEvents(
  message: Message,
  attempts: readonly Attempt[],
  journal: readonly MessageEvent[] = [],
): MessageEvent[] {
  const events = stepEvents(message, { kind: 'accepted', isStarted: false });
  const releases = [...journal];
  const { cancelRequestedAt } = message;
  const requests =
    cancelRequestedAt === undefined ? [] : stepEvents(message, { kind: 'cancelRequested', at: cancelRequestedAt });
  for (const attempt of attempts) {
    events.push({ at: attempt.startedAt, state: 'ACTIVE', message, attempt });
    if (wasUnderWay(message, attempt)) events.push(...requests.splice(0));
    events.push(...stepEvents(message, { kind: 'attempt', attempt }));
    if (isHolding(attempt)) events.push(...releases.splice(0, 1).map(({ at }) => released(message, at)));
  }
  events.push(...releases.map(({ at }) => released(message, at)));
  if (message.state === 'claimed')
    events.push(started(message, message.attempts + 1, message.claimedAt ?? message.createdAt));
  events.push(...requests);
  if (message.state === 'cancelled') events.push(...stepEvents(message, { kind: 'cancelled' }));
  return events;
}

function isHolding(attempt: Attempt): boolean {
  return attemptEnds(attempt).includes('HELD');
}
