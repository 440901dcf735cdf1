// The state of the live list: its rows, how many new messages are pending, and whether it is live.

import type { Message } from 'postrider-sdk';
import type { Liveness } from './live-stream.ts';

export interface FeedState {
  readonly rows: readonly Message[];
  /** Ids of rows that just came in live, for a moment. */
  readonly fresh: ReadonlySet<string>;
  /** How many new messages wait to be shown. */
  readonly newCount: number;
  /** The real number is larger than `newCount`. */
  readonly isNewCountCut: boolean;
  /** While messages come too fast to show each: how many per second. The rows are the newest ones. */
  readonly burst: { readonly perSecond: number } | null;
  /** Nothing has been read yet. */
  readonly isLoading: boolean;
  readonly isLoadingMore: boolean;
  readonly hasMore: boolean;
  readonly error: Error | null;
  readonly live: Liveness | 'paused';
  /** When something last arrived from the service. */
  readonly heardAt: number;
}

export const NOTHING_READ: FeedState = {
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
