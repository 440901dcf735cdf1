// The store port: every verb by which the rest of the program changes or reads durable state. Each verb is one
// transaction; when its promise resolves, what it wrote is on disk. `now` is always an argument. The account is an
// argument of every verb that touches what an account owns: a foreign id answers like a missing one.

import type { Account, Revocation, Session, SigningKeys, Token } from '../domain/account.ts';
import type { EventFilter, MessageEvent } from '../domain/event.ts';
import type { FlowKey, FlowPin } from '../domain/flow-key.ts';
import type { Job, JobStep, JobWork } from '../domain/job.ts';
import type { Attempt, Claim, Message, NewMessage, Settlement, SettleResult } from '../domain/message.ts';
import type { Counted, CountPiece, MessageFilter } from '../domain/message-filter.ts';
import type { NodeInfo } from '../domain/node.ts';
import type { Queue, QueueChange } from '../domain/queue.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { ClaimLimits } from '../domain/slots.ts';
import type { TierName } from '../domain/tier.ts';
import type { Topic } from '../domain/topic.ts';
import type { Ahead } from '../domain/why.ts';
import type { CancelStore } from './cancel-store.ts';
import type { ListStore } from './list-store.ts';
import type { NumbersStore } from './numbers-store.ts';
import type { RecoveryStore } from './recovery-store.ts';
import type { TimeStore } from './time-store.ts';

export type { EventFilter } from '../domain/event.ts';
export type { AccountStanding } from '../domain/standing.ts';

export interface ClaimRequest {
  readonly node: string;
  readonly now: number;
  readonly limits: ClaimLimits;
}

export interface ClaimAnswer {
  /** Never more than the request's limits allow, but for what was leased by an earlier offer: that is always among them. */
  readonly claims: readonly Claim[];
  /** When something that is not due yet becomes due; null if nothing is waiting for the clock. */
  readonly nextDueAt: number | null;
  /** When the next schedule is due; null if there is none. */
  readonly nextScheduleAt: number | null;
}

export interface AcceptAnswer {
  /** Beside each message the id of the one that stands for it already, or null when it was accepted. */
  readonly duplicates: readonly (string | null)[];
  /** The account has used up its day: nothing was accepted. */
  readonly isOverQuota: boolean;
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

export interface EventPage {
  readonly events: readonly MessageEvent[];
  readonly cursor: number | null;
  /** The place of the last event looked at: where a live stream goes on when there is no more for now. */
  readonly endedAt: number;
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

export type MessageDetail = 'whole' | 'outline';

export interface StoredMessage {
  readonly message: Message;
  readonly attempts: readonly Attempt[];
}

export interface Principal {
  readonly token: Token;
  readonly account: Account;
  /** Where it was not the token itself that was shown. */
  readonly sessionId?: string;
}

/** What something stays open for, such as a live stream. */
export interface Credential {
  readonly tokenId: string;
  readonly sessionId: string | null;
}

export interface FirstAdmin {
  readonly account: Account;
  readonly keys: SigningKeys;
  readonly token: Omit<Token, 'accountId'>;
  readonly hash: Uint8Array;
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

export interface DueLimits {
  readonly schedules: number;
  /** Of their bodies together; one that is larger comes alone. */
  readonly bytes: number;
  /** The account that was served last. */
  readonly after: string;
}

export interface DueSchedules {
  readonly due: readonly Schedule[];
  /** When the next is due, one of these or a later one; null if none is. */
  readonly nextAt: number | null;
}

/** A run of a schedule. */
export interface Tick {
  readonly schedule: Schedule;
  readonly messages: readonly NewMessage[];
  /** When it runs again. */
  readonly nextAt: number | null;
  /** With so many in its account's day it makes none; no limit where it is not named. */
  readonly dayMax?: number | null;
}

/** How many messages a tick made; null when it was not this call's to make. */
export type TickMade = number | 'overQuota' | null;

/** How many messages stand where. Exact, but reads every row: for tests and `postrider` commands, not for requests. */
export type Counts = Readonly<Record<Message['state'], number>>;

export interface SettleOptions {
  /**
   * For each message of these accounts that ends there is a free slot: the store may lease the next of its queue to the
   * same node, and hands it out at the next claim.
   */
  readonly takesOver?: readonly string[];
  /** Nobody waits for it: the store may write it with what it is asked next, a moment later. */
  readonly canWait?: boolean;
}

export interface Store extends CancelStore, RecoveryStore, TimeStore, NumbersStore, ListStore {
  // ——— in ———

