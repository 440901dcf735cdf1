// What people read about messages and do with them: single messages, searches, events, cancels, dead letters and
// statistics. Each read does a bounded amount of work. An id of another account is treated like a missing one.

import type { EndedCounts, OpenGroup } from '../../rules/accounts/overview.ts';
import type { ChangeOutcome, MessageChange } from '../../rules/delivery/change.ts';
import type { EventFilter, MessageEvent } from '../../rules/delivery/event.ts';
import type { FailureGroup } from '../../rules/delivery/failure-group.ts';
import type { Attempt, DeadLetterRetry, Message } from '../../rules/delivery/message.ts';
import type { Ahead } from '../../rules/delivery/why.ts';
import type { FlowKey } from '../../rules/lines/flow-key.ts';
import type { Queue } from '../../rules/lines/queue.ts';
import type { CountPiece, MessageFilter } from '../../rules/reads/message-filter.ts';
import type { ReadAmount } from '../../rules/reads/read-amount.ts';

/** How much of a message is read. An outline has neither the body nor the responses of the attempts. */
export type MessageDetail = 'whole' | 'outline';

export interface StoredMessage {
  readonly message: Message;
  readonly attempts: readonly Attempt[];
}

/** The facts that say why a message waits: what rules/delivery/why.ts needs to know about it. */
export interface WaitFacts {
  readonly message: Message;
  readonly queue: Queue | null;
  /** For a message in a queue: the message before it that should end first, and how many messages are before it. */
  readonly ahead: Ahead | null;
  readonly flowKey: FlowKey | null;
  /**
   * How many messages wait before this one under its flow key, and one of those that have a place there: the only one if
   * there is one place. Null if this message does not wait there.
   */
  readonly flowAhead: {
    readonly count: number;
    readonly isCountCut?: true;
    readonly messageId: string | null;
  } | null;
}

export interface MessageIdAndState {
  readonly id: string;
  readonly state: Message['state'];
}

/** One page of a list. In either order, the page continues after the last entry of the previous page. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: number | null;
  readonly order: 'newestFirst' | 'oldestFirst';
  /** If false, bodies are returned empty, because they may be large. */
  readonly withBodies: boolean;
  /**
   * For a transaction that changes or deletes the messages. Bodies are not read, but their sizes count towards
   * `bytesMax`: the database may write a body again with its changed row, and visits the pages of a deleted body.
   */
  readonly isForChange?: boolean;
  /** Also returns the last attempt of each message. */
  readonly withLastAttempts?: boolean;
  /** For pages of events only: the reader gets each event once, because it never reads a page again. */
  readonly isLive?: boolean;
  /** The page ends when its entries reach this many bytes. Default: the budget `pageBytes`. */
  readonly bytesMax?: number;
  /** The page ends when this much was read. Default: CALL_READ_MAX, the limit of one call. */
  readonly look?: ReadAmount;
}

/** How much was read for a page. */
export interface PageCost {
  readonly looked: ReadAmount;
  /** About how many bytes the entries of the page take in a response. */
  readonly weight: number;
}

export interface MessagePage extends PageCost {
  readonly messages: readonly Message[];
  /** Parallel to the messages. Null if a message has no attempt, or if last attempts were not requested. */
  readonly lastAttempts: readonly (Attempt | null)[];
  /** Null on the last page only. Other pages may be short too, or even empty. */
  readonly cursor: number | null;
}

/** What a cancel did to each of the given messages. */
export interface CancelResult {
  /** Messages that have ended. */
  readonly cancelled: readonly string[];
  /** Messages that a node has claimed. Each ends as soon as its claim has ended, and is not claimed again. */
  readonly requested: readonly string[];
  /** Like `requested`, but an earlier call requested the cancel. */
  readonly awaited: readonly string[];
}

export interface EventPage extends PageCost {
  readonly events: readonly MessageEvent[];
  readonly cursor: number | null;
  /** The position of the last event that was read. A live stream continues there. */
  readonly endedAt: number;
}

/** Open messages in groups. The cursor is null if there are no more messages. */
export interface OpenPiece {
  readonly groups: readonly OpenGroup[];
  readonly cursor: number | null;
}

export interface MessageStore {
  // ——— messages ———

  /** The message with its body and the responses of its attempts: only the last responses if all would be too large. */
  getMessage(accountId: string, messageId: string, detail?: MessageDetail): Promise<StoredMessage | null>;

  /** Null if there is no such message. */
  waitFacts(accountId: string, messageId: string): Promise<WaitFacts | null>;

  /** The states of the given messages. Messages that do not exist are left out. */
  messageStates(accountId: string, ids: readonly string[]): Promise<readonly MessageIdAndState[]>;

  searchMessages(accountId: string, filter: MessageFilter, page: PageRequest): Promise<MessagePage>;

  /** Continues a count from a cursor, and reads a bounded number of messages: at most `look`, if given. */
  countPiece(
    accountId: string,
    filter: MessageFilter,
    max: number,
    cursor: number | null,
    look?: ReadAmount,
  ): Promise<CountPiece>;

  /** Sets the due time of a message to now, if the message waits for the clock. */
  deliverNow(accountId: string, messageId: string, now: number): Promise<'due' | 'inQueue' | 'held' | 'notWaiting'>;

  /**
   * Releases held messages. They are due now and keep their positions, and their earlier crashes no longer count.
   * Returns the ids of the released messages.
   */
  releaseHeld(accountId: string, messageIds: readonly string[], now: number): Promise<readonly string[]>;

  /**
   * Changes a message that waits, as rules/delivery/change.ts decides. An attempt sends the message as it was before the
   * change or after it, never a mixture.
   */
  changeMessage(accountId: string, messageId: string, change: MessageChange, now: number): Promise<ChangeOutcome>;

  // ——— cancelling ———

  /**
   * Ends open messages as cancelled. If a node has claimed a message, its cancel is requested. After this call no
   * attempt starts, except one that the holder of a claim starts before it knows of the cancel: see `confirmCancels`.
   */
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): Promise<CancelResult>;

  /**
   * Notifies the nodes that hold these messages, and waits at most `withinMs` until these nodes confirm that no attempt
   * will start. Returns the messages for which this is not certain. A node that is no longer alive starts nothing.
   */
  confirmCancels(accountId: string, messageIds: readonly string[], withinMs: number): Promise<readonly string[]>;

  // ——— dead letters ———

  /** Deletes failed messages by their ids. Returns how many it deleted. */
  deleteDeadLetters(accountId: string, messageIds: readonly string[]): Promise<number>;

  /**
   * Accepts each new message and marks its dead letter as retried. The dead letter can be read until its retention
   * ends. Returns false for a dead letter that is missing or already retried, or whose new message would be a
   * duplicate: that dead letter is unchanged. `dayMax` is the daily quota of the account. If the quota would be
   * exceeded, no dead letter is retried.
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

  /**
   * Calls `listener` when the journal has new rows. The call is a hint, as for `onWork`, but there may be any number of
   * listeners.
   */
  onJournal(listener: () => void): () => void;

  // ——— statistics ———

  /**
   * Counts the next open messages after a cursor, oldest first, in groups. Reads at most `limit` messages, and may read
   * fewer.
   */
  openMessagesPiece(accountId: string, now: number, limit: number, cursor: number | null): Promise<OpenPiece>;

  /** Counts failed, retried and cancelled messages, and all messages, each up to `limit`. */
  endedCounts(accountId: string, limit: number): Promise<EndedCounts>;

  /** The newest `limit` dead letters, grouped by host and reason. */
  failureGroups(accountId: string, limit: number): Promise<readonly FailureGroup[]>;
}
