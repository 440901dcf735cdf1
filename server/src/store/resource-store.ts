// What people set up: queues, flow keys, schedules, bulk operations and topics, and the lists of them. Each list is read a
// bounded piece at a time.

import type { FlowKey, FlowPin } from '../domain/flow-key.ts';
import type { Job } from '../domain/job.ts';
import type { Queue, QueueChange } from '../domain/queue.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Topic } from '../domain/topic.ts';
import type { ListPart, ListPiece } from './list-piece.ts';

/** The place of a message in the line of its queue. */
export interface LinePlace {
  readonly dueAt: number;
  readonly seq: number;
}

export interface LinePiece {
  readonly count: number;
  /** Where to count on; null when all are counted. */
  readonly next: LinePlace | null;
}

/** A schedule as it stands in a list: a body over the budget for lists reads as empty. */
export interface ListedSchedule extends Schedule {
  readonly isBodyLeftOut?: true;
}

export interface ResourceStore {
  // ——— queues ———

  /** Makes the queue or changes what `change` names; takes effect with the next claim. */
  saveQueue(accountId: string, name: string, change: QueueChange, now: number): Promise<Queue>;

  /** Its lag is counted up to a budget, and says when it is cut there. */
  getQueue(accountId: string, name: string): Promise<Queue | null>;

  /** Deletes a queue without open messages but those that are to be cancelled. Answers its lag (0: deleted), or null when there is no such queue. */
  deleteQueue(accountId: string, name: string): Promise<number | null>;

  /** By name. The lag of each is counted as `getQueue` does. */
  listQueues(accountId: string, part?: ListPart): Promise<ListPiece<Queue>>;

  /** How many queues there are; counted up to `max`. */
  countQueues(accountId: string, max: number): Promise<number>;

  /** Counts on in the open messages of a queue, from a place in its line. */
  countLine(accountId: string, queueName: string, from: LinePlace | null): Promise<LinePiece>;

  // ——— flow keys ———

  getFlowKey(accountId: string, key: string): Promise<FlowKey | null>;

  pauseFlowKey(accountId: string, key: string, isPaused: boolean, now: number): Promise<FlowKey | null>;

  /** Holds limits against what messages say, or lets them say again. Makes the key if need be. */
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

  /** By key. */
  listFlowKeys(accountId: string, part?: ListPart): Promise<ListPiece<FlowKey>>;

  // ——— schedules ———

  /** Whole: what was there under the same id is replaced. */
  saveSchedule(schedule: Schedule): Promise<void>;

  getSchedule(accountId: string, id: string): Promise<Schedule | null>;

  deleteSchedule(accountId: string, id: string): Promise<boolean>;

  setScheduleNext(accountId: string, id: string, nextAt: number | null, isPaused: boolean): Promise<boolean>;

  /** By id. */
  listSchedules(accountId: string, part?: ListPart): Promise<ListPiece<ListedSchedule>>;

  countSchedules(accountId: string): Promise<number>;

  // ——— bulk operations ———

  /** False, and nothing is made, where so many of the account run already. */
  createJob(job: Job, runningMax?: number): Promise<boolean>;

  getJob(accountId: string, id: string): Promise<Job | null>;

  stopJob(accountId: string, id: string, now: number): Promise<boolean>;

  /** The newest first. */
  listJobs(accountId: string, part?: ListPart): Promise<ListPiece<Job>>;

  // ——— topics ———

  getTopic(accountId: string, nameOrId: string): Promise<Topic | null>;

  /**
   * Writes the topic whole if nobody changed it since `topic.version` was read (0 = it must not exist yet).
   * A topic without endpoints is deleted. `changed` means: read again and decide anew.
   */
  saveTopic(topic: Topic): Promise<'saved' | 'changed'>;

  /** By name. */
  listTopics(accountId: string, part?: ListPart): Promise<ListPiece<Topic>>;
}
