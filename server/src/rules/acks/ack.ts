// Acks: a receiver that answers with 202 takes a message on, and says later how its work ended. Until then the attempt is
// open: it holds its place in its queue and under its flow key, but no connection and no slot.

import type { Accepted, Attempt, Message, Outcome } from '../delivery/message.ts';
import { eachMax } from '../limits/budgets.ts';
import { problem } from '../requests/problem.ts';
import { parseAnyDurationMs } from '../time/duration.ts';

export const STATUS_ACCEPTED = 202;

/** Why a message failed whose last attempt got no ack. */
export const NO_ACK = 'no_ack';

export const CANCELLED_BEFORE_ACK = 'the message was cancelled before an ack came';

/** The shortest time to wait for an ack, and the shortest extension. */
export const ACK_MS_MIN = 1000;

/** Of one attempt, an event is written for at most one word of progress in this time. */
export const PROGRESS_EVENT_EVERY_MS = 10_000;

/** What a callback says about the ack of an attempt. */
export type AckReport = { readonly ok: true } | { readonly ok: false; readonly code?: typeof NO_ACK };

/** What a receiver has said so far about an attempt that awaits its ack. */
export interface AckProgress {
  /** From 0 to 1. */
  readonly progress: number | null;
  readonly note: string | null;
}

/** An attempt that awaits its ack. */
export interface AwaitedAck extends AckProgress {
  readonly attempt: number;
  readonly deadlineAt: number;
}

/** What is kept of an attempt whose ack has not come. */
export interface StoredAck extends AwaitedAck, Accepted {
  /** False: the receiver has reported progress, but its response has not come yet. */
  readonly isAwaiting: boolean;
  readonly startedAt: number;
  readonly latestAt: number;
}

/** A claimed message, as an ack finds it. */
export interface OpenAttempt {
  readonly lease: string;
  /** The attempt under way. */
  readonly attempt: number;
  readonly claimedAt: number;
  readonly isCancelRequested: boolean;
  readonly ack: StoredAck | null;
}

/** How the work of a receiver has ended. */
export type FinalWord =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed'; readonly error: string | null; readonly retry: boolean };

export interface ProgressWord extends AckProgress {
  readonly kind: 'progress';
  readonly extendByMs: number | null;
}

export type AckWord = FinalWord | ProgressWord;

/** What a body may contain, of whatever type. */
type Given = Readonly<Partial<Record<'ok' | 'error' | 'retry' | 'extendBy' | 'progress' | 'note', unknown>>>;

const TEXT_MAX = eachMax('ackText');
const TEXT_RULE = `a text of at most ${TEXT_MAX} characters, without U+0000 and halves of surrogate pairs`;
const FINAL_FIELDS: readonly string[] = ['ok', 'error', 'retry'];
const PROGRESS_FIELDS: readonly string[] = ['extendBy', 'progress', 'note'];

/** Reads the body of an ack. Whatever it does not name is refused, so that a misspelt field is no silent success. */
export function parseAckWord(body: unknown): AckWord | ReturnType<typeof problem> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return bad('the body must be a JSON object');
  const given = body as Given;
  const isFinal = given.ok !== undefined;
  const unknown = Object.keys(given).find((name) => !(isFinal ? FINAL_FIELDS : PROGRESS_FIELDS).includes(name));
  if (unknown !== undefined) {
    const isKnown = FINAL_FIELDS.includes(unknown) || PROGRESS_FIELDS.includes(unknown);
    const why = isKnown ? `is not allowed ${isFinal ? 'together with "ok"' : 'without "ok"'}` : 'is not known';
    return bad(`"${unknown.slice(0, 50)}" ${why}`);
  }
  return isFinal ? finalWord(given) : progressWord(given);
}

function finalWord({ ok, error = null, retry }: Given): AckWord | ReturnType<typeof problem> {
  if (typeof ok !== 'boolean') return bad('"ok" must be true or false');
  if (ok) {
    return error === null && retry === undefined ? { kind: 'ok' } : bad('"error" and "retry" need "ok": false');
  }
  if (error !== null && !isText(error)) return bad(`"error" must be ${TEXT_RULE}`);
  if (retry !== undefined && typeof retry !== 'boolean') return bad('"retry" must be true or false');
  return { kind: 'failed', error: error as string | null, retry: retry !== false };
}

