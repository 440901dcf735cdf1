// The tasks of a node beside delivering: it runs schedules and bulk operations, evaluates alerts, and deletes what is
// past its retention. Each verb does a bounded amount of work in one transaction, and `now` is always an argument.

import type { Alert, NotifiedState } from '../../rules/alerts/alert.ts';
import type { AlertFacts, NeededAlertFacts } from '../../rules/alerts/alert-facts.ts';
import type { Job, JobStep, JobWork } from '../../rules/delivery/job.ts';
import type { NewMessage } from '../../rules/delivery/message.ts';
import type { ExpiredMessage } from '../../rules/delivery/settle.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';

export interface DueLimits {
  readonly schedules: number;
  /** Limit for the bodies, headers and last messages of all schedules together. A larger schedule is returned alone. */
  readonly bytes: number;
  /** The account that was served last. The turns of accounts continue after it. */
  readonly after: string;
}

export interface DueSchedule extends Schedule {
  /** By now, the tick would be skipped: a message of the last one is open. Its messages need not be planned. */
  readonly isSkipped?: true;
}

export interface DueSchedules {
  readonly due: readonly DueSchedule[];
  /** The earliest time at which any schedule is due, including those in `due`. Null if there is none. */
  readonly nextAt: number | null;
}

/** A tick of a schedule, and the messages that it creates. */
export interface Tick {
  readonly schedule: Schedule;
  readonly messages: readonly NewMessage[];
  /** The messages were not planned, because the tick is to be skipped. If it is not, it does not run. */
  readonly isUnplanned?: true;
  /** When the schedule is due after this tick. */
  readonly nextAt: number | null;
  /**
   * The daily quota of the account. If the quota would be exceeded, the tick creates no messages. Absent or null means
   * no quota.
   */
  readonly dayMax?: number | null;
}

/**
 * How many messages a tick created. `skipped`: none, because a message of an earlier tick is open and the schedule does
 * not allow an overlap. Null if the tick did not run; `fireSchedules` says why.
 */
export type TickResult = number | 'overQuota' | 'skipped' | null;

/** When a schedule runs, without the message that it publishes. */
export interface ScheduleTime {
  readonly accountId: string;
  readonly id: string;
  readonly cron: string;
  readonly createdAt: number;
  readonly nextAt: number;
}

export interface DueAlerts {
  readonly due: readonly Alert[];
  /** The earliest time at which any alert is evaluated, including those in `due`. Null if there is none. */
  readonly nextAt: number | null;
}

/** An alert after its evaluation. */
export interface EvaluatedAlert {
  /** The alert as it was read. */
  readonly alert: Alert;
  readonly nextAt: number;
  /** Why the alert's target cannot be notified. Null if there is nothing to report or the target is notified now. */
  readonly problem: string | null;
  /**
   * The message to the target of the alert, and what to store as the last notification when that message is accepted.
   * Null if there is nothing to report.
   */
  readonly notification: { readonly message: NewMessage; readonly notified: NotifiedState } | null;
  /** The daily quota of the account, which applies to the message. Null means no quota. */
  readonly dayMax: number | null;
}

/**
 * `kept`: nothing to report. `lost`: nothing written, because the alert was changed, deleted or evaluated meanwhile.
 */
export type NotifyResult = 'notified' | 'kept' | 'overQuota' | 'lost';

export interface ExpiryLimits {
  /** How many messages one step ends. */
  readonly messages: number;
  /** The `lastInTurn` of the step before, or empty. If more messages have expired, the turns of accounts continue after it. */
  readonly after: string;
}

export interface DueExpiries {
  readonly expired: readonly ExpiredMessage[];
  /** The earliest time at which a message that waits expires, including those in `expired`. Null if none does. */
  readonly nextAt: number | null;
  /**
   * The account that had the last turn, whether or not any of its messages has expired. Empty: the turns begin again.
   * Null if these are all messages that have expired.
   */
  readonly lastInTurn: string | null;
}

/** Counts of minutes before `minutesFrom` are added to their hours; counts of hours before `hoursFrom` are deleted. */
export interface ActivityRetention {
  readonly minutesFrom: number;
  readonly hoursFrom: number;
}

export interface JournalPart {
  /** Reads the accounts after this one: at most `accounts` of them, and at most `rows` rows in all. */
  readonly after: string;
  readonly accounts: number;
  readonly rows: number;
}

export interface JournalDeletion {
  readonly deleted: number;
  /** The last account that was read. Null if there are no more accounts. */
  readonly after: string | null;
}

/** A position in a walk: an account, and the key or id of one of its rows. */
export type WalkPosition = readonly [accountId: string, name: string];
export const WALK_START: WalkPosition = ['', ''];

