// What people set up: queues, flow keys, schedules, alerts, bulk operations and topics. Lists are read in bounded pieces.

import type { Alert } from '../../rules/alerts/alert.ts';
import type { Job } from '../../rules/delivery/job.ts';
import type { FlowKey, FlowPin } from '../../rules/lines/flow-key.ts';
import type { Queue, QueueChange } from '../../rules/lines/queue.ts';
import type { Topic } from '../../rules/publish/topic.ts';
import type { Schedule } from '../../rules/schedules/schedule.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

/** The position of a message in its queue. */
export interface LinePosition {
  readonly dueAt: number;
  readonly seq: number;
}

export interface LinePiece {
  readonly count: number;
  /** Where to continue the count; null when all are counted. */
  readonly next: LinePosition | null;
}

/** A schedule in a list. A body over the list's byte budget reads as empty. */
export interface ListedSchedule extends Schedule {
  readonly isBodyLeftOut?: true;
}

export interface ResourceStore {
  // ——— queues ———

  /** Creates the queue or changes the fields that `change` names. Takes effect with the next claim. */
  saveQueue(accountId: string, name: string, change: QueueChange, now: number): Promise<Queue>;

  /** The lag is counted up to a budget, and the result says if it was cut there. */
  getQueue(accountId: string, name: string): Promise<Queue | null>;

  /**
   * Deletes the queue if it has no open messages, apart from those whose cancel was requested. Returns the lag (0 means
   * deleted), or null if there is no such queue.
   */
  deleteQueue(accountId: string, name: string): Promise<number | null>;

  /** Ordered by name. The lag is counted as in `getQueue`. */
  listQueues(accountId: string, part?: ListPart): Promise<ListPiece<Queue>>;

  /** How many queues the account has, counted up to `max`. */
  countQueues(accountId: string, max: number): Promise<number>;

  /** Continues a count of the open messages of a queue, from a position in the queue. */
  countLine(accountId: string, queueName: string, from: LinePosition | null): Promise<LinePiece>;

  // ——— flow keys ———

  getFlowKey(accountId: string, key: string): Promise<FlowKey | null>;

  pauseFlowKey(accountId: string, key: string, isPaused: boolean, now: number): Promise<FlowKey | null>;

  /** Pins limits against those that messages carry, or removes the pins. Creates the key if it does not exist. */
  pinFlowKey(
    accountId: string,
    key: string,
    pin: {
      readonly parallelism: FlowPin<number>;
      readonly rate: FlowPin<{ readonly rate: number; readonly periodMs: number }>;
    },
    now: number,
  ): Promise<FlowKey>;

  resetFlowRate(accountId: string, key: string, now: number): Promise<FlowKey | null>;

  /** Ordered by key. */
  listFlowKeys(accountId: string, part?: ListPart): Promise<ListPiece<FlowKey>>;

  // ——— schedules ———

  /** Replaces the whole schedule with the same id, if there is one. */
  saveSchedule(schedule: Schedule): Promise<void>;

  getSchedule(accountId: string, id: string): Promise<Schedule | null>;

  deleteSchedule(accountId: string, id: string): Promise<boolean>;

  setScheduleNext(accountId: string, id: string, nextAt: number | null, isPaused: boolean): Promise<boolean>;

  /** Ordered by id. */
  listSchedules(accountId: string, part?: ListPart): Promise<ListPiece<ListedSchedule>>;

  /** Counted up to `max`. */
  countSchedules(accountId: string, max: number): Promise<number>;

  // ——— alerts ———

  /**
   * Creates the alert, or changes what a person has set of the one with that id; what its target was told and
   * when it is judged next stay. Returns the alert as it is stored. Null, and nothing is created, if the account already has `max` alerts.
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

  /** Newest first. */
  listJobs(accountId: string, part?: ListPart): Promise<ListPiece<Job>>;

  // ——— topics ———

  getTopic(accountId: string, nameOrId: string): Promise<Topic | null>;

  /**
   * Writes the whole topic if nobody changed it since `topic.version` was read (0 means it must not exist yet). Deletes
   * a topic without endpoints. `changed` means: read it again and decide again.
   */
  saveTopic(topic: Topic): Promise<'saved' | 'changed'>;

  /** Counted up to `max`. */
  countTopics(accountId: string, max: number): Promise<number>;

  /** Ordered by name. */
  listTopics(accountId: string, part?: ListPart): Promise<ListPiece<Topic>>;
}
