// The rows of all tables but the messages, as the adapters read them, and how each maps to its domain type. The tables
// of the adapters differ only in keys and column types. Columns are named one by one, because a prepared statement that
// reads `*` fails when a newer node adds a column.

import type { Account, Scope, Token } from '../../rules/accounts/account.ts';
import type { OpenGroup } from '../../rules/accounts/standing.ts';
import type { Step } from '../../rules/delivery/event.ts';
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
    ...(row.is_answer_left_out && { isAnswerLeftOut: true }),
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
  body: Uint8Array;
}

export const SCHEDULE_COLUMNS = `id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at, last_at,
  last_message_ids, created_at, body`;

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
    isPaused: Boolean(row.is_paused),
    nextAt: row.next_at,
    lastAt: row.last_at,
    lastMessageIds: JSON.parse(row.last_message_ids) as string[],
    createdAt: row.created_at,
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
}

export const TOKEN_COLUMNS = 'id, account_id, name, scopes, created_at, revoked_at, last_used_at';

export function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    scopes: row.scopes === '' ? [] : (row.scopes.split(' ') as Scope[]),
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
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

/** Numbers of steps other than the end of attempt 1, 2, 3 …; see the migrations. */
export const ACCEPTED = 0;
export const CANCELLED = -1;
export const RELEASED = -2;
/**
 * The message was accepted, and its first attempt started in the same transaction. One row records both steps, so that
 * the start needs no row of its own.
 */
export const ACCEPTED_STARTED = -3;
export const CANCEL_REQUESTED = -4;

/** All steps with a lower number are starts of attempts. */
export const BEFORE_STARTS = -1000;

export function startStep(attemptNumber: number): number {
  return BEFORE_STARTS - attemptNumber;
}

/** The number of the attempt that this step started, or null. */
export function startedAttempt(step: number): number | null {
  return step < BEFORE_STARTS ? BEFORE_STARTS - step : null;
}

/** What a journal row records. If it records the end of an attempt, the caller reads the attempt. */
export function stepFromRow({
  step,
  at,
}: {
  readonly step: number;
  readonly at: number;
}): Exclude<Step, { kind: 'attempt' }> | null {
  if (step === ACCEPTED || step === ACCEPTED_STARTED) return { kind: 'accepted', isStarted: step === ACCEPTED_STARTED };
  if (step === CANCELLED) return { kind: 'cancelled' };
  if (step === RELEASED) return { kind: 'released', at };
  if (step === CANCEL_REQUESTED) return { kind: 'cancelRequested', at };
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

export interface AccountRow extends Omit<Account, 'suspendedAt'> {
  readonly suspendedAt: number | null;
}

export function toAccount({ id, name, tier, createdAt, suspendedAt }: AccountRow): Account {
  return { id, name, tier, createdAt, ...(suspendedAt !== null && { suspendedAt }) };
}
