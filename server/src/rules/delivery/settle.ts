// Decides what follows when an attempt has ended: the next state of the message, the record of the attempt, the
// callbacks. The functions are pure, and no other code makes a Settlement.

import { lagMs } from '../accounts/activity.ts';
import type { NewId } from '../requests/id.ts';
import { formatDurationMs } from '../time/duration.ts';
import { backoffMs } from './backoff.ts';
import { planCallbackMessage } from './callback.ts';
import { callbackRoom } from './descent.ts';
import type { Attempt, Claim, HeaderList, Message, NewMessage, Outcome, Settlement } from './message.ts';
import { afterCutOff, type Interruptions, NO_INTERRUPTIONS } from './recovery.ts';
import { nextRetryDelayMs, retryAfterMs } from './retry-after.ts';
import { retryDelayMs } from './retry-delay.ts';

/** A destination returns this status to say that a retry is pointless. */
export const STATUS_NOT_RETRYABLE = 489;

export interface AttemptEnd {
  readonly outcome: Outcome;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface SettleContext {
  readonly headerPrefix: string;
  /** How long an ended message of this claim's tier is kept. */
  readonly retentionMs: number;
  readonly newId: NewId;
  /** After this many retries, the next one waits at least this long. No minimum if absent. */
  readonly retryFloor?: { readonly afterRetries: number; readonly ms: number };
}

/** The next step, and how often crashes have cut the message off. A known result resets that count. */
type Verdict = { readonly counts: Interruptions } & (
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly afterMs: number }
  /** The interrupted attempt is made again, which does not count as a retry. */
  | { readonly kind: 'repeat'; readonly afterMs: number; readonly startsAlone: boolean }
  | { readonly kind: 'held' }
  | { readonly kind: 'failed'; readonly failure: string }
);

export function decideSettlement(claim: Claim, end: AttemptEnd, context: SettleContext): Settlement {
  const { message } = claim;
  const verdict = atLeastFloor(verdictOf(message, end, context.headerPrefix), message, context.retryFloor);
  const next = nextState(message, verdict, end.endedAt, context.retentionMs);
  const attempt = attemptRecord(message, end, next.state === 'pending' ? Math.max(next.dueAt, end.endedAt) : null);
  return {
    lease: claim.lease,
    accountId: message.accountId,
    messageId: message.id,
    host: message.host,
    attempt,
    isPlain: claim.isPlain === true,
    row: claim.row ?? null,
    lagMs: lagMs(message, end.endedAt),
    retried: message.retried + (verdict.kind === 'retry' ? 1 : 0),
    ...verdict.counts,
    next,
    followUps: followUps(message, attempt, verdict.kind === 'failed', context.newId),
  };
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
    const ended = { lease, accountId, messageId, host, attempt, isPlain: claim.isPlain === true, row, lagMs: late };
    return { ...ended, retried, ...NO_INTERRUPTIONS, next, followUps: [] };
  }
}

/**
 * What remains of a settlement when the message was cancelled during the attempt: its record, and the callback that
 * reports each attempt. No retry follows, and a cancelled message has not failed.
 */
export function afterCancel(settlement: Settlement): Settlement {
  const { attempt, followUps } = settlement;
  return {
    ...settlement,
    attempt: { ...attempt, nextAt: null },
    followUps: followUps.filter(({ kind }) => kind === 'callback'),
  };
}

/**
 * Whether something waits for the end of this attempt: another attempt, a callback, or the next message of a queue or a
 * flow key.
 */
export function isAwaited({ message }: Claim, { next, followUps }: Settlement): boolean {
  const isInLine = message.queueName !== null || message.flow !== null;
  return isInLine || next.state === 'pending' || next.state === 'held' || followUps.length > 0;
}

function verdictOf(message: Message, end: AttemptEnd, headerPrefix: string): Verdict {
  const { outcome } = end;
  const counts = NO_INTERRUPTIONS;
  switch (outcome.kind) {
    case 'answered':
      if (outcome.status >= 200 && outcome.status <= 299) return { kind: 'delivered', counts };
      if (isMarkedNotRetryable(outcome.status, outcome.headers, headerPrefix)) {
        return { kind: 'failed', failure: `${describe(outcome)} and requested no retry`, counts };
      }
      return retryOrFail(message, outcome, retryAfterMs(outcome.headers, end.endedAt));
    case 'unreachable':
    case 'timedOut':
      return retryOrFail(message, outcome, null);
    case 'refusedByPolicy':
      return { kind: 'failed', failure: describe(outcome), counts };
    case 'interrupted': {
      const { counts, next } = afterCutOff(message, outcome.cause);
      return next.kind === 'held' ? { kind: 'held', counts } : { ...next, kind: 'repeat', counts };
    }
  }
}

