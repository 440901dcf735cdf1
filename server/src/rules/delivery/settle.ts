// Decides what follows when an attempt has ended: the next state of the message, the record of the attempt, the
// callbacks. And what follows when a message has expired while it waited. The functions are pure, and no other code
// makes a Settlement or an Expiration.

import { lagMs } from '../accounts/activity.ts';
import { type AckReport, CANCELLED_BEFORE_ACK, NO_ACK, STATUS_ACCEPTED } from '../acks/ack.ts';
import { hostResultOf } from '../alerts/alert-facts.ts';
import type { Trial } from '../hosts/parking.ts';
import type { NewId } from '../requests/id.ts';
import { formatDurationMs } from '../time/duration.ts';
import { backoffMs, jitterMs } from './backoff.ts';
import { planCallbackMessage } from './callback.ts';
import { callbackRoom } from './descent.ts';
import { EXPIRED, expiredText, isExpired } from './expiry.ts';
import type { Attempt, Claim, FailureCode, HeaderList, Message, NewMessage, Outcome, Settlement } from './message.ts';
import { afterCutOff, type Interruptions, NO_INTERRUPTIONS } from './recovery.ts';
import { nextRetryDelayMs, retryAfterMs } from './retry-after.ts';
import { retryDelayMs } from './retry-delay.ts';

/** With this status a destination requests that no retry follows. */
export const STATUS_NOT_RETRYABLE = 489;

export interface AttemptEnd {
  readonly outcome: Outcome;
  /** The receiver has reported success by an ack. */
  readonly isAcked?: true;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface SettleContext {
  readonly headerPrefix: string;
  /** How long an ended message of this claim's tier is kept. */
  readonly retentionMs: number;
  readonly newId: NewId;
  /** After this many retries, the next one waits at least this long. No minimum if absent. */
  /** Until when at the latest an ack can be extended, after the response. */
  readonly awaitAckMsMax?: number;
  /** The attempt ends because its ack has not come by then. */
  readonly ackDueBy?: number;
  /** Not null: the host of the message is parked or opens. If it fails again, that uses up no retry. */
  readonly trial?: Trial | null;
  readonly retryFloor?: { readonly afterRetries: number; readonly ms: number };
}

/** The next step, and how often crashes have interrupted the message since its last known result. */
type Verdict = { readonly counts: Interruptions } & (
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly afterMs: number }
  | { readonly kind: 'awaiting'; readonly forMs: number }
  /** The host is still down. The message waits again, behind others, and the attempt does not count as a retry. */
  | { readonly kind: 'parked'; readonly afterMs: number }
  /** The interrupted attempt is made again, which does not count as a retry. */
  | { readonly kind: 'repeat'; readonly afterMs: number; readonly startsAlone: boolean }
  | { readonly kind: 'held' }
  | { readonly kind: 'failed'; readonly failure: string; readonly code?: FailureCode }
);

export function decideSettlement(claim: Claim, end: AttemptEnd, context: SettleContext): Settlement {
  const { message } = claim;
  const judged = verdictOfTrial(message, end, context.trial ?? null) ?? verdictOf(message, end, context.headerPrefix);
  const decided = atLeastFloor(judged, message, context.retryFloor);
  const verdict = message.mustStartBefore === null ? decided : beforeExpiry(decided, message, end);
  const next = nextState(message, verdict, end.endedAt, context);
  const attempt = attemptRecord(message, end, next.state === 'pending' ? Math.max(next.dueAt, end.endedAt) : null);
  return {
    lease: claim.lease,
    accountId: message.accountId,
    messageId: message.id,
    host: message.host,
    attempt,
    isPlain: claim.isPlain === true && message.awaitAckMs === null,
    row: claim.row ?? null,
    lagMs: lagMs(message, end.endedAt),
    ...(message.awaitAckMs !== null && { ack: { dueBy: context.ackDueBy ?? null } }),
    retried: message.retried + (verdict.kind === 'retry' ? 1 : 0),
    ...verdict.counts,
    next,
    // A host that is down for a day would send its caller more than a thousand reports of probes.
    followUps:
      verdict.kind === 'parked' ? [] : followUps(message, reported(attempt, next), next, context.newId, ackReport(end)),
  };
}

