// The events of a message, derived from what the store keeps: the message, its attempts and its journal. The journal is
// needed only for what neither the message nor its attempts show.

import type { MessageFilter } from '../reads/message-filter.ts';
import type { ChangedName } from './change.ts';
import type { Attempt, Message } from './message.ts';

export const EVENT_STATES = [
  'CREATED',
  'ACTIVE',
  'AWAITING_ACK',
  'PROGRESS',
  'UPDATED',
  'RETRY',
  'ERROR',
  'HELD',
  'RELEASED',
  'PARKED',
  'RESUMED',
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
   * The attempt of this event. Null for acceptance, change, release, cancellation and expiry, and while the attempt has
   * not ended.
   */
  readonly attempt: Attempt | null;
  /** The number of the attempt, if it has not ended. */
  readonly attemptNumber?: number;
  /** For PROGRESS: from 0 to 1, in steps of a hundredth, if the receiver has given one. */
  readonly progress?: number;
  /** For UPDATED: what was changed, and after how many attempts. */
  readonly changed?: { readonly names: readonly ChangedName[]; readonly attempts: number };
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
 * Whether to read the whole journal of the account and leave out the events of other messages. False for a few
 * messages: then it costs less to read and sort their own rows again for each page.
 */
export function readsAccountJournal(messageIds: readonly string[] | undefined): boolean {
  return messageIds === undefined || messageIds.length > READ_BY_MESSAGE;
}

/** What happened to a message in one transaction. */
export type JournalStep =
  /** The message was accepted. `isStarted`: its first attempt started at the same time. */
  | { readonly kind: 'accepted'; readonly isStarted: boolean }
  | { readonly kind: 'started'; readonly number: number; readonly at: number }
  /** An attempt ended. */
  | { readonly kind: 'attempt'; readonly attempt: Attempt }
  | { readonly kind: 'released'; readonly at: number }
  /** The message was changed, after so many attempts. */
  | { readonly kind: 'updated'; readonly names: readonly ChangedName[]; readonly attempts: number; readonly at: number }
  /** An attempt was answered with 202. */
  | { readonly kind: 'awaitingAck'; readonly at: number }
  /** Its receiver has reported progress. */
  | { readonly kind: 'progress'; readonly progress: number | null; readonly at: number }
  /** Cancellation was requested while an attempt was claimed. */
  | { readonly kind: 'cancelRequested'; readonly at: number }
  | { readonly kind: 'cancelled' }
  /** The message expired while it waited. */
  | { readonly kind: 'expired' }
  /** The host of the message was parked, or opens again. One message has the event for all that wait for the host. */
  | { readonly kind: 'parked' | 'resumed'; readonly at: number };

/** The most events of one step. */
export const STEP_EVENTS_MAX = 2;

/** The events of one step. `isLive`: for a live stream, which gets each step once and never reads it again. */
export function stepEvents(whole: Message, step: JournalStep, isLive = false): MessageEvent[] {
  const isBodyCut = eventBodyBytes(whole) !== null && whole.body.length > EVENT_BODY_BYTES_MAX;
  const message = isBodyCut ? { ...whole, body: whole.body.slice(0, EVENT_BODY_BYTES_MAX) } : whole;
  const events = eventsOf(message, step, isLive);
  return isBodyCut ? events.map((event) => ({ ...event, isBodyCut })) : events;
}

function eventsOf(message: Message, step: JournalStep, isLive: boolean): MessageEvent[] {
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
    case 'parked':
    case 'resumed':
      return [{ at: step.at, state: HOST_STATES[step.kind], message, attempt: null }];
    case 'awaitingAck':
      return [{ at: step.at, state: 'AWAITING_ACK', message, attempt: null }];
    case 'progress':
      return [progressed(message, step)];
    case 'updated':
      return [updated(message, step)];
    case 'cancelRequested':
      return [cancelRequested(message, step.at)];
    case 'cancelled': {
      const at = message.endedAt ?? message.createdAt;
      const cancelled: MessageEvent = { at, state: 'CANCELLED', message, attempt: null };
      // If the cancellation had to wait for an attempt, the journal has an earlier step for the request.
      return message.cancelRequestedAt === undefined ? [cancelRequested(message, at), cancelled] : [cancelled];
    }
    case 'expired':
      return [{ at: message.endedAt ?? message.createdAt, state: 'FAILED', message, attempt: null }];
  }
}

const HOST_STATES = { parked: 'PARKED', resumed: 'RESUMED' } as const;

/**
 * Whether the start of an attempt is shown. A claim may be released before its attempt has begun. The attempt then
 * begins with a later claim, which adds no step to the journal. Until that claim, a list leaves out the start. A live
 * stream shows it at once, with the first claim, unless the message has already ended without the attempt.
 */
function isStartShown({ state, attempts, endedAt }: Message, number: number, isLive: boolean): boolean {
  return number <= attempts || state === 'claimed' || (isLive && endedAt === null);
}

function progressed(message: Message, { at, progress }: JournalStep & { kind: 'progress' }): MessageEvent {
  return { at, state: 'PROGRESS', message, attempt: null, ...(progress !== null && { progress }) };
}

function started(message: Message, attemptNumber: number, at: number): MessageEvent {
  return { at, state: 'ACTIVE', message, attempt: null, attemptNumber };
}

function released(message: Message, at: number): MessageEvent {
  return { at, state: 'RELEASED', message, attempt: null };
}

/** Takes from the list those changes that were made before an attempt. */
function takeBefore(updates: MessageEvent[], attemptNumber: number): MessageEvent[] {
  const after = updates.findIndex(({ changed }) => changed!.attempts >= attemptNumber);
  return updates.splice(0, after === -1 ? updates.length : after);
}

