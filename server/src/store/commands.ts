// What the verbs that accept, settle and cancel are asked inside an adapter, and what they reply: the same in each.

import type { Claim, NewMessage, SettleResult } from '../domain/message.ts';
import type { CancelAnswer } from './message-store.ts';
import type { AccountAtClaim } from './standing-offer.ts';

export interface AcceptCommand {
  readonly messages: readonly NewMessage[];
  /** Beside each message the lease it is born with, or null. Only for what is due and behind no queue or flow key. */
  readonly leases: readonly (string | null)[];
  readonly node: string;
  readonly now: number;
  /** Messages the account may make in a day; over it, nothing is accepted. */
  readonly dayMax: number | null;
}

export interface AcceptReply {
  /** Beside each message the id of the one that stands for it already, or null when it was written. */
  readonly duplicates: readonly (string | null)[];
  /** True when nothing was written, because the account has used up its day. */
  readonly isOverQuota: boolean;
  /** The earliest time at which something written here can be claimed, or null if all of it is leased already. */
  readonly dueAt: number | null;
  /** What a claim must know of the accounts whose messages were leased. */
  readonly accounts: ReadonlyMap<string, AccountAtClaim>;
}

export interface SettleReply {
  readonly results: readonly SettleResult[];
  readonly dueAt: number | null;
  /** The next of their queues, leased to the node that settled. */
  readonly claims: readonly Claim[];
}

export interface CancelReply extends CancelAnswer {
  readonly dueAt: number | null;
}