/** The callback of an attempt that awaits its ack is sent only if the message is cancelled: it then says so. */
function reported(attempt: Attempt, next: Settlement['next']): Attempt {
  return next.state === 'awaiting' ? unacknowledged(attempt) : attempt;
}

function unacknowledged(attempt: Attempt): Attempt {
  return { ...attempt, outcome: 'noAck', error: CANCELLED_BEFORE_ACK };
}

/** What a callback says about the ack. Null: there was none. */
function ackReport({ outcome, isAcked }: AttemptEnd): AckReport | null {
  if (isAcked) return { ok: true };
  if (outcome.kind === 'rejected') return { ok: false };
  return outcome.kind === 'noAck' ? { ok: false, code: NO_ACK } : null;
}

/**
 * Always returns a settlement: without one, the slot would stay taken and the message would never end. The second try
 * leaves out the callbacks, which can be too large to make. If that fails too, the message becomes a dead letter.
 */
export function decideSafely(
  claim: Claim,
  end: AttemptEnd,
  context: SettleContext,
  onFault: (error: unknown) => void,
): Settlement {
  const { message } = claim;
  try {
    return decideSettlement(claim, end, context);
  } catch (error) {
    onFault(error);
  }
  try {
    return decideSettlement({ ...claim, message: { ...message, callback: null, failureCallback: null } }, end, context);
  } catch (error) {
    onFault(error);
    const failure = `internal error: the server could not process the result of attempt ${message.attempts + 1}`;
    const next = { state: 'failed', expiresAt: end.endedAt + context.retentionMs, failure } as const;
    const { lease, row = null } = claim;
    const { accountId, id: messageId, host, retried } = message;
    // The headers may be the reason why the decision failed, and the code that stores them could fail in the same way.
    const attempt = { ...attemptRecord(message, end, null), responseHeaders: [] };
    const late = lagMs(message, end.endedAt);
    const isPlain = claim.isPlain === true && message.awaitAckMs === null;
    const ended = { lease, accountId, messageId, host, attempt, isPlain, row, lagMs: late };
    const ack = message.awaitAckMs === null ? {} : { ack: { dueBy: context.ackDueBy ?? null } };
    return { ...ended, ...ack, retried, ...NO_INTERRUPTIONS, next, followUps: [] };
  }
}

/**
 * The settlement without what a cancelled message does not need: no retry follows, and no failure callback, because the
 * message has not failed. The record of the attempt and its callback stay.
 */
export function afterCancel(settlement: Settlement): Settlement {
  const { followUps, next } = settlement;
  const attempt = reported(settlement.attempt, next);
  return {
    ...settlement,
    attempt: { ...attempt, nextAt: null },
    followUps: followUps.filter(({ kind }) => kind === 'callback'),
  };
}

/**
 * Whether something waits for this settlement to be written: another attempt, a callback, or the next message of a
 * queue or a flow key.
 */
export function isAwaited({ message }: Claim, { next, followUps }: Settlement): boolean {
  const isInLine = message.queueName !== null || message.flow !== null;
  return isInLine || isOpenAfter(next) || followUps.length > 0;
}

/** Whether the message has not ended with the attempt. */
export function isOpenAfter({ state }: Settlement['next']): boolean {
  return state === 'pending' || state === 'held' || state === 'awaiting';
}

/** Null: the attempt is no trial, or its host is not down. */
function verdictOfTrial(message: Message, { outcome }: AttemptEnd, trial: Trial | null): Verdict | null {
  if (trial === null || !isHostDown(outcome)) return null;
  // A probe is followed by that of the message which then waits longest. So a message that always fails keeps no host
  // parked.
  return { kind: 'parked', afterMs: trial === 'probe' ? 0 : ownBackoffMs(message), counts: NO_INTERRUPTIONS };
}

