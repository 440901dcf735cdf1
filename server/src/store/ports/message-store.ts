// What people see of messages and do to them: single messages, searches, events, cancels, dead letters and statistics.
// Each read does a bounded amount of work. An id of another account is treated like a missing one.

import type { Activity } from '../../rules/accounts/activity.ts';
import type { EndedCounts, OpenGroup } from '../../rules/accounts/standing.ts';
import type { EventFilter, MessageEvent } from '../../rules/delivery/event.ts';
import type { FailureGroup } from '../../rules/delivery/failure-group.ts';
import type { Attempt, DeadLetterRetry, Message } from '../../rules/delivery/message.ts';
import type { Ahead } from '../../rules/delivery/why.ts';
import type { FlowKey } from '../../rules/lines/flow-key.ts';
import type { Queue } from '../../rules/lines/queue.ts';
import type { Look } from '../../rules/reads/look.ts';
import type { CountPiece, MessageFilter } from '../../rules/reads/message-filter.ts';

export type MessageDetail = 'whole' | 'outline';

export interface StoredMessage {
  readonly message: Message;
  readonly attempts: readonly Attempt[];
}

/** What rules/delivery/why.ts needs to know about a message that has not ended. */
export interface WhyFacts {
  readonly message: Message;
  readonly queue: Queue | null;
  /** In a queue: the message before it that should end first, and how many are before it in all. */
  readonly ahead: Ahead | null;
  readonly flowKey: FlowKey | null;
  /** How many messages wait before it under its flow key; null if it does not wait there. */
  readonly flowAhead: { readonly count: number; readonly isCountCut?: true } | null;
}

export interface MessageState {
  readonly id: string;
  readonly state: Message['state'];
}

/** One page of a list. It continues after the last entry of the previous page, in either order. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: number | null;
  readonly order: 'newestFirst' | 'oldestFirst';
  /** If false, bodies read as empty: they may be large. */
  readonly withBodies: boolean;
  /**
   * For messages that one transaction is going to change or delete: their bodies count like entries of the page, although
   * they are not read. A changed row may be written with its body, and the pages of a deleted one are visited.
   */
  readonly isForChange?: boolean;
  /** Also returns the last attempt of each message. */
  readonly withLastAttempts?: boolean;
  /** For events only: for a reader that continues after the page and never reads it again. */
  readonly isLive?: boolean;
  /** The page ends when its entries reach this many bytes. The default is in the table of budgets. */
  readonly bytesMax?: number;
  /** The page ends when this much was read. The default is the limit of one call. */
  readonly look?: Look;
}

/** How much was read for a page. */
export interface PageCost {
  readonly looked: Look;
  /** About how many bytes its entries take in a response. */
  readonly weight: number;
}

export interface MessagePage extends PageCost {
  readonly messages: readonly Message[];
  /** Parallel to the messages, if they were requested. */
  readonly lastAttempts: readonly (Attempt | null)[];
  /** Null on the last page. A page that is short, or even empty, may still not be the last. */
  readonly cursor: number | null;
}

/** What a cancel did to each of the given messages. */
export interface CancelAnswer {
  /** Messages that have ended. */
  readonly cancelled: readonly string[];
  /** Messages that a node has claimed. They end with that claim and are not claimed again. */
  readonly requested: readonly string[];
  /** Like `requested`, but an earlier call requested it. */
  readonly awaited: readonly string[];
}

export interface EventPage extends PageCost {
  readonly events: readonly MessageEvent[];
  readonly cursor: number | null;
  /** The position of the last event that was read. A live stream continues there. */
  readonly endedAt: number;
}

/** Open messages in groups. The cursor is null if there are none after these. */
export interface OpenPiece {
  readonly groups: readonly OpenGroup[];
  readonly cursor: number | null;
}

export interface ActivityBucket {
  readonly at: number;
  readonly activity: Activity;
}

export interface MessageStore {
  // ——— messages ———

  /**
   * With its body and the responses of its attempts. If the responses are large, only the last ones are returned. An
   * outline has neither.
   */
  getMessage(accountId: string, messageId: string, detail?: MessageDetail): Promise<StoredMessage | null>;

  /** Null if there is no such message. */
  whyFacts(accountId: string, messageId: string): Promise<WhyFacts | null>;

  /** The states of those of the given messages that exist. */
  messageStates(accountId: string, ids: readonly string[]): Promise<readonly MessageState[]>;

  searchMessages(accountId: string, filter: MessageFilter, page: PageRequest): Promise<MessagePage>;

  /** Continues a count from a cursor, and reads a bounded number of messages: at most `look`, if given. */
  countPiece(
    accountId: string,
    filter: MessageFilter,
    max: number,
    cursor: number | null,
    look?: Look,
  ): Promise<CountPiece>;

  /** Makes a message that waits for the clock due now. */
  deliverNow(accountId: string, messageId: string, now: number): Promise<'due' | 'inQueue' | 'held' | 'notWaiting'>;

  /**
   * Releases held messages: they are due now and keep their positions. Earlier crashes no longer count. Returns their
   * ids.
   */
  releaseHeld(accountId: string, messageIds: readonly string[], now: number): Promise<readonly string[]>;

  // ——— cancelling ———

  /**
   * Ends open messages as cancelled, or requests it if a node has claimed them. After that no attempt starts, except
   * one that the holder of a claim starts before it knows of the cancel: see `confirmCancels`.
   */
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): Promise<CancelAnswer>;

  /**
   * Notifies the nodes that hold these messages, and waits at most `withinMs` until they confirm that no attempt will
   * start. Returns the messages for which that is not certain. A node that is no longer alive starts nothing.
   */
  confirmCancels(accountId: string, messageIds: readonly string[], withinMs: number): Promise<readonly string[]>;

  // ——— dead letters ———

  /** Deletes failed messages by their ids. Returns how many it deleted. */
  deleteDeadLetters(accountId: string, messageIds: readonly string[]): Promise<number>;

  /**
   * Accepts each new message and marks its dead letter as retried; the dead letter can be read until its retention
   * ends. False if the dead letter is missing or already retried, or if the new message would be a duplicate: then the
   * dead letter is unchanged. `dayMax` is the daily quota of the account: above it, none is retried.
   */
  retryDeadLetters(
    retries: readonly DeadLetterRetry[],
    now: number,
    dayMax?: number | null,
  ): Promise<readonly boolean[] | 'overQuota'>;

  // ——— events ———

  listEvents(accountId: string, filter: EventFilter, page: PageRequest): Promise<EventPage>;

  /** The position of the newest event, to continue from with `oldestFirst`. */
  journalEnd(accountId: string): Promise<number>;

  /** Calls `listener` when the journal has new rows. A hint, like `onWork`, but for any number of listeners. */
  onJournal(listener: () => void): () => void;

  // ——— numbers ———

  /** The next open messages after a cursor, oldest first, in groups: at most `limit` of them, or fewer. */
  openPiece(accountId: string, now: number, limit: number, cursor: number | null): Promise<OpenPiece>;

  /** Counts the messages that have not been delivered, and all messages, each up to `limit`. */
  endedCounts(accountId: string, limit: number): Promise<EndedCounts>;

  /** What happened from `fromAt` until before `toAt`, in buckets of `bucketMs`. Empty buckets are left out. */
  activity(accountId: string, fromAt: number, toAt: number, bucketMs: number): Promise<readonly ActivityBucket[]>;

  /** The newest `limit` dead letters, grouped by host and reason. */
  failureGroups(accountId: string, limit: number): Promise<readonly FailureGroup[]>;
}
