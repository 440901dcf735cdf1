// The tasks of a node beside delivering: it runs schedules and bulk operations, evaluates alerts, and deletes what is
// past its retention. Each verb does a bounded amount of work in one transaction, and `now` is always an argument.

import type { Alert, AlertStanding } from '../../rules/alerts/alert.ts';
import type { AlertFacts, NeededAlertFacts } from '../../rules/alerts/alert-facts.ts';
import type { Job, JobStep, JobWork } from '../../rules/delivery/job.ts';
import type { NewMessage } from '../../rules/delivery/message.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';

export interface DueLimits {
  readonly schedules: number;
  /** Limit for the bodies of all schedules together. A schedule with a larger body is returned alone. */
  readonly bytes: number;
  /** The account that was served last. */
  readonly after: string;
}

export interface DueSchedules {
  readonly due: readonly Schedule[];
  /** The earliest time at which any schedule is due, also those in `due`. Null if there is none. */
  readonly nextAt: number | null;
}

/** One tick of a schedule that is about to be taken. */
export interface Tick {
  readonly schedule: Schedule;
  readonly messages: readonly NewMessage[];
  /** When the schedule is due after this tick. */
  readonly nextAt: number | null;
  /**
   * The daily quota of the account. If the quota would be exceeded, the tick creates no messages. Absent or null means
   * no quota.
   */
  readonly dayMax?: number | null;
}

/** How many messages a tick created; null if the tick could no longer be taken. */
export type TickMade = number | 'overQuota' | null;

/** When a schedule runs, without the message that it publishes. */
export interface ScheduleTime {
  readonly accountId: string;
  readonly id: string;
  readonly cron: string;
  readonly nextAt: number;
}

export interface DueAlerts {
  readonly due: readonly Alert[];
  /** The earliest time at which any alert is evaluated, also those in `due`. Null if there is none. */
  readonly nextAt: number | null;
}

/** An alert after its evaluation. */
export interface EvaluatedAlert {
  /** The alert as it was read. */
  readonly alert: Alert;
  readonly nextAt: number;
  /**
   * Why the target of the alert cannot be notified. Null if there is nothing to report, or if the target is notified
   * now.
   */
  readonly problem: string | null;
  /**
   * The message to the target of the alert, and the standing to store when that message is accepted. Null if there is
   * nothing to report.
   */
  readonly notification: { readonly message: NewMessage; readonly standing: AlertStanding } | null;
  /** The daily quota of the account, which applies to the message. Null means no quota. */
  readonly dayMax: number | null;
}

/** `lost`: the alert was changed, deleted or evaluated by another node since it was read. Nothing was written. */
export type NotifyResult = 'notified' | 'kept' | 'overQuota' | 'lost';

/** Which rows are kept. Minutes before `minutesFrom` are added to their hours; hours before `hoursFrom` are deleted. */
export interface ActivityKeep {
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

export interface Walked {
  readonly deleted: number;
  /** Where the next call continues. Null when everything was visited. */
  readonly after: WalkPosition | null;
}

/** The result of a walk over these rows, of which at most `limit` were read. */
export function walked(rows: readonly WalkPosition[], limit: number, deleted: number): Walked {
  return { deleted, after: rows.length < limit ? null : rows.at(-1)! };
}

export interface UpkeepStore {
  // ——— schedules ———

  /** Some of the due schedules: an equal part for each account, beginning with the account after `limits.after`. */
  dueSchedules(now: number, limits: DueLimits): Promise<DueSchedules>;

  /**
   * Takes the ticks at `schedule.nextAt` and accepts their messages, all in one transaction. Returns how many messages
   * each tick created. The number is null if the tick was already taken, if its schedule is paused, or if another node
   * is about to take the tick.
   */
  fireSchedules(ticks: readonly Tick[], now: number): Promise<readonly TickMade[]>;

  /** Schedules that will run, ordered by account and id. Returns up to `limit` schedules after the given one. */
  scheduleTimes(after: Pick<ScheduleTime, 'accountId' | 'id'>, limit: number): Promise<readonly ScheduleTime[]>;

  /** Changes when schedules run. Skips a schedule that was changed, paused or taken since it was read. */
  setScheduleTimes(changes: readonly { readonly schedule: ScheduleTime; readonly nextAt: number }[]): Promise<void>;

  // ——— alerts ———

  /** Some of the alerts that are due for evaluation, starting with the alerts that have waited longest. */
  dueAlerts(now: number, limit: number): Promise<DueAlerts>;

  /** The facts that the rules of an account need. At most `rowsMax` rows are read for each part. */
  alertFacts(accountId: string, look: NeededAlertFacts, now: number, rowsMax: number): Promise<AlertFacts>;

  /**
   * For each alert that nobody has changed since it was read, accepts the message to its target, and writes what the
   * target was notified of and when the alert is evaluated next. All of this is one transaction. A message over the
   * daily quota is not accepted: then the standing stays, and only the next time is written.
   */
  notifyAlerts(evaluated: readonly EvaluatedAlert[], now: number): Promise<readonly NotifyResult[]>;

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
  deleteIdleFlowKeys(now: number, after: WalkPosition, limit: number): Promise<Walked>;

  /**
   * Visits `limit` queues after a position, and deletes the queues that were created by messages and have no messages
   * any more.
   */
  deleteIdleQueues(now: number, after: WalkPosition, limit: number): Promise<Walked>;

  /** Visits `limit` bulk operations after a position, and deletes the operations that ended long ago. */
  deleteOldJobs(now: number, after: WalkPosition, limit: number): Promise<Walked>;

  /**
   * Adds up to `limit` old minutes to their hours, and deletes up to `limit` old hours. Returns the larger of the two
   * numbers.
   */
  foldActivity(keep: ActivityKeep, limit: number): Promise<number>;
}
