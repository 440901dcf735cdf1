// How many messages of an account are in each state right now, in total and by queue, computed from counts that a store
// has grouped.

import type { Message } from '../delivery/message.ts';
import { shownState } from '../reads/message-filter.ts';

/** A count of open messages that have the same queue, state and conditions. */
export interface OpenGroup {
  readonly queueName: string | null;
  readonly state: Extract<Message['state'], 'pending' | 'claimed' | 'held'>;
  readonly hasAttempts: boolean;
  /** Whether the messages are not due yet. */
  readonly isLater: boolean;
  /**
   * Whether their queue or flow key holds the messages back: the queue is paused or has other messages before them, or
   * the flow key admits nothing.
   */
  readonly isHeldBack: boolean;
  /** Whether each of the messages holds a place in its queue. */
  readonly holdsPlace: boolean;
  readonly count: number;
  /** The earliest time at which one of the messages could start. */
  readonly readyAtMin: number;
}

export interface OpenCounts {
  /** Messages that are due and were not tried yet. */
  readonly waiting: number;
  /** Messages that are due later and were not tried yet. */
  readonly scheduled: number;
  readonly active: number;
  readonly retrying: number;
  /** Messages that wait for a person to release them. */
  readonly held: number;
}

export interface OpenOverview {
  readonly open: OpenCounts;
  /**
   * Since when the message that has waited longest for a slot could have started. Null if no message waits for a slot:
   * one that its queue or flow key holds back does not.
   */
  readonly oldestDueAt: number | null;
  readonly queues: readonly (OpenCounts & { readonly name: string; readonly placesTaken: number })[];
}

/** Counts of the messages that have ended, and of all messages. */
export interface EndedCounts {
  /** Dead letters that were not sent again. */
  readonly failed: number;
  /** Dead letters that were sent again. */
  readonly retried: number;
  readonly cancelled: number;
  /** All messages, open and ended. */
  readonly all: number;
}

/** The counts of an account. A count that has reached `countedMax` means that many or more. */
export interface AccountOverview extends OpenOverview, EndedCounts {
  readonly countedMax: number;
}

export function openOverviewOf(groups: readonly OpenGroup[]): OpenOverview {
  // Grouped once, because an account may have thousands of queues: searching all groups for each queue would be slow.
  const byQueue = Map.groupBy(groups, ({ queueName }) => queueName);
  const queueNames = [...byQueue.keys()].filter((name) => name !== null).sort();
  const late = groups.filter(({ state, isLater, isHeldBack }) => state === 'pending' && !isLater && !isHeldBack);
  return {
    open: countsOf(groups),
    oldestDueAt:
      late.length === 0
        ? null
        : late.reduce((least, { readyAtMin }) => Math.min(least, readyAtMin), Number.POSITIVE_INFINITY),
    queues: queueNames.map((name) => {
      const own = byQueue.get(name)!;
      return { name, ...countsOf(own), placesTaken: sum(own.filter(({ holdsPlace }) => holdsPlace)) };
    }),
  };
}

function countsOf(groups: readonly OpenGroup[]): OpenCounts {
  const shown = (state: string) => (group: OpenGroup) =>
    shownState({ state: group.state, attempts: group.hasAttempts ? 1 : 0 }) === state;
  const created = groups.filter(shown('CREATED'));
  return {
    waiting: sum(created.filter(({ isLater }) => !isLater)),
    scheduled: sum(created.filter(({ isLater }) => isLater)),
    active: sum(groups.filter(shown('ACTIVE'))),
    retrying: sum(groups.filter(shown('RETRY'))),
    held: sum(groups.filter(shown('HELD'))),
  };
}

function sum(groups: readonly OpenGroup[]): number {
  return groups.reduce((total, { count }) => total + count, 0);
}