function progressWord(given: Given): AckWord | ReturnType<typeof problem> {
  const { extendBy, progress, note = null } = given;
  if (Object.keys(given).length === 0) return bad('give "ok", or some of "extendBy", "progress" and "note"');
  const extendByMs = extendBy === undefined ? null : extensionMs(extendBy);
  if (extendByMs !== null && (Number.isNaN(extendByMs) || extendByMs < ACK_MS_MIN)) {
    return bad('"extendBy" must be a duration of at least 1s, such as 10m');
  }
  // Not null either: NaN becomes null in JSON.
  if (progress !== undefined && !isShare(progress)) {
    return bad('"progress" must be a number from 0 to 1');
  }
  if (note !== null && !isText(note)) return bad(`"note" must be ${TEXT_RULE}`);
  return {
    kind: 'progress',
    extendByMs,
    progress: (progress as number | undefined) ?? null,
    note: note as string | null,
  };
}

function extensionMs(text: unknown): number {
  return (typeof text === 'string' ? parseAnyDurationMs(text) : null) ?? Number.NaN;
}

function isShare(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= 1;
}

function isText(value: unknown): boolean {
  // Not every database can store U+0000.
  return typeof value === 'string' && value.length <= TEXT_MAX && value.isWellFormed() && !value.includes('\0');
}

function bad(text: string) {
  return problem('bad_body', text);
}

/** The deadline after a word. It never comes earlier by an extension, nor later than the attempt may last in all. */
export function extendedDeadline(
  { deadlineAt, latestAt }: Pick<StoredAck, 'deadlineAt' | 'latestAt'>,
  extendByMs: number | null,
  now: number,
): number {
  return extendByMs === null ? deadlineAt : Math.max(deadlineAt, Math.min(now + extendByMs, latestAt));
}

const NOTHING: Accepted = { status: STATUS_ACCEPTED, headers: [], body: new Uint8Array(0), isBodyCut: false };

/** How the attempt has ended by the word of its receiver. A word that came before the response stands for a 202. */
export function outcomeOfWord(word: FinalWord, ack: StoredAck | null): Outcome {
  const accepted = acceptedBy(ack);
  if (word.kind === 'ok') return { kind: 'answered', ...accepted };
  const reason = word.error === null ? 'the receiver reported a failure' : `the receiver reported: ${word.error}`;
  return { kind: 'rejected', reason, mayRetry: word.retry, ...accepted };
}

/** How the attempt has ended if no ack came in time. */
export function outcomeWithoutAck(ack: StoredAck, isCancelled: boolean): Outcome {
  const reason = isCancelled ? CANCELLED_BEFORE_ACK : 'no ack came in time';
  return { kind: 'noAck', reason, ...acceptedBy(ack) };
}

function acceptedBy(ack: StoredAck | null): Accepted {
  if (!ack?.isAwaiting) return NOTHING;
  const { status, headers, body, isBodyCut } = ack;
  return { status, headers, body, isBodyCut };
}

/**
 * Whether an attempt that has ended did so by this word, so that the word may be repeated. The attempt with which a
 * cancelled message ended did not: its word came too late, whatever it said.
 */
export function hasEndedSo(
  word: FinalWord,
  { outcome, status, nextAt }: Pick<Attempt, 'outcome' | 'status' | 'nextAt'>,
  { state, retried, retriesMax, failureCode }: Pick<Message, 'state' | 'retried' | 'retriesMax' | 'failureCode'>,
): boolean {
  if (state === 'cancelled' && nextAt === null) return false;
  if (word.kind === 'ok') return outcome === 'answered' && status !== null && status >= 200 && status <= 299;
  if (outcome !== 'rejected') return false;
  if (!word.retry) return nextAt === null;
  // Without a next attempt, either no retry was left, or the receiver had requested none.
  return nextAt !== null || retried >= retriesMax || failureCode !== undefined;
}

/** Whether this word of progress gets an event of its own. `lastAt`: when the last one did, or null. */
export function hasProgressEvent(lastAt: number | null, events: number, now: number): boolean {
  return events < eachMax('progressEvents') && (lastAt === null || now - lastAt >= PROGRESS_EVENT_EVERY_MS);
}