export interface WalkResult {
  readonly deleted: number;
  /** Where the next call continues. Null when everything was visited. */
  readonly after: WalkPosition | null;
}

/** The result of one call that visited these rows. Fewer rows than `limit` mean that no rows are left. */
export function walkResult(rows: readonly WalkPosition[], limit: number, deleted: number): WalkResult {
  return { deleted, after: rows.length < limit ? null : rows.at(-1)! };
}

export interface UpkeepStore {
  // ——— schedules ———

  /** Some of the due schedules: an equal part for each account, beginning with the account after `limits.after`. */
  dueSchedules(now: number, limits: DueLimits): Promise<DueSchedules>;

  /**
   * Runs the ticks at `schedule.nextAt`: accepts their messages and moves the schedules to their next times, all in one
   * transaction. Returns how many messages each tick created. The number is null if the tick has already run, if its
   * schedule is paused or has another version than the one that was read, if another node is about to run the tick, or if
   * the messages of the tick were not planned and it is not skipped.
   */
  fireSchedules(ticks: readonly Tick[], now: number): Promise<readonly TickResult[]>;

  /** Schedules that will run, ordered by account and id. Returns up to `limit` schedules after the given one. */
  scheduleTimes(after: Pick<ScheduleTime, 'accountId' | 'id'>, limit: number): Promise<readonly ScheduleTime[]>;

  /** Sets the next times of schedules. Skips a schedule that has run, or was changed or paused, since it was read. */
  setScheduleTimes(changes: readonly { readonly schedule: ScheduleTime; readonly nextAt: number }[]): Promise<void>;

  // ——— alerts ———

  /** Some of the alerts that are due for evaluation, starting with the alerts that have waited longest. */
  dueAlerts(now: number, limit: number): Promise<DueAlerts>;

  /** The facts that the alert rules of an account need. At most `rowsMax` rows are read for each kind of fact. */
  alertFacts(accountId: string, look: NeededAlertFacts, now: number, rowsMax: number): Promise<AlertFacts>;

  /**
   * For each alert that nobody has changed since it was read, accepts the message to its target, and writes what the
   * target was notified of and when the alert is evaluated next. All of this is one transaction. A message over the
   * daily quota is not accepted. Then the last notification stays, and only the next time is written.
   */
  notifyAlerts(evaluated: readonly EvaluatedAlert[], now: number): Promise<readonly NotifyResult[]>;

  // ——— expiry ———

  /** Messages that have expired by `now` while they waited: those that expired first, and a few of other accounts. */
  dueExpiries(now: number, limits: ExpiryLimits): Promise<DueExpiries>;

  // ——— bulk operations ———

  runningJobs(): Promise<readonly Job[]>;

  /** Does one step of a running job and records it, in one transaction. Returns how many messages it changed. */
  runJobStep(accountId: string, id: string, work: JobWork, step: Omit<JobStep, 'done'>): Promise<number>;

  // ——— retention ———

  /** Deletes up to `limit` ended messages past their retention, with their attempts. Returns how many. */
  deleteExpired(now: number, limit: number): Promise<number>;

  /** Deletes events older than a time given for each tier, in a part of the accounts. */
  deleteJournal(before: Readonly<Record<TierName, number>>, part: JournalPart): Promise<JournalDeletion>;

  /** Deletes usage before a day (`YYYY-MM-DD`), in a part of the accounts. Returns how many rows it deleted. */
  deleteUsage(beforeDay: string, part: JournalPart): Promise<number>;

  /** Deletes up to `limit` expired deduplication keys. Returns how many. */
  deleteDeduplication(now: number, limit: number): Promise<number>;

  /**
   * Visits `limit` flow keys after a position, in the order of account and key. Deletes the flow keys that have no
   * messages and may be deleted.
   */
  deleteIdleFlowKeys(now: number, after: WalkPosition, limit: number): Promise<WalkResult>;

  /**
   * Visits `limit` queues after a position, and deletes the queues that were created by messages and have no messages
   * any more.
   */
  deleteIdleQueues(now: number, after: WalkPosition, limit: number): Promise<WalkResult>;

  /** Visits `limit` bulk operations after a position, and deletes the operations that ended long ago. */
  deleteOldJobs(now: number, after: WalkPosition, limit: number): Promise<WalkResult>;

  /**
   * Adds at most `limit` counts of old minutes to their hours, and deletes at most `limit` counts of old hours. Returns
   * the larger of the two numbers.
   */
  foldActivity(keep: ActivityRetention, limit: number): Promise<number>;
}
