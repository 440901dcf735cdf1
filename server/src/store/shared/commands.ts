// The commands of accept, settle and cancel inside an adapter, and their replies. They are the same in both adapters.

import type { Claim, NewMessage, SettleResult } from '../../rules/delivery/message.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import type { CancelAnswer } from '../ports/message-store.ts';

/** What a claim needs to know about the account of its message. */
export interface AccountAtClaim {
  readonly tier: TierName;
  readonly signingKey: string;
}

export interface AcceptCommand {
  readonly messages: readonly NewMessage[];
  /**
   * Parallel to `messages`: the lease granted at accept, or null. Only messages that are due and have no queue, flow
   * key or deduplication key get such a lease.
   */
  readonly leases: readonly (string | null)[];
  readonly node: string;
  readonly now: number;
  /** How many messages the account may create in a day. If the limit would be exceeded, nothing is accepted. */
  readonly dayMax: number | null;
}

export interface AcceptReply {
  /** Parallel to `messages`: the id of the existing duplicate, or null if the message was written. */
  readonly duplicates: readonly (string | null)[];
  /** True if nothing was written because the daily quota of the account is used up. */
  readonly isOverQuota: boolean;
  /**
   * The earliest time at which a message of this command can be claimed. Null if all its messages were leased at
   * accept.
   */
  readonly dueAt: number | null;
  /** Parallel to `messages`: what a claim needs to know about the account. Null for messages that were not leased. */
  readonly accounts: readonly (AccountAtClaim | null)[];
  /** Parallel to `messages`: the numbers of the rows that were leased. Empty if the store does not need them again. */
  readonly rows: readonly (number | null)[];
}

export interface SettleReply {
  readonly results: readonly SettleResult[];
  readonly dueAt: number | null;
  /** Claims of the next messages in the queues, leased to the node that settled. */
  readonly claims: readonly Claim[];
}

export interface CancelReply extends CancelAnswer {
  readonly dueAt: number | null;
}

export interface RetryReply {
  /** Parallel to the dead letters. */
  readonly isRetried: readonly boolean[];
  readonly isOverQuota: boolean;
  readonly dueAt: number | null;
}
