// A named FIFO queue. Its messages start in the order of the time they first became due, then of acceptance; the
// next one starts when one before it has ended, so that a retrying head holds its queue. The store reads the line, asks
// here what may start, and writes that.

import type { Waiting } from './line.ts';
import { NEVER_AT } from './recovery.ts';

export const QUEUE_PARALLELISM_DEFAULT = 1;
export const QUEUE_PARALLELISM_MAX = 1000;

export interface Queue {
  readonly accountId: string;
  readonly name: string;
  /** How many of its messages may be on their way at once. */
  readonly parallelism: number;
  /** Accepts, starts nothing new, lets running attempts end. */
  readonly isPaused: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Its messages that have not ended. */
  readonly lag: number;
  /** There are more: counting ended at a budget. */
  readonly isLagCut?: true;
}

export interface QueueChange {
  readonly parallelism?: number;
  readonly isPaused?: boolean;
}

/** How a queue lets its messages start. */
export type QueueRules = Pick<Queue, 'parallelism' | 'isPaused'>;

export function changedRules(before: QueueRules, change: QueueChange): QueueRules {
  return { parallelism: change.parallelism ?? before.parallelism, isPaused: change.isPaused ?? before.isPaused };
}

/** How many more heads may start now. */
export function freeHeads({ parallelism, isPaused }: QueueRules, started: number): number {
  return isPaused ? 0 : Math.max(0, parallelism - started);
}

/** A message in the line of a queue that has no place yet. */
export interface InLine {
  /** Its place in the line: the time at which it first was due. */
  readonly firstDueAt: number;
  readonly dueAt: number;
}

export interface HeadPlan<T> {
  /** These have a place from now on. */
  readonly start: readonly { readonly head: T; readonly state: Waiting }[];
  /** So many places are given back, the last ones first, by those that have no attempt under way. */
  readonly giveBack: number;
  /** When the next one may start, as far as the clock decides it. */
  readonly nextStartAt: number | null;
  /** The earliest time at which the queue has something to claim, or null. */
  readonly dueAt: number | null;
}

/** `started` have a place. `line` are those behind them, in order: as many as may start, or up to the first that is not due. */
export function planHeads<T extends InLine>(
  queue: QueueRules,
  started: number,
  line: readonly T[],
  now: number,
): HeadPlan<T> {
  const giveBack = Math.max(0, started - queue.parallelism);
  const heads = line.slice(0, freeHeads(queue, started));
  const waitsAt = heads.findIndex(({ firstDueAt }) => firstDueAt > now);
  const nextStartAt = heads[waitsAt]?.firstDueAt ?? null;
  const start = (waitsAt === -1 ? heads : heads.slice(0, waitsAt)).map((head) => ({
    head,
    // One that had its place taken away while it waited for its retry waits on, as the head.
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
 * What becomes of the heads that have a place when their queue is paused or resumed. In a pause they wait for the queue and
 * keep their place; after it they wait for the clock, as before.
 */
export function moveInPause(isPaused: boolean): { readonly from: readonly Waiting[]; readonly to: Waiting } {
  return isPaused ? { from: ['ready', 'delayed'], to: 'queued' } : { from: ['queued'], to: 'delayed' };
}

/**
 * Of the open messages with one order key, only the first may be a head. `line` are the first ones in order, as long as none
 * of them has a place: those whose mark must change, with the new mark.
 */
export function wrongMarks<T extends { readonly isFirstOfKey: boolean }>(
  line: readonly T[],
): { readonly message: T; readonly isFirst: boolean }[] {
  return line
    .map((message, index) => ({ message, isFirst: index === 0 }))
    .filter(({ message, isFirst }) => message.isFirstOfKey !== isFirst);
}
