// The state of the live list: its rows, how many new messages are pending, and whether it is live.

import type { Message } from 'postrider-sdk';
import type { Liveness } from './live-stream.ts';

export interface FeedState {
  readonly rows: readonly Message[];
  /** Ids of rows that have just come in live. An id stays here for a moment. */
  readonly fresh: ReadonlySet<string>;
  /** How many new messages wait to be shown. */
  readonly newCount: number;
  /** True if the real number is larger than `newCount`. */
  readonly isNewCountCut: boolean;
  /**
   * Set while messages come too fast to show each of them: how many per second. The rows are then the newest messages.
   */
  readonly burst: { readonly perSecond: number } | null;
  /** True while nothing has been read yet. */
  readonly isLoading: boolean;
  readonly isLoadingMore: boolean;
  readonly hasMore: boolean;
  readonly error: Error | null;
  readonly live: Liveness | 'paused';
  /** When something last arrived from the service. */
  readonly heardAt: number;
}

export const EMPTY_FEED_STATE: FeedState = {
  rows: [],
  fresh: new Set(),
  newCount: 0,
  isNewCountCut: false,
  burst: null,
  isLoading: true,
  isLoadingMore: false,
  hasMore: false,
  error: null,
  live: 'connecting',
  heardAt: 0,
};
