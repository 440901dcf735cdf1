// The rows of all tables but the messages, as the adapters read them, and how each maps to its domain type. The tables
// of the adapters differ only in keys and column types. Columns are named one by one, because a prepared statement that
// reads `*` fails when a newer node adds a column.

import type { Account, Scope, Token } from '../../rules/accounts/account.ts';
import type { OpenGroup } from '../../rules/accounts/overview.ts';
import { type ChangedName, changedMask, changedNames } from '../../rules/delivery/change.ts';
import type { JournalStep } from '../../rules/delivery/event.ts';
import type { FailureFact } from '../../rules/delivery/failure-group.ts';
import type { Job, JobAction } from '../../rules/delivery/job.ts';
import type { Attempt, HeaderList, Outcome } from '../../rules/delivery/message.ts';
import type { Endpoint, Topic } from '../../rules/publish/topic.ts';
import type { MessageFilter } from '../../rules/reads/message-filter.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';
import type { ListedSchedule } from '../ports/resource-store.ts';
import type { Flag } from './message-columns.ts';

export interface AttemptRow {
  number: number;
  started_at: number;
  ended_at: number;
  outcome: Outcome['kind'];
  status: number | null;
  error: string | null;
  next_at: number | null;
  response_headers: string;
  is_response_body_cut: Flag;
  response_body: Uint8Array;
  is_answer_left_out?: Flag;
}

export const ATTEMPT_COLUMNS = `number, started_at, ended_at, outcome, status, error, next_at, response_headers,
  is_response_body_cut, response_body`;

export function toAttempt(row: AttemptRow): Attempt {
  return {
    number: row.number,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    status: row.status,
    error: row.error,
    nextAt: row.next_at,
    responseHeaders: JSON.parse(row.response_headers) as HeaderList,
    responseBody: row.response_body,
    isResponseBodyCut: Boolean(row.is_response_body_cut),
    ...(row.is_answer_left_out && row.status !== null && { isAnswerLeftOut: true }),
  };
}

export interface ScheduleRow {
  id: string;
  account_id: string;
  cron: string;
  destination: string;
  queue_name: string | null;
  headers: string;
  caller_ip: string | null;
  is_paused: Flag;
  next_at: number | null;
  last_at: number | null;
  last_message_ids: string;
  created_at: number;
  overlap: 'skip' | null;
  jitter_ms: number | null;
  skipped_count: number | null;
  skipped_at: number | null;
  version: number;
  body: Uint8Array;
}

/** Every column but the body. */
export const SCHEDULE_COLUMNS_BESIDE_BODY = `id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at,
  last_at, last_message_ids, created_at, overlap, jitter_ms, skipped_count, skipped_at, version`;
export const SCHEDULE_COLUMNS = `${SCHEDULE_COLUMNS_BESIDE_BODY}, body`;

export function toSchedule(row: ScheduleRow): Schedule {
  return {
    id: row.id,
    accountId: row.account_id,
    cron: row.cron,
    destination: row.destination,
    queueName: row.queue_name,
    headers: JSON.parse(row.headers) as HeaderList,
    body: row.body,
    callerIp: row.caller_ip,
    overlap: row.overlap ?? 'allow',
    jitterMs: row.jitter_ms ?? 0,
    isPaused: Boolean(row.is_paused),
    nextAt: row.next_at,
    lastAt: row.last_at,
    lastMessageIds: JSON.parse(row.last_message_ids) as string[],
    skippedCount: row.skipped_count ?? 0,
    skippedAt: row.skipped_at,
    createdAt: row.created_at,
    version: row.version,
  };
}

/** The body is null if it is too large for a list. */
export interface ListedScheduleRow extends Omit<ScheduleRow, 'body'> {
  body: Uint8Array | null;
}

export function toListedSchedule(row: ListedScheduleRow): ListedSchedule {
  if (row.body !== null) return toSchedule(row as ScheduleRow);
  return { ...toSchedule({ ...row, body: new Uint8Array() }), isBodyLeftOut: true };
}