function verdictOf(message: Message, end: AttemptEnd, headerPrefix: string): Verdict {
  const { outcome } = end;
  const counts = NO_INTERRUPTIONS;
  switch (outcome.kind) {
    case 'answered':
      if (awaitsAck(message, end)) return { kind: 'awaiting', forMs: message.awaitAckMs, counts };
      if (outcome.status >= 200 && outcome.status <= 299) return { kind: 'delivered', counts };
      if (isMarkedNotRetryable(outcome.status, outcome.headers, headerPrefix)) {
        return { kind: 'failed', failure: `${outcomeText(outcome)} and requested no retry`, counts };
      }
      return retryOrFail(message, outcome, retryAfterMs(outcome.headers, end.endedAt));
    case 'unreachable':
    case 'timedOut':
      return retryOrFail(message, outcome, null);
    case 'noAck':
      return withoutAck(retryOrFail(message, outcome, null));
    case 'rejected':
      return afterRejection(message, outcome);
    case 'refusedByPolicy':
      return { kind: 'failed', failure: outcomeText(outcome), counts };
    case 'interrupted': {
      const { counts, next } = afterCutOff(message, outcome.cause);
      return next.kind === 'held' ? { kind: 'held', counts } : { ...next, kind: 'repeat', counts };
    }
  }
}

function awaitsAck(message: Message, { outcome, isAcked }: AttemptEnd): message is Message & { awaitAckMs: number } {
  const isAccepted = outcome.kind === 'answered' && outcome.status === STATUS_ACCEPTED;
  return isAccepted && message.awaitAckMs !== null && !isAcked;
}

function afterRejection(message: Message, outcome: Outcome & { kind: 'rejected' }): Verdict {
  if (outcome.mayRetry) return retryOrFail(message, outcome, null);
  return { kind: 'failed', failure: `${outcome.reason}; it requested no retry`, counts: NO_INTERRUPTIONS };
}

function withoutAck(verdict: Verdict): Verdict {
  return verdict.kind === 'failed' ? { ...verdict, code: NO_ACK } : verdict;
}

function retryOrFail(message: Message, outcome: Outcome, hintMs: number | null): Verdict {
  const counts = NO_INTERRUPTIONS;
  if (message.retried >= message.retriesMax) return { kind: 'failed', failure: outcomeText(outcome), counts };
  const waitMs = nextRetryDelayMs({ backoffMs: ownBackoffMs(message), retryAfterMs: hintMs });
  return { kind: 'retry', afterMs: waitMs + jitterMs(message, waitMs), counts };
}

function ownBackoffMs({ retryDelay, retried }: Message): number {
  return retryDelay === null ? backoffMs(retried) : retryDelayMs(retryDelay, retried);
}

/** Whether the attempt says that its host is down. */
function isHostDown(outcome: Outcome): boolean {
  const status = outcome.kind === 'answered' ? outcome.status : null;
  return hostResultOf({ outcome: outcome.kind, status }) === 'fails';
}

/**
 * Applies `retryFloor`, whatever the message or the receiver requests: a hundred retries without a wait are a flood.
 */
function atLeastFloor(verdict: Verdict, { retried }: Message, floor: SettleContext['retryFloor']): Verdict {
  if (!floor || verdict.kind !== 'retry' || retried < floor.afterRetries) return verdict;
  return { ...verdict, afterMs: Math.max(verdict.afterMs, floor.ms) };
}

/** A message that would expire before its next attempt fails now. One that is held expires later, like one that waits. */
function beforeExpiry(verdict: Verdict, message: Message, { endedAt, outcome }: AttemptEnd): Verdict {
  if (verdict.kind === 'delivered' || verdict.kind === 'failed' || verdict.kind === 'awaiting') return verdict;
  const nextAt = verdict.kind === 'held' ? endedAt : endedAt + verdict.afterMs;
  if (!isExpired(message, nextAt)) return verdict;
  const failure = expiredText(message.attempts + 1, outcomeText(outcome));
  return { kind: 'failed', failure, code: EXPIRED, counts: verdict.counts };
}

function isMarkedNotRetryable(status: number, headers: HeaderList, headerPrefix: string): boolean {
  if (status === STATUS_NOT_RETRYABLE) return true;
  const marker = `${headerPrefix}NonRetryable-Error`.toLowerCase();
  return headers.some(([name, value]) => name.toLowerCase() === marker && value.trim().toLowerCase() === 'true');
}

