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
  /** How many messages matched when it was created. */
  readonly matched: number;
  /** There were more: counting stopped before the end. */
  readonly isMatchedCut: boolean;
  readonly done: number;
  /** Messages accepted after this one did not exist when the job was created, or are done already. */
  readonly atSeq: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The most running jobs that are handled together. Those that have waited longest for a turn come first. */
export const JOBS_AT_ONCE = 100;

/** What one step of a job does to the messages it found. */
export type JobWork =
  /** Nothing for now: its turn goes to others. */
  | { readonly action: 'wait' }
  | { readonly action: 'cancel'; readonly messageIds: readonly string[]; readonly expiresAt: number }
  | { readonly action: 'delete'; readonly messageIds: readonly string[] }
  | {
      readonly action: 'retry';
      readonly retries: readonly DeadLetterRetry[];
      /** Messages the account may make in a day; over it, the step waits. */
      readonly dayMax: number | null;
    };

/** One recorded piece of its work. */
export interface JobStep {
  /** How many more messages are done after it. */
  readonly done: number;
  /** Where it continues. Null when nothing is left. */
  readonly atSeq: number | null;
  readonly now: number;
}

/**
 * Which messages an action applies to: cancel applies to open messages, the others to dead letters. Only to those that
 * existed when it was created.
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
    // A message that was open then and has failed since is not included.
    ...(action !== 'cancel' && { endedToAt: createdAt }),
  };
}

function applicableStates(action: Job['action'], filter: MessageFilter): readonly ShownState[] {
  if (action === 'cancel') return OPEN_STATES;
  return action === 'retry' && filter.isRetried === true ? [] : ['FAILED'];
}

/** A message that was sent again is not a dead letter any more. Deleting it must be requested explicitly. */
function retriedOnes(action: Job['action'], { isRetried }: MessageFilter): MessageFilter['isRetried'] {
  if (action === 'retry') return false;
  return action === 'delete' ? (isRetried ?? false) : isRetried;
}

/** How long a bulk operation that has ended is listed. */
const JOBS_KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** Whether a bulk operation is no longer listed. */
export function isJobOver({ state, updatedAt }: Pick<Job, 'state' | 'updatedAt'>, now: number): boolean {
  return state !== 'running' && updatedAt + JOBS_KEPT_MS <= now;
}
