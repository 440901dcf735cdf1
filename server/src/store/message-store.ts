// What people see of messages and do to them, and how long it is kept: single messages, searches, events, cancelling, dead
// letters, numbers. Each read is a bounded piece of work. A foreign id is answered like a missing one.

import type { Activity } from '../domain/activity.ts';
import type { EventFilter, MessageEvent } from '../domain/event.ts';
import type { FailureGroup } from '../domain/failure-group.ts';
import type { FlowKey } from '../domain/flow-key.ts';
import type { Attempt, Message, NewMessage } from '../domain/message.ts';
import type { CountPiece, MessageFilter } from '../domain/message-filter.ts';
import type { Queue } from '../domain/queue.ts';
import type { AccountStanding } from '../domain/standing.ts';
import type { TierName } from '../domain/tier.ts';
import type { Ahead } from '../domain/why.ts';

export type MessageDetail = 'whole' | 'outline';

export interface StoredMessage {
  readonly message: Message;
  readonly attempts: readonly Attempt[];
}

/** What there is to know about a message that has not ended, for domain/why.ts. */
export interface WhyFacts {
  readonly message: Message;
  readonly queue: Queue | null;
  /** In a queue: the message that goes before it, and how many do in all. */
  readonly ahead: Ahead | null;
  readonly flowKey: FlowKey | null;
  /** How many wait before it in the line of its flow key; null when it does not wait there. */
  readonly flowAhead: { readonly count: number; readonly isCountCut?: true } | null;
}

export interface MessageState {
  readonly id: string;
  readonly state: Message['state'];
}

/** Where a list goes on: the place behind the last entry of the page before, in either order. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor: number | null;
  readonly order: 'newestFirst' | 'oldestFirst';
  /** Without, bodies read as empty: they may be large. */
  readonly withBodies: boolean;
  /** With the last attempt of each message beside it. */
  readonly withLastAttempts?: boolean;
  /** The page ends when its entries weigh so much; that of the table of budgets unless given. */
  readonly bytesMax?: number;
}

export interface MessagePage {
  readonly messages: readonly Message[];
  /** Beside each message, where they were asked for. */
  readonly lastAttempts: readonly (Attempt | null)[];
  /** Null on the last page. A page may be short, even empty, and still not be the last. */
  readonly cursor: number | null;
}

/** Which of the messages that were named are how far cancelled. */
export interface CancelAnswer {
  /** They have ended. */
  readonly cancelled: readonly string[];
  /** A node has claimed them: they end with that claim, and nobody claims them any more. */
  readonly requested: readonly string[];
  /** The same, by an earlier call. */
  readonly awaited: readonly string[];
}

export interface EventPage {
  readonly events: readonly MessageEvent[];
  readonly cursor: number | null;
  /** The place of the last event looked at: where a live stream goes on when there is no more for now. */
  readonly endedAt: number;
}

export interface ActivityBucket {
  readonly at: number;
  readonly activity: Activity;
}

/** From when on minutes are kept, and hours. */
export interface ActivityKeep {
  readonly minutesFrom: number;
  readonly hoursFrom: number;
}

export interface JournalPart {
  /** The accounts behind this one, at most so many, and so many rows of all of them together. */
  readonly after: string;
  readonly accounts: number;
  readonly rows: number;
}

export interface JournalDeletion {
  readonly deleted: number;
  /** The last account that was looked at; null when there are none behind it. */
  readonly after: string | null;
}

export interface MessageStore {
  // ——— messages ———

  /** With its body and the answers to its attempts, the last ones if those are large; an outline is without. */
  getMessage(accountId: string, messageId: string, detail?: MessageDetail): Promise<StoredMessage | null>;

  /** Null when there is no such message. */
  whyFacts(accountId: string, messageId: string): Promise<WhyFacts | null>;

  /** The states of those of these messages that are there. */
  messageStates(accountId: string, ids: readonly string[]): Promise<readonly MessageState[]>;

  searchMessages(accountId: string, filter: MessageFilter, page: PageRequest): Promise<MessagePage>;

  /** Counts on from a place: a bounded number of messages is looked at. */
  countPiece(accountId: string, filter: MessageFilter, max: number, cursor: number | null): Promise<CountPiece>;

  /** Makes a message that waits for the clock due now. */
  deliverNow(accountId: string, messageId: string, now: number): Promise<'due' | 'inQueue' | 'held' | 'notWaiting'>;

  /** Lets held messages go on, due now and in the places they have; answers which ones. Crashes before do not count. */
  releaseHeld(accountId: string, messageIds: readonly string[], now: number): Promise<readonly string[]>;

  // ——— cancelling ———

  /**
   * Ends open messages as cancelled, or requests it where a node has claimed them. No attempt starts any more, but for what
   * the holder of a claim does before it hears of it: see `confirmCancels`.
   */
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): Promise<CancelAnswer>;

  /**
   * Tells the holders of these messages, and waits until they have confirmed that no attempt of them starts any more, for
   * so long at most. Answers those of which that is not known. A holder that is no longer alive starts nothing.
   */
  confirmCancels(accountId: string, messageIds: readonly string[], withinMs: number): Promise<readonly string[]>;

  // ——— dead letters ———

  /** Deletes failed messages and answers how many of the ids named one. */
  deleteDeadLetters(accountId: string, messageIds: readonly string[]): Promise<number>;

  /**
   * Accepts each new message in the place of its dead letter, which is gone then. False where it was gone before, and where
   * the new message would repeat one that stands: that dead letter stays. `dayMax` is the account's quota: over it none is
   * retried.
   */
  retryDeadLetters(
    retries: readonly { readonly messageId: string; readonly message: NewMessage }[],
    now: number,
    dayMax?: number | null,
  ): Promise<readonly boolean[] | 'overQuota'>;

  // ——— events ———

  listEvents(accountId: string, filter: EventFilter, page: PageRequest): Promise<EventPage>;

  /** The place of the newest event, to go on from with `oldestFirst`. */
  journalEnd(accountId: string): Promise<number>;

  /** Calls `listener` when something was written to the journal. A hint, like `onWork`, but for any number of listeners. */
  onJournal(listener: () => void): () => void;

  // ——— numbers ———

  /** Reads at most `limit` open messages, the oldest ones, and counts the others up to it. */
  standing(accountId: string, now: number, limit: number): Promise<AccountStanding>;

  /** What happened from one time until before another, in buckets of so many milliseconds; empty ones are left out. */
  activity(accountId: string, fromAt: number, toAt: number, bucketMs: number): Promise<readonly ActivityBucket[]>;

  /** The newest `limit` dead letters, grouped by host and reason. */
  failureGroups(accountId: string, limit: number): Promise<readonly FailureGroup[]>;

  // ——— retention ———

  /** Deletes up to `limit` ended messages past their retention, with their attempts; answers how many. */
  deleteExpired(now: number, limit: number): Promise<number>;

  /** Deletes events from before a time, which may be another for each tier, in a part of the accounts. */
  deleteJournal(before: Readonly<Record<TierName, number>>, part: JournalPart): Promise<JournalDeletion>;

  /** Forgets up to `limit` deduplication keys that no longer count; answers how many. */
  deleteDeduplication(now: number, limit: number): Promise<number>;

  /** Adds up to `limit` old minutes to their hours and deletes so many old hours; answers the larger number. */
  foldActivity(keep: ActivityKeep, limit: number): Promise<number>;
}