function nextState(
  message: Message,
  verdict: Verdict,
  endedAt: number,
  { retentionMs, awaitAckMsMax = 0 }: SettleContext,
): Settlement['next'] {
  switch (verdict.kind) {
    case 'awaiting': {
      const { forMs } = verdict;
      return { state: 'awaiting', deadlineAt: endedAt + forMs, latestAt: endedAt + Math.max(forMs, awaitAckMsMax) };
    }
    case 'delivered':
      return { state: 'delivered', expiresAt: endedAt + retentionMs };
    case 'retry':
    case 'parked':
      return { state: 'pending', dueAt: endedAt + verdict.afterMs, startsAlone: false };
    case 'repeat': {
      const { afterMs, startsAlone } = verdict;
      // The message stays ahead of messages that became due during its attempt.
      const dueAt = afterMs === 0 ? Math.min(message.dueAt, endedAt) : endedAt + afterMs;
      return { state: 'pending', dueAt, startsAlone };
    }
    case 'held':
      return { state: 'held', heldAt: endedAt };
    case 'failed': {
      const { failure, code } = verdict;
      return { state: 'failed', expiresAt: endedAt + retentionMs, failure, ...(code !== undefined && { code }) };
    }
  }
}

const EMPTY = new Uint8Array(0);

function attemptRecord(message: Message, end: AttemptEnd, nextAt: number | null): Attempt {
  const { outcome } = end;
  const answer = 'status' in outcome ? outcome : null;
  return {
    number: message.attempts + 1,
    startedAt: end.startedAt,
    endedAt: end.endedAt,
    outcome: outcome.kind,
    status: answer?.status ?? null,
    error: outcome.kind === 'answered' ? null : outcomeText(outcome),
    nextAt,
    responseHeaders: answer?.headers ?? [],
    responseBody: answer?.body ?? EMPTY,
    isResponseBodyCut: answer?.isBodyCut ?? false,
  };
}

/**
 * The callbacks that the end of the attempt causes (spec 6): a callback after each attempt whose result is known, and a
 * failure callback once, when no attempt follows.
 */
function followUps(
  message: Message,
  attempt: Attempt,
  next: Settlement['next'],
  newId: NewId,
  ack: AckReport | null,
): NewMessage[] {
  const made: NewMessage[] = [];
  if (message.callback && attempt.outcome !== 'interrupted') {
    const room = callbackRoom(message, 'callback');
    if (room > 0) made.push(planCallbackMessage(message, message.callback, { ...attempt, ack }, false, room, newId));
  }
  if (message.failureCallback && next.state === 'failed') {
    const { code = null } = next;
    const room = callbackRoom(message, 'failureCallback');
    const report = { ...attempt, ack };
    if (room > 0) made.push(planCallbackMessage(message, message.failureCallback, report, true, room, newId, code));
  }
  return made;
}

/** What the outcome was, as text for people. */
export function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `the destination returned ${outcome.status}`;
    case 'timedOut':
      return `no complete response within ${formatDurationMs(outcome.timeoutMs)}`;
    case 'unreachable':
    case 'refusedByPolicy':
    case 'interrupted':
    case 'rejected':
    case 'noAck':
      return outcome.reason;
  }
}

/** A message that has expired while it waited, with what its failure callback reports. */
export interface ExpiredMessage {
  /** Without its body if nothing reports the end. */
  readonly message: Message;
  /** The last attempt. Null if there was none, or if nothing reports the end. */
  readonly lastAttempt: Attempt | null;
}

/** What the store must write when a message has expired. Nothing is written if the message is claimed or has ended. */
export interface Expiration {
  readonly accountId: string;
  readonly messageId: string;
  /** Until when the dead letter is kept. */
  readonly expiresAt: number;
  readonly failure: string;
  readonly followUps: readonly NewMessage[];
}

export interface ExpirationContext {
  readonly now: number;
  readonly retentionMs: number;
  readonly newId: NewId;
}

/** The end of a message that waits. Like any failed message it sends its failure callback, once. */
export function decideExpiration(
  { message, lastAttempt }: ExpiredMessage,
  { now, retentionMs, newId }: ExpirationContext,
): Expiration {
  const failure = expiredText(message.attempts);
  const { accountId, id: messageId, failureCallback } = message;
  const room = failureCallback === null ? 0 : callbackRoom(message, 'failureCallback');
  const report = { ...(lastAttempt ?? NO_ATTEMPT), ...(lastAttempt === null && { error: failure }), endedAt: now };
  const followUps =
    failureCallback === null || room === 0
      ? []
      : [planCallbackMessage(message, failureCallback, report, true, room, newId, EXPIRED)];
  return { accountId, messageId, expiresAt: now + retentionMs, failure, followUps };
}

const NO_ATTEMPT = { status: null, error: null, responseHeaders: [], responseBody: EMPTY };