  /**
   * Writes all messages and counts their usage, or nothing. Queues and flow keys that do not exist are made. One whose
   * deduplication key is taken is left out, and the id it is taken by is answered. `dayMax` is the account's quota.
   */
  accept(messages: readonly NewMessage[], now: number, dayMax?: number | null): Promise<AcceptAnswer>;

  // ——— out ———

  /**
   * Leases due messages to `node`, shared fairly over accounts and hosts. A queue's message is handed out only when
   * every message before it has ended. What `limits` still allows afterwards stands as an offer: until the next
   * call, the store may lease what it accepts straight to this node, and hands it out here at the next call. A call while
   * another is under way does not wait for it, and is answered with what was leased so only.
   */
  claimDue(request: ClaimRequest): Promise<ClaimAnswer>;

  /** Writes attempt, next state and follow-ups together if the lease still stands; see `SettleResult` for the rest. */
  settle(settlements: readonly Settlement[], now: number, options?: SettleOptions): Promise<readonly SettleResult[]>;

  /**
   * Gives back claims whose attempt never started: they are pending again, as if never claimed. Those that are to be
   * cancelled have ended with that.
   */
  release(leases: readonly string[], now: number): Promise<void>;

  /** The nodes that are alive, and those that were a while ago. */
  listNodes(): Promise<readonly NodeInfo[]>;

  /** Calls `listener` when something was written to the journal. A hint, like `onWork`, but for any number of listeners. */
  onJournal(listener: () => void): () => void;

  /** Calls `listener` when there may be something to claim. A hint: it may come for nothing, and may be missed. */
  onWork(listener: () => void): void;

  // ——— messages ———

  /** With its body and the answers to its attempts, the last ones if those are large; an outline is without. */
  getMessage(accountId: string, messageId: string, detail?: MessageDetail): Promise<StoredMessage | null>;

  /** Makes a message that waits for the clock due now. */
  deliverNow(accountId: string, messageId: string, now: number): Promise<'due' | 'inQueue' | 'held' | 'notWaiting'>;

  /** Null when there is no such message. */
  whyFacts(accountId: string, messageId: string): Promise<WhyFacts | null>;

  searchMessages(accountId: string, filter: MessageFilter, page: PageRequest): Promise<MessagePage>;

  /** Counts on from a place: a bounded number of messages is looked at. */
  countPiece(accountId: string, filter: MessageFilter, max: number, cursor: number | null): Promise<CountPiece>;

  /** How many messages are meant; stops counting at `max`, and when it has looked at very many. */
  countMatching(accountId: string, filter: MessageFilter, max: number): Promise<Counted>;

  listEvents(accountId: string, filter: EventFilter, page: PageRequest): Promise<EventPage>;

  /** The place of the newest event, to go on from with `oldestFirst`. */
  journalEnd(accountId: string): Promise<number>;

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

  /** Deletes events from before a time, which may be another for each tier, in a part of the accounts. */
  deleteJournal(before: Readonly<Record<TierName, number>>, part: JournalPart): Promise<JournalDeletion>;

  /** Forgets up to `limit` deduplication keys that no longer count; answers how many. */
  deleteDeduplication(now: number, limit: number): Promise<number>;

  /** Deletes up to `limit` ended messages past their retention, with their attempts; answers how many. */
  deleteExpired(now: number, limit: number): Promise<number>;

  counts(): Promise<Counts>;

  // ——— queues ———

  /** Makes the queue or changes what `change` names; takes effect with the next claim. */
  saveQueue(accountId: string, name: string, change: QueueChange, now: number): Promise<Queue>;
  /** Its lag is counted up to a budget, and says when it is cut there. */
  getQueue(accountId: string, name: string): Promise<Queue | null>;

  /** Deletes a queue without open messages but those that are to be cancelled. Answers its lag (0: deleted), or null when there is no such queue. */
  deleteQueue(accountId: string, name: string): Promise<number | null>;

  // ——— flow keys ———

  getFlowKey(accountId: string, key: string): Promise<FlowKey | null>;
  pauseFlowKey(accountId: string, key: string, isPaused: boolean, now: number): Promise<FlowKey | null>;
  /** Holds limits against what messages say, or lets them say again. Makes the key if need be. */
  pinFlowKey(
    accountId: string,
    key: string,
    pin: {
      readonly parallelism: FlowPin<number>;
      readonly rate: FlowPin<{ readonly rate: number; readonly periodMs: number }>;
    },
    now: number,
  ): Promise<FlowKey>;
  resetFlowRate(accountId: string, key: string, now: number): Promise<FlowKey | null>;

  // ——— schedules ———

