// The life of a message: it is accepted, leased and settled. A node reports here that it is alive, and recovers the
// claims of dead nodes. `now` is always an argument, and each verb is one transaction.

import type { Claim, NewMessage, Settlement, SettleResult } from '../../rules/delivery/message.ts';
import type { Expiration } from '../../rules/delivery/settle.ts';
import type { ClaimLimits } from '../../rules/delivery/slots.ts';
import type { StoreTrouble } from '../../rules/limits/acceptance.ts';
import type { NodeInfo } from '../../rules/nodes/node.ts';
import type { DebounceResult, Misplaced } from '../../rules/publish/debounce.ts';
import type { KeptTime } from '../../rules/time/clock.ts';

export interface AcceptResult {
  /** Parallel to `messages`: the id of the existing duplicate, or null if the message was accepted. */
  readonly duplicates: readonly (string | null)[];
  /** True if nothing was accepted because the daily quota of the account is used up. */
  readonly isOverQuota: boolean;
  /** Parallel to `messages`, if any of them has a debounce key: under which id it waits, and for how many it stands. */
  readonly debounced?: readonly (DebounceResult | null)[] | null;
  /** Present if nothing was accepted because of this message. */
  readonly misplaced?: Misplaced | null;
}

/** When the store will next have work. */
export interface NextWork {
  /** When the next message becomes due; null if no message waits for the clock. */
  readonly nextDueAt: number | null;
  /** When the next schedule is due; null if there is none. */
  readonly nextScheduleAt: number | null;
}

export interface SettleOptions {
  /**
   * When a message of these accounts ends, its slot becomes free for the next message of the same queue: the store may
   * lease that message to this node, and hand out the claim.
   */
  readonly takesOver?: readonly string[];
  /** No caller waits for the result: the store may write it slightly later, together with the next call. */
  readonly canWait?: boolean;
}

/** What `claimAlone` returns. */
export interface AloneReply {
  readonly claim: Claim | null;
  /** When the next message that must start alone is due; null if there is none. */
  readonly nextAt: number | null;
}

/** What crashes have left to recover. */
export interface Recovery {
  /** When the next message that must start alone is due; null if there is none. */
  readonly nextAloneAt: number | null;
  /** How many messages are held in all accounts, counted up to 10,000. */
  readonly held: number;
}

/** The time that a node has stored last (null before the first time), and the store's own time. */
export interface LastKeptTime {
  readonly kept: KeptTime | null;
  /** The store's own clock, if it has one that all its nodes share; else null. */
  readonly wallAt: number | null;
}

/** What a starting node must know about the time before the start. */
export interface StoredTime extends LastKeptTime {
  /**
   * The newest time in the data: when a message was accepted (SQLite) or placed in a queue (PostgreSQL). Null if there
   * is none.
   */
  readonly newestAt: number | null;
}

export interface DeliveryStore {
  // ——— accepting ———

  /**
   * Writes all messages and counts their usage, or writes nothing. Creates queues and flow keys that do not exist. A
   * message whose deduplication key is taken is not written; `duplicates` then has the id of the message that holds the
   * key. A message with a debounce key is not written either if it takes the place of one that waits: see debounce.ts;
   * `debounced` then has the id of that one. `dayMax` is the daily quota of the account.
   */
  accept(messages: readonly NewMessage[], now: number, dayMax?: number | null): Promise<AcceptResult>;

  // ——— claiming and settling ———

  /**
   * Sets how many slots are free on this node from now on. The store leases messages to the node within these slots, in
   * any transaction that finds such messages: an accept, a settle that starts the next message of a queue, or a search
   * for due work. Each call replaces the previous offer; an offer without slots withdraws it. A transaction that has
   * already begun may still lease within the previous offer.
   */
  offer(limits: ClaimLimits): void;

  /**
   * Calls `listener` with the claims that are leased to this node, each claim once. `listener` may run inside any call
   * of the store. The returned function restores the previous listener.
   */
  onClaims(listener: (claims: readonly Claim[]) => void): () => void;

  /**
   * Leases due messages within the offer, shared fairly between accounts and hosts, and hands out the claims. A message
   * of a queue is leased only when the queue's order allows it to start. A call that is made during another call leases
   * nothing and returns at once.
   */
  claimDue(now: number): Promise<NextWork>;

  /**
   * Writes the attempt, the next state and the follow-up messages together if the lease is still valid. See
   * `SettleResult` for the other cases.
   */
  settle(settlements: readonly Settlement[], now: number, options?: SettleOptions): Promise<readonly SettleResult[]>;

  /**
   * Releases claims whose attempt never started. Their messages are pending again, as if they had never been claimed. A
   * message whose cancel was requested ends as cancelled instead. Of several messages that then wait for their first
   * attempt under one debounce key, the newest stands for all, and the others end as cancelled: returns their ids.
   */
  release(leases: readonly string[], now: number): Promise<readonly string[]>;

  /**
   * Ends messages that have expired by `now`, with their failure callbacks, in one transaction. Returns the ids of those
   * that ended: not of those that are claimed, have ended, or are being changed by another transaction.
   */
  expireMessages(expirations: readonly Expiration[], now: number): Promise<readonly string[]>;

  /** Calls `listener` when there may be something to claim. The call is only a hint: it may be wrong or missed. */
  onWork(listener: () => void): void;

  // ——— cancelling ———

  /**
   * Calls `listener` when a cancel was requested for messages that this node may have claimed. The promise of the
   * listener must resolve when none of the messages whose cancel was requested before the call can start any more.
   */
  onCancel(listener: () => Promise<void>): void;

  /** The leases of this node whose messages are to be cancelled. */
  cancelledClaims(): Promise<readonly string[]>;

  // ——— after crashes ———

  /**
   * All claims of one node that is no longer alive, or of all such lanes of one process. They have no bodies, and are
   * to be settled together as interrupted. Never returns the claims of `node` itself. `stoodStill` means that the
   * process of `node` may have been paused recently: then its other lanes count as alive, even if they were silent.
   */
  orphanedClaims(node: string, stoodStill?: boolean): Promise<readonly Claim[]>;

  /**
   * Up to `limit` leases of this node, without those that the store has not handed out yet. The caller releases those
   * without a running attempt: they never reached the engine.
   */
  strayClaims(limit: number): Promise<readonly string[]>;

  /**
   * Of the due messages that must start alone, leases to this node the one that has waited longest. No other verb
   * leases such messages. The caller makes sure that nothing else starts at the same time.
   */
  claimAlone(now: number): Promise<AloneReply>;

  recovery(): Promise<Recovery>;

  // ——— nodes and time ———

  /**
   * Records that `node` is alive and stays alive for `ttlMs` by the store's own clock, and stores `time`. Returns the
   * time that was stored before, perhaps by another node. A `ttlMs` of 0 records that a lane has ended.
   */
  heartbeat(node: string, ttlMs: number, time?: KeptTime | null): Promise<LastKeptTime>;

  storedTime(): Promise<StoredTime>;

  /**
   * Why the store would refuse a message now. Null if the store would accept one. A database is tested with a small
   * write, unless a write has just succeeded.
   */
  whyNotWritable(): Promise<StoreTrouble | null>;

  /** The nodes that are alive, and those that recently were. */
  listNodes(): Promise<readonly NodeInfo[]>;
}
