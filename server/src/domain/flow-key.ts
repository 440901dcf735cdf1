// A flow key as it stands: its limits, what it has let through, what waits behind it.

import type { FlowLimits } from './flow-control.ts';

export interface FlowKey {
  readonly key: string;
  readonly limits: FlowLimits;
  /** A pinned limit is held against what messages say. */
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
  readonly isPaused: boolean;
  /** Attempts let through and not ended. */
  readonly active: number;
  readonly waiting: number;
  /** More wait: counting ended at a budget. */
  readonly isWaitingCut?: true;
  readonly windowStartAt: number;
  /** Attempts let through in the current period. */
  readonly windowCount: number;
}

/** What to do with one limit of a key. */
export type FlowPin<T> = T | 'keep' | 'unpin';