  /** Whole: what was there under the same id is replaced. */
  saveSchedule(schedule: Schedule): Promise<void>;
  getSchedule(accountId: string, id: string): Promise<Schedule | null>;
  deleteSchedule(accountId: string, id: string): Promise<boolean>;
  setScheduleNext(accountId: string, id: string, nextAt: number | null, isPaused: boolean): Promise<boolean>;
  /** Some of those that are due, an equal part for each account, beginning with the accounts behind `limits.after`. */
  dueSchedules(now: number, limits: DueLimits): Promise<DueSchedules>;
  /**
   * Takes the ticks that `schedule.nextAt` names and accepts their messages, all together or nothing; answers how many
   * each has made. Null for one that was taken or paused already, or that another node is about to take.
   */
  fireSchedules(ticks: readonly Tick[], now: number): Promise<readonly TickMade[]>;

  // ——— bulk operations ———

  /** False, and nothing is made, where so many of the account run already. */
  createJob(job: Job, runningMax?: number): Promise<boolean>;
  getJob(accountId: string, id: string): Promise<Job | null>;
  runningJobs(): Promise<readonly Job[]>;
  /** Notes a piece of its work. One that was stopped meanwhile stays so, but what was done is counted. */
  advanceJob(accountId: string, id: string, step: JobStep): Promise<void>;

  /** Does the work of a running job and notes it, together; answers how many messages it was done to. */
  runJobStep(accountId: string, id: string, work: JobWork, step: Omit<JobStep, 'done'>): Promise<number>;
  stopJob(accountId: string, id: string, now: number): Promise<boolean>;

  // ——— topics ———

  getTopic(accountId: string, nameOrId: string): Promise<Topic | null>;

  /**
   * Writes the topic whole if nobody changed it since `topic.version` was read (0 = it must not exist yet).
   * A topic without endpoints is deleted. `changed` means: read again and decide anew.
   */
  saveTopic(topic: Topic): Promise<'saved' | 'changed'>;

  // ——— accounts ———

  createAccount(account: Account, keys: SigningKeys): Promise<'created' | 'nameTaken'>;
  getAccount(accountId: string): Promise<Account | null>;
  setTier(accountId: string, tier: TierName): Promise<boolean>;
  /** The accounts that have a token with one of these hashes, not revoked, or one of these signing keys. */
  accountsKnownBy(hashes: readonly Uint8Array[], keys: readonly string[]): Promise<readonly string[]>;
  /** Revokes the tokens with these hashes, whatever they may do. */
  revokeHashes(hashes: readonly Uint8Array[], now: number): Promise<void>;
  getSigningKeys(accountId: string): Promise<SigningKeys | null>;
  /** Makes `next` the current key and `fresh` the next one, if `next` is still the next; answers what then stands. */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;

  createToken(token: Token, hash: Uint8Array): Promise<void>;
  /** The token with that hash and its account, unless revoked. */
  findToken(hash: Uint8Array): Promise<Principal | null>;
  /** However many are revoked at once, on however many nodes: one that may administer is left. */
  revokeToken(accountId: string, tokenId: string, now: number): Promise<Revocation>;
  /**
   * Makes the token where there is none that may administer: for the oldest account, or for `account`, which is made with
   * it, where there is none. However many nodes ask at once, one is answered true.
   */
  createFirstAdmin(first: FirstAdmin): Promise<boolean>;
  /** Notes that a token was shown. */
  touchToken(tokenId: string, now: number): Promise<void>;

  /** Makes room for it: of the sessions of its token, the newest `keptMax` stay, itself included. */
  createSession(session: Session, keptMax: number): Promise<void>;
  /** The token and account behind a session, unless it has ended or expired or its token was revoked. */
  findSession(sessionId: string, now: number): Promise<Principal | null>;
  /** From then on it is not found any more. */
  endSession(sessionId: string): Promise<void>;
  /** Beside each credential whether its token, and its session if it has one, are still good. */
  areAdmitted(credentials: readonly Credential[], now: number): Promise<readonly boolean[]>;

  /** Finishes what was asked, then lets go of the file or the connections. */
  close(): Promise<void>;
}

/**
 * The store cannot take this now. The caller's request changed nothing; but for `doubtful`, where the store went away
 * before it confirmed, and nobody can tell.
 */
export class StoreUnavailable extends Error {
  readonly reason: 'overloaded' | 'share' | 'full' | 'unavailable' | 'doubtful';
  constructor(reason: StoreUnavailable['reason'], message: string) {
    super(message);
    this.name = 'StoreUnavailable';
    this.reason = reason;
  }
}
