// What people set up, except lines: topics, schedules, alerts and bulk operations. Lists are read in bounded pieces.

import type { Alert } from '../../rules/alerts/alert.ts';
import type { Job } from '../../rules/delivery/job.ts';
import type { Topic } from '../../rules/publish/topic.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

/** A schedule in a list. A body that does not fit into the byte limit of the list is returned empty. */
export interface ListedSchedule extends Schedule {
  readonly isBodyLeftOut?: true;
}

export interface ResourceStore {
  // ——— schedules ———

  /** Replaces the whole schedule with the same id, if there is one. */
  saveSchedule(schedule: Schedule): Promise<void>;

  getSchedule(accountId: string, id: string): Promise<Schedule | null>;

  deleteSchedule(accountId: string, id: string): Promise<boolean>;

  setScheduleNext(accountId: string, id: string, nextAt: number | null, isPaused: boolean): Promise<boolean>;

  /** Ordered by id. */
  listSchedules(accountId: string, part?: ListPart): Promise<ListPiece<ListedSchedule>>;

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
  listAlerts(accountId: string, part?: ListPart): Promise<ListPiece<Alert>>;

  // ——— bulk operations ———

  /** Returns false and creates nothing if the account already runs `runningMax` jobs. */
  createJob(job: Job, runningMax?: number): Promise<boolean>;

  getJob(accountId: string, id: string): Promise<Job | null>;

  stopJob(accountId: string, id: string, now: number): Promise<boolean>;

  /** Ordered from the newest to the oldest. */
  listJobs(accountId: string, part?: ListPart): Promise<ListPiece<Job>>;

  // ——— topics ———

  getTopic(accountId: string, nameOrId: string): Promise<Topic | null>;

  /**
   * Writes the whole topic if nobody has changed it since `topic.version` was read. Version 0 means that the topic must
   * not exist yet. A topic without endpoints is deleted. After `changed`, the caller must read the topic and decide
   * again.
   */
  saveTopic(topic: Topic): Promise<'saved' | 'changed'>;

  /** How many topics the account has, counted up to `max`. */
  countTopics(accountId: string, max: number): Promise<number>;

  /** Ordered by name. */
  listTopics(accountId: string, part?: ListPart): Promise<ListPiece<Topic>>;
}
