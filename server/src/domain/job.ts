// A bulk operation: something done to every message that a filter means, at a chosen pace, until it is done or stopped.

import type { NewMessage } from './message.ts';
import { type MessageFilter, OPEN_STATES, type ShownState } from './message-filter.ts';

export type JobAction = 'cancel' | 'retry' | 'delete';

export interface Job {
  readonly id: string;
  readonly accountId: string;
  readonly action: JobAction;
  readonly filter: MessageFilter;
  readonly perSecond: number;
  readonly state: 'running' | 'stopped' | 'done';
  /** How many messages were meant when it was made. */
  readonly matched: number;
  /** There were more: counting ended before all were counted. */
  readonly isMatchedCut: boolean;
  readonly done: number;
  /** Messages accepted after this one were not there when it was made, or are done already. */
  readonly atSeq: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What one step of a job does to the messages it found. */
export type JobWork =
  | { readonly action: 'cancel'; readonly messageIds: readonly string[]; readonly expiresAt: number }
  | { readonly action: 'delete'; readonly messageIds: readonly string[] }
  | {
      readonly action: 'retry';
      readonly retries: readonly { readonly messageId: string; readonly message: NewMessage }[];
      /** Messages the account may make in a day; over it, the step waits. */
      readonly dayMax: number | null;
    };

/** A piece of its work, as it is noted. */
export interface JobStep {
  /** How many more are done. */
  readonly done: number;
  /** Where it goes on; null when nothing is left. */
  readonly atSeq: number | null;
  readonly now: number;
}

/**
 * Which messages an action is for: cancelling for the open ones, the others for dead letters; and only those that were
 * there when it was asked for.
 */
export function jobFilter({ action, filter, createdAt }: Pick<Job, 'action' | 'filter' | 'createdAt'>): MessageFilter {
  const isForRetried = action === 'retry' && filter.isRetried === true;
  const applicable: readonly ShownState[] = action === 'cancel' ? OPEN_STATES : isForRetried ? [] : ['FAILED'];
  const states = filter.states ? applicable.filter((state) => filter.states!.includes(state)) : applicable;
  // What was sent again is no dead letter any more; deleting it takes asking for it.
  const isRetried = action === 'retry' ? false : action === 'delete' ? (filter.isRetried ?? false) : filter.isRetried;
  return {
    ...filter,
    ...(isRetried !== undefined && { isRetried }),
    states,
    toAt: Math.min(filter.toAt ?? createdAt, createdAt),
    // What was open then and has failed since is another dead letter.
    ...(action !== 'cancel' && { endedToAt: createdAt }),
  };
}
