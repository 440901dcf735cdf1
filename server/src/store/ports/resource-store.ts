// Topics, schedules, alerts and bulk operations, as people set them up. Lists are read in bounded pieces.

import type { Alert } from '../../rules/alerts/alert.ts';
import type { Job } from '../../rules/delivery/job.ts';
import type { Topic } from '../../rules/publish/topic.ts';
import type { Schedule, ScheduleVersion } from '../../rules/schedules/schedule.ts';
import type { ListPiece, ListPieceRequest } from './list-piece.ts';

/** A schedule in a list. A body that does not fit into the byte limit of the list is returned empty. */
export interface ListedSchedule extends Schedule {
  readonly isBodyLeftOut?: true;
}

export interface ResourceStore {
  // ——— schedules ———

  /**
   * Creates the schedule, or changes the one with the same id. That one keeps when it was created, its last tick, the
   * ticks it skipped, and, with the same times, its next tick. With `expected`, changes only that version of a schedule,
   * and creates none. Returns whether it was saved.
   */
  saveSchedule(schedule: Schedule, expected?: ScheduleVersion): Promise<boolean>;

  getSchedule(accountId: string, id: string): Promise<Schedule | null>;

  deleteSchedule(accountId: string, id: string): Promise<boolean>;

  /**
   * Pauses the schedule, or ends its pause: then the next tick is the first one after `wallNow`. A schedule that already
   * is paused, or runs, stays as it is. Returns the next tick, or null if there is no such schedule.
   */
  pauseSchedule(
    accountId: string,
    id: string,
    isPaused: boolean,
    wallNow: number,
  ): Promise<{ readonly nextAt: number | null } | null>;

  /** Ordered by id. */
  listSchedules(accountId: string, part?: ListPieceRequest): Promise<ListPiece<ListedSchedule>>;

  /** How many schedules the account has, counted up to `max`. */
  countSchedules(accountId: string, max: number): Promise<number>;

  // ——— alerts ———

  /**
   * Creates the alert, or changes the definition of the alert with the same id. An existing alert keeps its last
   * notification and the time of its next evaluation. Returns the alert as it is stored. If the account already has
   * `max` alerts, creates nothing and returns null.
   */
  saveAlert(alert: Alert, max: number): Promise<Alert | null>;

  getAlert(accountId: string, id: string): Promise<Alert | null>;

  deleteAlert(accountId: string, id: string): Promise<boolean>;

  /** Ordered by id. */
  listAlerts(accountId: string, part?: ListPieceRequest): Promise<ListPiece<Alert>>;

  // ——— bulk operations ———

  /** Returns false and creates nothing if the account already runs `runningMax` jobs. */
  createJob(job: Job, runningMax?: number): Promise<boolean>;

  getJob(accountId: string, id: string): Promise<Job | null>;

  stopJob(accountId: string, id: string, now: number): Promise<boolean>;

  /** Ordered from the newest to the oldest. */
  listJobs(accountId: string, part?: ListPieceRequest): Promise<ListPiece<Job>>;

  // ——— topics ———

  getTopic(accountId: string, nameOrId: string): Promise<Topic | null>;

  /**
   * Writes the whole topic if nobody has changed it since `topic.version` was read. Version 0 means that the topic must
   * not exist yet. A topic without endpoints is deleted. `changed` means that nothing was written: the caller must read
   * the topic and decide again.
   */
  saveTopic(topic: Topic): Promise<'saved' | 'changed'>;

  /** How many topics the account has, counted up to `max`. */
  countTopics(accountId: string, max: number): Promise<number>;

  /** Ordered by name. */
  listTopics(accountId: string, part?: ListPieceRequest): Promise<ListPiece<Topic>>;
}