function retryOrFail(message: Message, outcome: Outcome, hintMs: number | null): Verdict {
  const counts = NO_INTERRUPTIONS;
  if (message.retried >= message.retriesMax) return { kind: 'failed', failure: describe(outcome), counts };
  const ownMs =
    message.retryDelay === null ? backoffMs(message.retried) : retryDelayMs(message.retryDelay, message.retried);
  return { kind: 'retry', afterMs: nextRetryDelayMs({ backoffMs: ownMs, retryAfterMs: hintMs }), counts };
}

/**
 * The minimum wait applies whatever the message or the receiver requests: a hundred retries without a wait are a flood.
 */
function atLeastFloor(verdict: Verdict, { retried }: Message, floor: SettleContext['retryFloor']): Verdict {
  if (!floor || verdict.kind !== 'retry' || retried < floor.afterRetries) return verdict;
  return { ...verdict, afterMs: Math.max(verdict.afterMs, floor.ms) };
}

function isMarkedNotRetryable(status: number, headers: HeaderList, headerPrefix: string): boolean {
  if (status === STATUS_NOT_RETRYABLE) return true;
  const marker = `${headerPrefix}NonRetryable-Error`.toLowerCase();
  return headers.some(([name, value]) => name.toLowerCase() === marker && value.trim().toLowerCase() === 'true');
}

function nextState(message: Message, verdict: Verdict, endedAt: number, retentionMs: number): Settlement['next'] {
  switch (verdict.kind) {
    case 'delivered':
      return { state: 'delivered', expiresAt: endedAt + retentionMs };
    case 'retry':
      return { state: 'pending', dueAt: endedAt + verdict.afterMs, startsAlone: false };
    case 'repeat': {
      const { afterMs, startsAlone } = verdict;
      // The message stays ahead of messages that became due during its attempt.
      const dueAt = afterMs === 0 ? Math.min(message.dueAt, endedAt) : endedAt + afterMs;
      return { state: 'pending', dueAt, startsAlone };
    }
    case 'held':
      return { state: 'held', heldAt: endedAt };
    case 'failed':
      return { state: 'failed', expiresAt: endedAt + retentionMs, failure: verdict.failure };
  }
}

const EMPTY = new Uint8Array(0);

function attemptRecord(message: Message, end: AttemptEnd, nextAt: number | null): Attempt {
  const { outcome } = end;
  const answer = outcome.kind === 'answered' ? outcome : null;
  return {
    number: message.attempts + 1,
    startedAt: end.startedAt,
    endedAt: end.endedAt,
    outcome: outcome.kind,
    status: answer?.status ?? null,
    error: answer ? null : describe(outcome),
    nextAt,
    responseHeaders: answer?.headers ?? [],
    responseBody: answer?.body ?? EMPTY,
    isResponseBodyCut: answer?.isBodyCut ?? false,
  };
}

/**
 * Spec 6: the callback after each attempt whose result is known, the failure callback once, when all attempts are used
 * up.
 */
function followUps(message: Message, attempt: Attempt, hasFailed: boolean, newId: NewId): NewMessage[] {
  const made: NewMessage[] = [];
  if (message.callback && attempt.outcome !== 'interrupted') {
    const room = callbackRoom(message, 'callback');
    if (room > 0) made.push(planCallbackMessage(message, message.callback, attempt, false, room, newId));
  }
  if (message.failureCallback && hasFailed) {
    const room = callbackRoom(message, 'failureCallback');
    if (room > 0) made.push(planCallbackMessage(message, message.failureCallback, attempt, true, room, newId));
  }
  return made;
}

/** The outcome as text. */
export function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `the destination returned ${outcome.status}`;
    case 'timedOut':
      return `no complete response within ${formatDurationMs(outcome.timeoutMs)}`;
    case 'unreachable':
    case 'refusedByPolicy':
    case 'interrupted':
      return outcome.reason;
  }
}
