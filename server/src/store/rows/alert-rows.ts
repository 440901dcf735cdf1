// The rows about alerts that the adapters read, and how each maps to its domain type. No decisions.

import type { Alert, AlertRule, AlertTarget } from '../../rules/alerts/alert.ts';
import type {
  AttemptFact,
  BoundedList,
  FailedFact,
  NotifiedFact,
  QueueFact,
  RunFact,
  ScheduleFact,
} from '../../rules/alerts/alert-facts.ts';
import type { MessageKind, Outcome } from '../../rules/delivery/message.ts';
import { isParked, type Parking } from '../../rules/hosts/parking.ts';
import { type Flag, type StateOfRow, toState } from './message-columns.ts';
import { EXPIRED } from './rows.ts';

export interface AlertRow {
  id: string;
  account_id: string;
  rule: string;
  target: string;
  remind_every_ms: number | null;
  state: Alert['state'];
  since_at: number | null;
  told_at: number | null;
  message_id: string | null;
  text: string | null;
  problem: string | null;
  judged_at: number | null;
  next_at: number;
  created_at: number;
  updated_at: number;
  version: number;
}

export const ALERT_COLUMNS = `id, account_id, rule, target, remind_every_ms, state, since_at, told_at, message_id, text,
  problem, judged_at, next_at, created_at, updated_at, version`;

/** SQL for the size of an alert in a list. */
export const ALERT_BYTES = 'octet_length(rule) + octet_length(target) + coalesce(octet_length(text), 0)';

export function toAlert(row: AlertRow): Alert {
  return {
    id: row.id,
    accountId: row.account_id,
    rule: JSON.parse(row.rule) as AlertRule,
    target: JSON.parse(row.target) as AlertTarget,
    remindEveryMs: row.remind_every_ms,
    state: row.state,
    sinceAt: row.since_at,
    notifiedAt: row.told_at,
    messageId: row.message_id,
    text: row.text,
    problem: row.problem,
    evaluatedAt: row.judged_at,
    nextAt: row.next_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

interface ScopeRow {
  kind: MessageKind;
  host: string;
  queue_name: string | null;
  labels: string | null;
  ended_at: number;
}

function toScope(row: ScopeRow) {
  return {
    kind: row.kind,
    host: row.host,
    queueName: row.queue_name,
    labels: row.labels === null ? [] : (JSON.parse(row.labels) as string[]),
    endedAt: row.ended_at,
  };
}

export type FailedMessageRow = ScopeRow & { schedule_id: string | null };

/** Makes the list of failed messages. `rows` has one row more than `rowsMax` if there are more. */
export function toFailedFact(rows: readonly FailedMessageRow[], rowsMax: number): BoundedList<FailedFact> {
  const facts = rows.slice(0, rowsMax).map((row) => ({ ...toScope(row), scheduleId: row.schedule_id }));
  return { rows: facts, isCut: rows.length > rowsMax };
}

/** A step of the journal. The end of an attempt has the columns of the attempt too. */
export type AttemptStepRow = ScopeRow & {
  step: number;
  outcome: Outcome['kind'] | null;
  status: number | null;
  next_at: number | null;
  /**
   * Set in SQLite only, on a message that was delivered by its first attempt: then the message stores the attempt,
   * which has no row.
   */
  first_started_at?: number | null;
  last_status?: number | null;
};

function attemptOf(row: AttemptStepRow): Pick<AttemptFact, 'outcome' | 'status' | 'nextAt'> | null {
  if (row.step === EXPIRED) return { outcome: 'expired', status: null, nextAt: null };
  if (row.step <= 0) return null;
  if (row.outcome !== null) return { outcome: row.outcome, status: row.status, nextAt: row.next_at };
  return row.first_started_at == null ? null : { outcome: 'answered', status: row.last_status ?? null, nextAt: null };
}

/** The attempts that ended at `fromAt` or later. `rows` are the newest steps, newest first, and at most `rowsMax`. */
export function toAttempts(rows: readonly AttemptStepRow[], fromAt: number, rowsMax: number): BoundedList<AttemptFact> {
  const facts = rows.flatMap((row) => {
    const attempt = row.ended_at >= fromAt ? attemptOf(row) : null;
    return attempt ? [{ ...toScope(row), ...attempt }] : [];
  });
  return { rows: facts, isCut: rows.length >= rowsMax && (rows.at(-1)?.ended_at ?? fromAt) > fromAt };
}

/** A message with the label of alerts. Callers may use this label too, so `kind` must be checked. */
export interface LabelledRow {
  kind: MessageKind;
  state: string;
  ended_at: number | null;
}

/** The notifications of alerts that were delivered or failed at `fromAt` or later. */
export function toNotifiedFacts(rows: readonly LabelledRow[], fromAt: number): NotifiedFact[] {
  return rows.flatMap(({ kind, state, ended_at: endedAt }) => {
    const end = state === 'delivered' || state === 'failed' ? state : null;
    return kind === 'alert' && end !== null && endedAt !== null && endedAt >= fromAt ? [{ endedAt, end }] : [];
  });
}

export interface OldestDueRow {
  name: string;
  is_paused: Flag | null;
  oldest_due_at: number;
}

/** A queue may have no row yet when its first message has just arrived. */
export function toQueueFact({ name, is_paused, oldest_due_at }: OldestDueRow): QueueFact {
  return { name, isPaused: Boolean(is_paused), oldestDueAt: oldest_due_at };
}

export type RunRow = StateOfRow & { kind: MessageKind; created_at: number };

/** The runs of one schedule. The callbacks of its messages carry its id too, and are left out. */
export function toScheduleFact(id: string, rows: readonly RunRow[]): ScheduleFact {
  const runs: RunFact[] = rows
    .filter(({ kind }) => kind === 'schedule')
    .map((row) => ({ createdAt: row.created_at, state: toState(row) }));
  return { id, runs };
}

/**
 * The schedules to read: those that a rule names, and those whose messages failed. If the list of failed messages was
 * cut, any schedule may have a failed message. Then the schedules in `more` are read too, as far as there is room.
 */
export function schedulesToRead(
  named: readonly string[],
  failed: readonly FailedFact[],
  more: readonly string[],
  max: number,
): readonly string[] {
  const ofFailed = failed.flatMap(({ kind, scheduleId }) =>
    kind === 'schedule' && scheduleId !== null ? [scheduleId] : [],
  );
  return [...new Set([...named, ...ofFailed, ...more])].slice(0, max);
}

/** Limit for the rows that are read for one schedule. A run to a topic has a message for each endpoint. */
export const RUN_ROWS_MAX = 100;
/** How many rows the read of one schedule counts as: schedules are read one by one, so fewer of them are read. */
export const ROWS_PER_SCHEDULE = 10;

export interface ParkedHostRow {
  host: string;
  parking: string | null;
}

/** Without the hosts that open again. */
export function toParkedHosts(rows: readonly ParkedHostRow[]): string[] {
  return rows
    .filter(({ parking }) => parking !== null && isParked(JSON.parse(parking) as Parking))
    .map(({ host }) => host);
}