/** Takes from the list the events until the attempt began. */
function takeUpTo(events: MessageEvent[], startedAt: number): MessageEvent[] {
  const after = events.findIndex(({ at }) => at > startedAt);
  return events.splice(0, after === -1 ? events.length : after);
}

function updated(message: Message, { names, attempts, at }: JournalStep & { kind: 'updated' }): MessageEvent {
  return { at, state: 'UPDATED', message, attempt: null, changed: { names, attempts } };
}

function cancelRequested(message: Message, at: number): MessageEvent {
  return { at, state: 'CANCEL_REQUESTED', message, attempt: null };
}

/**
 * An attempt that was in flight when its message was cancelled has no consequence: only its result is shown. A message
 * whose attempt we cut off fails only if it has expired by then.
 */
function endsOf(message: Message, attempt: Attempt): EventState[] {
  const ends = statesAfterAttempt(attempt);
  if (wasUnderWay(message, attempt)) return ends.slice(0, 1);
  return attempt.outcome === 'interrupted' && hasFailedWith(message, attempt) ? ['ERROR', 'FAILED'] : ends;
}

/** Whether the message failed with this attempt, and not later while it waited. */
function hasFailedWith({ state, endedAt, attempts }: Message, attempt: Attempt): boolean {
  return state === 'failed' && attempt.number === attempts && attempt.nextAt === null && attempt.endedAt === endedAt;
}

/** Whether cancellation was requested during the attempt. No retry and no other end of the message follows then. */
function wasUnderWay(message: Message, attempt: Attempt): boolean {
  const { state, cancelRequestedAt, attempts } = message;
  return (
    state === 'cancelled' && cancelRequestedAt !== undefined && attempt.nextAt === null && attempt.number === attempts
  );
}

/** The states of the events that the end of an attempt causes, in order. */
export function statesAfterAttempt(attempt: Pick<Attempt, 'outcome' | 'status' | 'nextAt'>): EventState[] {
  const isSuccess =
    attempt.outcome === 'answered' && attempt.status !== null && attempt.status >= 200 && attempt.status <= 299;
  if (isSuccess) return ['DELIVERED'];
  if (attempt.nextAt !== null) return ['ERROR', 'RETRY'];
  // A message never fails because we cut off its attempt: without a next attempt it is held for a person.
  return ['ERROR', attempt.outcome === 'interrupted' ? 'HELD' : 'FAILED'];
}

/** The events that only the journal shows: the message and its attempts do not. */
export const JOURNAL_ONLY: readonly EventState[] = [
  'RELEASED',
  'UPDATED',
  'PARKED',
  'RESUMED',
  'AWAITING_ACK',
  'PROGRESS',
];

/** Whether the journal of a message must be read: only the journal shows a release, a change and what took its place. */
export function needsJournal(
  { changes, debounce, awaitAckMs }: Pick<Message, 'changes' | 'debounce' | 'awaitAckMs'>,
  attempts: readonly Attempt[],
): boolean {
  const hasUpdates = changes !== undefined || (debounce !== null && debounce.count > 1);
  return hasUpdates || awaitAckMs !== null || attempts.some(isHolding);
}

/**
 * All events of one message so far, oldest first. `journal`: its events with a state of JOURNAL_ONLY. May be left out
 * if `needsJournal` returns false.
 */
export function messageEvents(
  message: Message,
  attempts: readonly Attempt[],
  journal: readonly MessageEvent[] = [],
): MessageEvent[] {
  const events = stepEvents(message, { kind: 'accepted', isStarted: false });
  const releases = journal.filter(({ state }) => state === 'RELEASED');
  const updates = journal.filter(({ state }) => state === 'UPDATED').map((event) => ({ ...event, message }));
  const ofHost = journal.filter(({ state }) => state === 'PARKED' || state === 'RESUMED');
  const ofAcks = journal.filter(({ state }) => state === 'AWAITING_ACK' || state === 'PROGRESS');
  const takeAcks = (endedAt: number) => takeUpTo(ofAcks, endedAt).map((event) => ({ ...event, message }));
  const { cancelRequestedAt } = message;
  const requests =
    cancelRequestedAt === undefined ? [] : stepEvents(message, { kind: 'cancelRequested', at: cancelRequestedAt });
  for (const attempt of attempts) {
    events.push(...takeBefore(updates, attempt.number), ...takeUpTo(ofHost, attempt.startedAt));
    events.push({ at: attempt.startedAt, state: 'ACTIVE', message, attempt }, ...takeAcks(attempt.endedAt));
    if (wasUnderWay(message, attempt)) events.push(...requests.splice(0));
    events.push(...stepEvents(message, { kind: 'attempt', attempt }));
    if (isHolding(attempt)) events.push(...releases.splice(0, 1).map(({ at }) => released(message, at)));
  }
  events.push(
    ...releases.map(({ at }) => released(message, at)),
    ...updates,
    ...ofHost.map((event) => ({ ...event, message })),
  );
  if (message.state === 'claimed')
    events.push(
      started(message, message.attempts + 1, message.claimedAt ?? message.createdAt),
      ...takeAcks(Number.POSITIVE_INFINITY),
    );
  events.push(...requests);
  events.push(...expiryEvents(message, attempts));
  if (message.state === 'cancelled') events.push(...stepEvents(message, { kind: 'cancelled' }));
  return events;
}

function expiryEvents(message: Message, attempts: readonly Attempt[]): MessageEvent[] {
  const hasWaited = message.failureCode === 'expired' && !attempts.some((attempt) => hasFailedWith(message, attempt));
  return hasWaited ? stepEvents(message, { kind: 'expired' }) : [];
}

function isHolding(attempt: Attempt): boolean {
  return statesAfterAttempt(attempt).includes('HELD');
}
