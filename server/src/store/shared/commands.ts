// The commands of accept, settle and cancel inside an adapter, and their replies. They are the same in both adapters.

import type { ChangeOutcome } from '../../rules/delivery/change.ts';
import type { Claim, NewMessage, SettleResult } from '../../rules/delivery/message.ts';
import type { TierName } from '../../rules/limits/tier.ts';
import { type DebounceResult, isDebounced, type Misplaced } from '../../rules/publish/debounce.ts';
import type { AcceptResult } from '../ports/delivery-store.ts';
import type { CancelResult } from '../ports/message-store.ts';

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
  /** The earliest time at which a message of this command can be claimed. Null if all were leased at accept. */
  readonly dueAt: number | null;
  /** Parallel to `messages`: what a claim needs to know about the account. Null for messages that were not leased. */
  readonly accounts: readonly (AccountAtClaim | null)[];
  /** Parallel to `messages`: the row number of each leased message. Empty if the store does not need them again. */
  readonly rows: readonly (number | null)[];
  /** Parallel to `messages`: the message that waits under the debounce key. Null if none of them has such a key. */
  readonly debounced: readonly (DebounceResult | null)[] | null;
  readonly misplaced: Misplaced | null;
}

/** Whether a correct accept may be refused as a whole: then nothing of it is leased before it is committed. */
export function mayBeRefused(messages: readonly NewMessage[], dayMax: number | null): boolean {
  return dayMax !== null || messages.some(isDebounced);
}

/** What the caller of an accept gets. */
export function acceptResult({ duplicates, isOverQuota, debounced, misplaced }: AcceptReply): AcceptResult {
  const result = { duplicates, isOverQuota };
  return debounced || misplaced ? { ...result, debounced, misplaced } : result;
}

/** The reply if nothing was written. */
export const NOT_ACCEPTED: AcceptReply = {
  duplicates: [],
  isOverQuota: false,
  dueAt: null,
  accounts: [],
  rows: [],
  debounced: null,
  misplaced: null,
};

export interface SettleReply {
  readonly results: readonly SettleResult[];
  readonly dueAt: number | null;
  /** Claims of the next messages in the queues, leased to the node that settled. */
  readonly claims: readonly Claim[];
}

export interface ReleaseReply {
  /** From when there may be something to claim, or null. */
  readonly dueAt: number | null;
  /** The messages that have ended because their cancel was requested. */
  readonly cancelled: readonly string[];
  /** Those that have ended because a newer one waits under their debounce key. */
  readonly overtaken: readonly string[];
}

export interface CancelReply extends CancelResult {
  readonly dueAt: number | null;
}

export interface ChangeReply {
  readonly outcome: ChangeOutcome;
  /** When there may be something to claim after the change. Null too if the start of the message is as it was. */
  readonly dueAt: number | null;
  /** Whether the known due time may have been that of this message, which now has another. */
  readonly isStartChanged: boolean;
}

export interface RetryReply {
  /** Parallel to the dead letters: whether each was retried. */
  readonly isRetried: readonly boolean[];
  readonly isOverQuota: boolean;
  readonly dueAt: number | null;
}
