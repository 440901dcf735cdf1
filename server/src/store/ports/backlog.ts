// How much waits in the whole service, read piece by piece: each piece is short, and other reads run between two pieces.

/**
 * What is counted with one walk over an index: all open messages, those that a node has claimed, those that await an
 * ack, all dead letters, the open messages of each queue, or those that wait behind each flow-control key.
 */
export type BacklogKind = 'open' | 'claimed' | 'acks' | 'deadLetters' | 'queues' | 'flowKeys';

/** The key of the last message that was counted. */
export type BacklogPosition = readonly (string | number)[];

export interface BacklogPiece {
  /** Ordered by account and name. What has no lines is one group, without account and name. */
  readonly groups: readonly { readonly accountId: string; readonly name: string; readonly count: number }[];
  /** Null: everything is counted. */
  readonly after: BacklogPosition | null;
}

/** `rank` and `seq` are those of the last message of the backlog that was counted. Null: the backlog is counted. */
export interface ReadyPosition {
  readonly accountId: string;
  readonly backlog: string;
  readonly last: { readonly rank: number; readonly seq: number } | null;
}

/** Ready messages: they wait for nothing but a slot, or for their host if they park. Those of suspended accounts do not count. */
export interface ReadyPiece {
  readonly count: number;
  /** Since when the first message of any backlog has been ready. Null if there is none. */
  readonly oldestAt: number | null;
  /** The same for messages that park while their host is down. */
  readonly oldestParkingAt: number | null;
  readonly after: ReadyPosition | null;
}

export const READY_START: ReadyPosition = { accountId: '', backlog: '', last: null };

/** A queue or a flow-control key, and how many messages are in it. */
export interface LineDepth {
  readonly accountId: string;
  readonly name: string;
  readonly count: number;
}

/** What was counted in one walk over everything. */
export interface Backlog {
  /** When the count began, by the clock of the service. */
  readonly at: number;
  readonly open: number;
  readonly claimed: number;
  readonly acks: number;
  readonly ready: number;
  readonly deadLetters: number;
  readonly oldestAt: number | null;
  readonly oldestParkingAt: number | null;
  /** The longest ones, the longest first. */
  readonly queues: readonly LineDepth[];
  readonly flowKeys: readonly LineDepth[];
}
