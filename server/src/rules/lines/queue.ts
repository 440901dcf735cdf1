// A named FIFO queue: its messages start in the order of the time they first became due, then of acceptance. The next
// one starts when one before it has ended, so a head that is being retried blocks its queue. The store reads the line,
// calls these functions, and writes the plan.

import { NEVER_AT } from '../delivery/recovery.ts';
import type { Waiting } from './line.ts';

export const QUEUE_PARALLELISM_DEFAULT = 1;
export const QUEUE_PARALLELISM_MAX = 1000;

export interface Queue {
  readonly accountId: string;
  readonly name: string;
  /** How many of its messages may be started but not ended at the same time. */
  readonly parallelism: number;
  /** A paused queue accepts messages but starts none. Running attempts are not stopped. */
  readonly isPaused: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** How many of its messages have not ended. */
  readonly lag: number;
  /** The real number is larger: counting stopped at a budget. */
  readonly isLagCut?: true;
}

export interface QueueChange {
  readonly parallelism?: number;
  readonly isPaused?: boolean;
}

/** The rules by which a queue starts its messages. */
export type QueueRules = Pick<Queue, 'parallelism' | 'isPaused'>;

export function changedRules(before: QueueRules, change: QueueChange): QueueRules {
  return { parallelism: change.parallelism ?? before.parallelism, isPaused: change.isPaused ?? before.isPaused };
}

/** A queue without messages. */
export interface IdleQueue extends QueueRules {
  /** Whether a person has made or changed it. Otherwise a message made it. */
  readonly isSet: boolean;
  readonly createdAt: number;
}

/** The shortest time for which a queue that a message made is listed. */
const IDLE_KEPT_MS = 24 * 60 * 60 * 1000;

/** Whether a queue without messages may be deleted. The next message to it would create the same queue again. */
export function canDeleteQueue({ isSet, parallelism, isPaused, createdAt }: IdleQueue, now: number): boolean {
  return !isSet && !isPaused && parallelism === QUEUE_PARALLELISM_DEFAULT && createdAt + IDLE_KEPT_MS <= now;
}

/** How many more heads may start now. */
export function freeHeads({ parallelism, isPaused }: QueueRules, started: number): number {
  return isPaused ? 0 : Math.max(0, parallelism - started);
}

/** A message of a queue that has no place yet. */
export interface QueuedMessage {
  /** Its order in the line: the time at which it was first due. */
  readonly firstDueAt: number;
  readonly dueAt: number;
}

export interface HeadPlan<T> {
  /** The messages that get a place now. */
  readonly start: readonly { readonly head: T; readonly state: Waiting }[];
  /** How many places are released: the last ones first, and only by messages without an attempt in flight. */
  readonly giveBack: number;
  /** When the next message may start, if only the clock decides. */
  readonly nextStartAt: number | null;
  /** The earliest time at which the queue has something to claim, or null. */
  readonly dueAt: number | null;
}

/**
 * `started`: how many messages have a place. `line`: the messages behind them, in order, as many as may start, or up to
 * the first that is not due. At most `most` messages start; a queue that could start more is due again at once.
 */
export function planHeads<T extends QueuedMessage>(
  queue: QueueRules,
  started: number,
  line: readonly T[],
  now: number,
  most = Number.POSITIVE_INFINITY,
): HeadPlan<T> {
  const giveBack = Math.max(0, started - queue.parallelism);
  const free = freeHeads(queue, started);
  const heads = line.slice(0, Math.min(free, most));
  const waitsAt = heads.findIndex(({ firstDueAt }) => firstDueAt > now);
  const isCut = waitsAt === -1 && most < free && heads.length === most;
  const nextStartAt = isCut ? now : (heads[waitsAt]?.firstDueAt ?? null);
  const start = (waitsAt === -1 ? heads : heads.slice(0, waitsAt)).map((head) => ({
    head,
    // A message that lost its place while it waited for its retry keeps waiting for it, now as a head.
    state: head.dueAt > now ? ('delayed' as const) : ('ready' as const),
  }));
  const dueAt = Math.min(
    giveBack > 0 ? now : NEVER_AT,
    nextStartAt ?? NEVER_AT,
    ...start.map(({ head }) => Math.max(head.dueAt, now)),
  );
  return { start, giveBack, nextStartAt, dueAt: dueAt === NEVER_AT ? null : dueAt };
}

/**
 * How heads with a place change when their queue is paused or resumed. During the pause they wait for the queue and
 * keep their place. After the pause they wait for the clock, as before.
 */
export function changeInPause(isPaused: boolean): { readonly from: readonly Waiting[]; readonly to: Waiting } {
  return isPaused ? { from: ['ready', 'delayed'], to: 'queued' } : { from: ['queued'], to: 'delayed' };
}

/**
 * Of the open messages with one order key, only the first may be a head. `line`: the first of these messages in order,
 * if none of them has a place. Returns the messages whose mark `isFirstOfKey` must change, with the new mark.
 */
export function wrongMarks<T extends { readonly isFirstOfKey: boolean }>(
  line: readonly T[],
): { readonly message: T; readonly isFirst: boolean }[] {
  return line
    .map((message, index) => ({ message, isFirst: index === 0 }))
    .filter(({ message, isFirst }) => message.isFirstOfKey !== isFirst);
}
