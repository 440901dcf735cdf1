// The store port: every verb by which the rest of the program changes or reads durable state. Each verb is one
// transaction; when its promise resolves, what it wrote is on disk. `now` is always an argument. The account is an
// argument of every verb that touches what an account owns: a foreign id answers like a missing one.

import type { Account, SigningKeys, Token, UsageRow } from '../domain/account.ts';
import type { Attempt, Claim, Message, NewMessage, Settlement } from '../domain/message.ts';
import type { Queue, QueueChange } from '../domain/queue.ts';
import type { ClaimLimits } from '../domain/slots.ts';
import type { TierName } from '../domain/tier.ts';
import type { Topic } from '../domain/topic.ts';

export interface ClaimRequest {
  readonly node: string;
  readonly now: number;
  readonly limits: ClaimLimits;
}

export interface ClaimAnswer {
  /** Never more than the request's limits allow. */
  readonly claims: readonly Claim[];
  /** When something that is not due yet becomes due; null if nothing is waiting for the clock. */
  readonly nextDueAt: number | null;
}

export interface StoredMessage {
  readonly message: Message;
  readonly attempts: readonly Attempt[];
}

export interface Principal {
  readonly token: Token;
  readonly account: Account;
}

/** How many messages stand where. Exact, but reads every row: for tests and `postrider` commands, not for requests. */
export type Counts = Readonly<Record<Message['state'], number>>;

export interface Store {
  // ——— in ———

  /** Writes all messages and counts their usage, or nothing. Queues that do not exist are made. */
  accept(messages: readonly NewMessage[], now: number): Promise<void>;

  // ——— out ———

  /**
   * Leases due messages to `node`, shared fairly over accounts and hosts. A queue's message is handed out only when
   * every message before it has ended. What `limits` still allows afterwards stands as an offer: until the next
   * call, the store may lease what it accepts straight to this node, and hands it out here at the next call.
   */
  claimDue(request: ClaimRequest): Promise<ClaimAnswer>;

  /** Writes attempt, next state and follow-ups together if the lease still stands (`settled`); else nothing (`lost`). */
  settle(settlements: readonly Settlement[], now: number): Promise<readonly ('settled' | 'lost')[]>;

  /** Gives back claims whose attempt never started: they are pending again, as if never claimed. */
  release(leases: readonly string[], now: number): Promise<void>;

  /** Says that `node` is alive and stays so for `ttlMs`, by the store's own clock. */
  heartbeat(node: string, ttlMs: number): Promise<void>;

  /** Claims held by nodes that are no longer alive, to be settled as interrupted. Never those of `node` itself. */
  orphanedClaims(node: string, limit: number): Promise<readonly Claim[]>;

  /** Calls `listener` when there may be something to claim. A hint: it may come for nothing, and may be missed. */
  onWork(listener: () => void): void;

  // ——— messages ———

  getMessage(accountId: string, messageId: string): Promise<StoredMessage | null>;

  /** Ends open messages as cancelled and answers which ones it ended. A claim on them is lost at once. */
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): Promise<readonly string[]>;

  /** Deletes up to `limit` ended messages past their retention, with their attempts; answers how many. */
  deleteExpired(now: number, limit: number): Promise<number>;

  counts(): Promise<Counts>;

  // ——— queues ———

  /** Makes the queue or changes what `change` names; takes effect with the next claim. */
  saveQueue(accountId: string, name: string, change: QueueChange, now: number): Promise<Queue>;
  getQueue(accountId: string, name: string): Promise<Queue | null>;
  listQueues(accountId: string): Promise<readonly Queue[]>;

  // ——— topics ———

  getTopic(accountId: string, nameOrId: string): Promise<Topic | null>;
  listTopics(accountId: string): Promise<readonly Topic[]>;

  /**
   * Writes the topic whole if nobody changed it since `topic.version` was read (0 = it must not exist yet).
   * A topic without endpoints is deleted. `changed` means: read again and decide anew.
   */
  saveTopic(topic: Topic): Promise<'saved' | 'changed'>;

  // ——— accounts ———

  createAccount(account: Account, keys: SigningKeys): Promise<'created' | 'nameTaken'>;
  getAccount(accountId: string): Promise<Account | null>;
  listAccounts(): Promise<readonly Account[]>;
  setTier(accountId: string, tier: TierName): Promise<boolean>;
  getSigningKeys(accountId: string): Promise<SigningKeys | null>;
  /** Makes `next` the current key and `fresh` the next one, if `next` is still the next; answers what then stands. */
  rotateSigningKeys(accountId: string, next: string, fresh: string): Promise<SigningKeys | null>;

  createToken(token: Token, hash: Uint8Array): Promise<void>;
  /** The token with that hash and its account, unless revoked. */
  findToken(hash: Uint8Array): Promise<Principal | null>;
  listTokens(accountId: string): Promise<readonly Token[]>;
  revokeToken(accountId: string, tokenId: string, now: number): Promise<boolean>;

  /** Usage by day (UTC, `YYYY-MM-DD`) and kind, oldest first, both days included. */
  usage(accountId: string, fromDay: string, toDay: string): Promise<readonly UsageRow[]>;

  /** Finishes what was asked, then lets go of the file or the connections. */
  close(): Promise<void>;
}

/** The store cannot take this now. The caller's request changed nothing. */
export class StoreUnavailable extends Error {
  readonly reason: 'overloaded' | 'full' | 'unavailable';
  constructor(reason: 'overloaded' | 'full' | 'unavailable', message: string) {
    super(message);
    this.name = 'StoreUnavailable';
    this.reason = reason;
  }
}