export interface JobRow {
  id: string;
  account_id: string;
  action: JobAction;
  filter: string;
  per_second: number;
  state: Job['state'];
  matched: number;
  is_matched_cut: Flag;
  done: number;
  at_seq: number | null;
  created_at: number;
  updated_at: number;
}

export const JOB_COLUMNS =
  'id, account_id, action, filter, per_second, state, matched, is_matched_cut, done, at_seq, created_at, updated_at';

export function toJob(row: JobRow): Job {
  return {
    id: row.id,
    accountId: row.account_id,
    action: row.action,
    filter: JSON.parse(row.filter) as MessageFilter,
    perSecond: row.per_second,
    state: row.state,
    matched: row.matched,
    isMatchedCut: Boolean(row.is_matched_cut),
    done: row.done,
    atSeq: row.at_seq,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export interface TopicRow {
  id: string;
  account_id: string;
  name: string;
  endpoints: string;
  defaults: string;
  created_at: number;
  updated_at: number;
  version: number;
}

export const TOPIC_COLUMNS = 'id, account_id, name, endpoints, defaults, created_at, updated_at, version';

export function toTopic(row: TopicRow): Topic {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    endpoints: JSON.parse(row.endpoints) as Endpoint[],
    defaults: JSON.parse(row.defaults) as HeaderList,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

export interface TokenRow {
  id: string;
  account_id: string;
  name: string;
  scopes: string;
  created_at: number;
  revoked_at: number | null;
  last_used_at: number | null;
  expires_at: number | null;
  addresses: string;
}

export const TOKEN_COLUMNS =
  'id, account_id, name, scopes, created_at, revoked_at, last_used_at, expires_at, addresses';

export function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    scopes: words(row.scopes) as Scope[],
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    addresses: words(row.addresses),
  };
}

function words(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}

/** A count of open messages that have the same values in these columns. */
export interface OpenGroupRow {
  queue_name: string | null;
  is_claimed: Flag;
  is_held: Flag;
  has_attempts: Flag;
  is_later: Flag;
  is_held_back: Flag;
  holds_place: Flag;
  count: number;
  ready_at_min: number;
}

export function toOpenGroup(row: OpenGroupRow): OpenGroup {
  return {
    queueName: row.queue_name,
    state: row.is_claimed ? 'claimed' : row.is_held ? 'held' : 'pending',
    hasAttempts: Boolean(row.has_attempts),
    isLater: Boolean(row.is_later),
    isHeldBack: Boolean(row.is_held_back),
    holdsPlace: Boolean(row.holds_place),
    count: row.count,
    readyAtMin: row.ready_at_min,
  };
}

/** Steps of the journal, as numbers. The end of attempt n has the number n; all other steps have these numbers. */
export const ACCEPTED = 0;
export const CANCELLED = -1;
export const RELEASED = -2;
/**
 * The message was accepted, and its first attempt started in the same transaction. One row records both steps, so that
 * the start needs no row of its own.
 */
export const ACCEPTED_STARTED = -3;
export const CANCEL_REQUESTED = -4;
/** The message expired while it waited. */
export const EXPIRED = -5;
/** The host of the message was parked, or opens again. */
export const PARKED = -6;
export const RESUMED = -7;
/** An attempt was answered with 202, and awaits its ack. */
export const AWAITING_ACK = -8;
/** The receiver has reported progress. This step names none; those from it down to `LAST_PROGRESS` name a percentage. */
const PROGRESS = -100;
const LAST_PROGRESS = -201;

/** `progress` is from 0 to 1. */
export function progressStep(progress: number | null): number {
  return progress === null ? PROGRESS : PROGRESS - 1 - Math.round(progress * 100);
}

/**
 * A claimed message whose attempt awaits its ack has this in place of a node: no node holds it, and none can be dead.
 */
export const NODE_AWAITING = '';
/**
 * Its lease ends with this. So whatever was decided with the lease of the node that has sent the request is too late:
 * another node may have taken that one for dead.
 */
export const LEASE_AWAITING = '.ack';

const HOST_STEPS: ReadonlyMap<number, 'parked' | 'resumed'> = new Map([
  [PARKED, 'parked'],
  [RESUMED, 'resumed'],
]);

/** All steps with a lower number, down to `BEFORE_UPDATES`, are starts of attempts. */
export const BEFORE_STARTS = -1000;

/**
 * All steps with a lower number are changes of a message. The difference says what was changed (`changedMask`, in the
 * lower bits) and after how many attempts. The largest step fits in 32 bits.
 */
const BEFORE_UPDATES = -1_000_000_000;
const CHANGED_BITS = 18;
const ATTEMPTS_MAX = 2 ** 12 - 1;

export function updatedStep(names: readonly ChangedName[], attempts: number): number {
  return BEFORE_UPDATES - ((Math.min(attempts, ATTEMPTS_MAX) << CHANGED_BITS) | changedMask(names));
}

function updateOf(step: number, at: number): JournalStep & { readonly kind: 'updated' } {
  const code = BEFORE_UPDATES - step;
  const names = changedNames(code & (2 ** CHANGED_BITS - 1));
  return { kind: 'updated', names, attempts: code >> CHANGED_BITS, at };
}

export function startStep(attemptNumber: number): number {
  return BEFORE_STARTS - attemptNumber;
}

/** The number of the attempt that this step started. Null for any other step. */
export function startedAttempt(step: number): number | null {
  return step < BEFORE_STARTS && step >= BEFORE_UPDATES ? BEFORE_STARTS - step : null;
}

/** What a journal row records. Null if it records the end of an attempt: the caller must read the attempt. */
export function stepFromRow({
  step,
  at,
}: {
  readonly step: number;
  readonly at: number;
}): Exclude<JournalStep, { kind: 'attempt' }> | null {
  if (step === ACCEPTED || step === ACCEPTED_STARTED) return { kind: 'accepted', isStarted: step === ACCEPTED_STARTED };
  if (step === CANCELLED) return { kind: 'cancelled' };
  if (step === RELEASED) return { kind: 'released', at };
  if (step === CANCEL_REQUESTED) return { kind: 'cancelRequested', at };
  if (step < BEFORE_UPDATES) return updateOf(step, at);
  if (step === EXPIRED) return { kind: 'expired' };
  if (step === AWAITING_ACK) return { kind: 'awaitingAck', at };
  if (step <= PROGRESS && step >= LAST_PROGRESS) {
    return { kind: 'progress', progress: step === PROGRESS ? null : (PROGRESS - 1 - step) / 100, at };
  }
  const ofHost = HOST_STEPS.get(step);
  if (ofHost !== undefined) return { kind: ofHost, at };
  const number = startedAttempt(step);
  return number === null ? null : { kind: 'started', number, at };
}

export interface FailureRow {
  id: string;
  url: string;
  host: string;
  last_status: number | null;
  failure: string;
  created_at: number;
  ended_at: number;
}

export function toFailure(row: FailureRow): FailureFact {
  return {
    id: row.id,
    url: row.url,
    host: row.host,
    lastStatus: row.last_status,
    failure: row.failure,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}

export interface AccountRow extends Omit<Account, 'suspendedAt' | 'deletingSince' | 'outage'> {
  readonly suspendedAt: number | null;
  readonly deletingSince: number | null;
  readonly outage: 'park' | null;
}

export function toAccount({ id, name, tier, createdAt, suspendedAt, deletingSince, outage }: AccountRow): Account {
  return {
    id,
    name,
    tier,
    createdAt,
    ...(suspendedAt !== null && { suspendedAt }),
    ...(deletingSince !== null && { deletingSince }),
    ...(outage !== null && { outage }),
  };
}
