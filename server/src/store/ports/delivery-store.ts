// The life of a message: it is accepted, leased and settled. A node reports here that it is alive, and recovers the
// claims of dead nodes. `now` is always an argument, and each verb is one transaction.

import type { Claim, NewMessage, Settlement, SettleResult } from '../../rules/delivery/message.ts';
import type { ClaimLimits } from '../../rules/delivery/slots.ts';
import type { StoreTrouble } from '../../rules/limits/acceptance.ts';
import type { NodeInfo } from '../../rules/nodes/node.ts';
import type { KeptTime } from '../../rules/time/clock.ts';

export interface AcceptAnswer {
  /** Parallel to `messages`: the id of the existing duplicate, or null if the message was accepted. */
  readonly duplicates: readonly (string | null)[];
  /** True if nothing was accepted because the daily quota of the account is used up. */
  readonly isOverQuota: boolean;
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
   * Each message of these accounts that ends frees a slot. The store may lease the next message of the same queue to
   * this node, and hand out the claim.
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
  // ——— in ———

  /**
   * Writes all messages and counts their usage, or writes nothing. Creates queues and flow keys that do not exist. A
   * message whose deduplication key is taken is not written; `duplicates` then has the id of the message that holds the
   * key. `dayMax` is the daily quota of the account.
   */
  accept(messages: readonly NewMessage[], now: number, dayMax?: number | null): Promise<AcceptAnswer>;

  // ——— out ———

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
   * message whose cancel was requested ends as cancelled instead.
   */
  release(leases: readonly string[], now: number): Promise<void>;

  /**
   * Calls `listener` when there may be something to claim. The call is only a hint: it may be wrong, and it may be
   * missed.
   */
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
   * All claims of one node that is no longer alive, without bodies, to be settled together as interrupted. Empty if
   * there is no such node. The claims of `node` itself are never returned. `stoodStill` means that the process of
   * `node` may have been paused recently: then its other lanes may be alive although they were silent.
   */
  orphanedClaims(node: string, stoodStill?: boolean): Promise<readonly Claim[]>;

  /**
   * Leases of this node, except those that the store has still to hand out. They belong to running attempts, or never
   * reached the engine. Reads at most `limit` leases of the node.
   */
  strayClaims(limit: number): Promise<readonly string[]>;

  /**
   * Leases to this node the due message that must start alone and has waited longest. No other verb leases such
   * messages. The caller makes sure that nothing else starts at the same time.
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
