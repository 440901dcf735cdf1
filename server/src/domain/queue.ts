// A named FIFO queue. Its messages start in the order of the time they first became due, then of acceptance; the
// next one starts when one before it has ended, so that a retrying head holds its queue.

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

/** How many more heads may start now: what every adapter's FIFO rests on. */
export function freeHeads(queue: Pick<Queue, 'parallelism' | 'isPaused'>, started: number): number {
  return queue.isPaused ? 0 : Math.max(0, queue.parallelism - started);
}
