// A bulk operation: an action on every message that matches a filter, at a chosen pace, until it is done or stopped.

import { type MessageFilter, OPEN_STATES, type ShownState } from '../reads/message-filter.ts';
import type { DeadLetterRetry } from './message.ts';

export type JobAction = 'cancel' | 'retry' | 'delete';

export interface Job {
  readonly id: string;
  readonly accountId: string;
  readonly action: JobAction;
  readonly filter: MessageFilter;
  readonly perSecond: number;
  readonly state: 'running' | 'stopped' | 'done';
  /** How many messages matched when the job was created. */
  readonly matched: number;
  /** Whether counting stopped at a limit, so that more messages than `matched` matched. */
  readonly isMatchedCut: boolean;
  readonly done: number;
  /**
   * The position of the job, which goes from the newest message to the oldest. Messages newer than this position are
   * done already, or were created after the job.
   */
  readonly atSeq: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** How many running jobs one round of upkeep handles at most. Of more, it handles those that have waited longest. */
export const JOBS_AT_ONCE = 100;

/** What one step of a job does, and with which messages. */
export type JobWork =
  /** The job does nothing in this step, and other jobs have their turn. */
  | { readonly action: 'wait' }
  | { readonly action: 'cancel'; readonly messageIds: readonly string[]; readonly expiresAt: number }
  | { readonly action: 'delete'; readonly messageIds: readonly string[] }
  | {
      readonly action: 'retry';
      readonly retries: readonly DeadLetterRetry[];
      /** How many messages the account may make in a day; null: no quota. A step that would exceed it waits. */
      readonly dayMax: number | null;
    };

/** What is recorded after one piece of a job. */
export interface JobStep {
  /** How many messages this piece has processed. */
  readonly done: number;
  /** Where the job continues. Null when nothing is left. */
  readonly atSeq: number | null;
  readonly now: number;
}

/**
 * The messages that a job applies to: open messages for a cancel, dead letters for a retry or a delete. Messages that
 * did not exist when the job was created are not included.
 */
export function jobFilter({ action, filter, createdAt }: Pick<Job, 'action' | 'filter' | 'createdAt'>): MessageFilter {
  const applicable = applicableStates(action, filter);
  const states = filter.states ? applicable.filter((state) => filter.states!.includes(state)) : applicable;
  const isRetried = retriedOnes(action, filter);
  return {
    ...filter,
    ...(isRetried !== undefined && { isRetried }),
    states,
    toAt: Math.min(filter.toAt ?? createdAt, createdAt),
    // A message that was open when the job was created, and failed later, is not included.
    ...(action !== 'cancel' && { endedToAt: createdAt }),
  };
}

function applicableStates(action: Job['action'], filter: MessageFilter): readonly ShownState[] {
  if (action === 'cancel') return OPEN_STATES;
  return action === 'retry' && filter.isRetried === true ? [] : ['FAILED'];
}

/**
 * Which dead letters a job selects, by whether they were sent again. One that was sent again is never retried a second
 * time, and is deleted only if the filter selects such dead letters.
 */
function retriedOnes(action: Job['action'], { isRetried }: MessageFilter): MessageFilter['isRetried'] {
  if (action === 'retry') return false;
  return action === 'delete' ? (isRetried ?? false) : isRetried;
}

/** How long a bulk operation is still listed after its end. */
const JOBS_KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** Whether a bulk operation is no longer listed. */
export function isJobOver({ state, updatedAt }: Pick<Job, 'state' | 'updatedAt'>, now: number): boolean {
  return state !== 'running' && updatedAt + JOBS_KEPT_MS <= now;
}
