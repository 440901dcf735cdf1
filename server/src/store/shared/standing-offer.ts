// The free slots of a node as an offer, and the leases that are granted within the offer. Every adapter has one.
//
// The engine says how many slots are free (`offer`). Until it says so again, three kinds of transactions lease messages
// to the node within these slots:
//
//   accept      leaseFor  → promised ──commit──→ confirm ─┐
//                                    ──failed──→ drop     ├─→ handed out: the listener of `onClaims` gets the claim, once
//   settle      leasing   → the next of a queue → handOn ─┤
//   claimDue    leasing   → what is due in the database ──┘
//
// A lease is in one of these states:
//
//   promised    The accept is written, and its commit has not returned. The slot is taken. A failed commit drops the
//               promise. A cancel drops it too, and the store releases the lease.
//   handed out  The engine has the claim. The offer no longer knows it.
//
// A lease granted in `settle` or `claimDue` has no state here before it is handed out. Only its prefix is known
// (`leasing`), so that upkeep does not take it for a stray lease (`keeps`).
//
// One look for due work runs at a time. It first asks for as many messages as are probably ready; the remaining slots
// stay on offer. So a message accepted during the look can still be leased by its own transaction.

import type { Claim, NewMessage } from '../../rules/delivery/message.ts';
import { NO_INTERRUPTIONS } from '../../rules/delivery/recovery.ts';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../../rules/delivery/slots.ts';
import { backlogOf } from '../../rules/hosts/parking.ts';
import { earlier } from '../../rules/time/instant.ts';
import { withEntry } from '../../runtime/collections/short-list.ts';
import { TurnoverMap, TurnoverSet } from '../../runtime/collections/turnover.ts';
import type { NextWork } from '../ports/delivery-store.ts';
import type { AcceptReply, AccountAtClaim } from './commands.ts';
import type { LeaseHolder, SuccessorLeases } from './succession.ts';

/** The reply of the database to a search for due messages that can be claimed. */
export interface ClaimReply {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
  readonly nextScheduleAt: number | null;
  /** The suspended accounts. Absent if there are none. */
  readonly suspended?: readonly string[];
  /** True if ready messages were left, because there was no slot, no room at their host, or no room for their bytes. */
  readonly hasMore: boolean;
}

const LOOK_AT_ONCE = Number.NEGATIVE_INFINITY;
const NOBODY: ReadonlySet<string> = new Set();

export class StandingOffer {
  readonly #node: string;
  #wake = () => {};
  #handOut: ((claims: readonly Claim[]) => void) | null = null;
  #leaseNumber = 0;
  /** By lease: messages whose accept has not been committed yet. */
  readonly #promised = new TurnoverMap<string, NewMessage>();
  /** Prefixes of leases that a running call is granting. */
  readonly #leasing = new TurnoverSet<string>();
  /**
   * `#budget` is what is left of the last offer. `#offer` is the part of it that is not reserved for a running search
   * in the database.
   */
  #budget = new SlotBudget(NO_SLOTS);
  #offer = this.#budget;
  /** The slots that a running search in the database may fill. */
  #asked: SlotBudget | null = null;
  /**
   * How many messages probably became ready in the database since the last search. It counts only messages that this
   * node noticed.
   */
  #waiting = 0;
  /** The earliest time at which the database may have something to claim. */
  #databaseDueAt: number | null = LOOK_AT_ONCE;
  #scheduleAt: number | null = null;
  /** The parked hosts of the last offer. */
  #parked: ClaimLimits['parked'] = NO_SLOTS.parked;
  /** Accounts that were suspended at the last search in the database. */
  #suspended: ReadonlySet<string> = NOBODY;

  constructor(node: string) {
    this.#node = node;
  }

  onWork(listener: () => void): void {
    this.#wake = listener;
  }

  onClaims(listener: (claims: readonly Claim[]) => void): () => void {
    const before = this.#handOut;
    this.#handOut = listener;
    return () => {
      this.#handOut = before;
    };
  }

  /** Replaces the previous offer. Promised messages keep their slots in the new one. */
  offer(limits: ClaimLimits): void {
    if (!this.#handOut) throw new Error('no listener for claims: call onClaims before offer');
    // Messages that waited for their host may be ready to start now.
    if (limits.parked !== this.#parked) this.#databaseDueAt = LOOK_AT_ONCE;
    this.#parked = limits.parked;
    this.#budget = new SlotBudget(limits);
    for (const message of this.#promised.values()) use(this.#budget, message);
    this.#setAsked(this.#asked);
  }

  /** Makes the next claim search the database in any case, and wakes the engine to claim. */
  lookAgain(): void {
    this.#databaseDueAt = LOOK_AT_ONCE;
    this.#wake();
  }

  /** Makes the next claim search the database, but does not wake the engine. */
  forgetDue(): void {
    this.#databaseDueAt = LOOK_AT_ONCE;
  }

  /**
   * Records that the database has something that can be claimed at `dueAt`. If this is news, wakes the engine and
   * returns true.
   */
  noteDue(dueAt: number | null): boolean {
    if (dueAt === null) return false;
    this.#waiting += 1;
    // LOOK_AT_ONCE may mean that messages were left because their host has no room. The new message may go to another
    // host.
    const isNews = this.#databaseDueAt === null || dueAt < this.#databaseDueAt || this.#databaseDueAt === LOOK_AT_ONCE;
    this.#databaseDueAt = earlier(this.#databaseDueAt, dueAt);
    if (isNews) this.#wake();
    return isNews;
  }

  /** Whether a slot of this node is free. The node searches for due work only then. */
  get hasRoom(): boolean {
    return this.#budget.slots > 0;
  }

  /**
   * True if no ready message waits for a slot. While a search in the database runs this is unknown, so the result is
   * false.
   */
  isCaughtUp(now: number): boolean {
    return this.#asked === null && (this.#databaseDueAt === null || this.#databaseDueAt > now);
  }

  noteSchedule(nextAt: number | null): void {
    this.#scheduleAt = earlier(this.#scheduleAt, nextAt);
    if (nextAt !== null) this.#wake();
  }

  setSchedule(nextAt: number | null): void {
    this.#scheduleAt = nextAt;
  }

  newLeasePrefix(): string {
    this.#leaseNumber += 1;
    return `${this.#node}.${this.#leaseNumber}`;
  }

  /**
   * Which slot a lease at accept lacks: one at the host of the message, or only one for its account. Null if it lacks
   * none, or if a slot would not help.
   */
  lacksFor(message: NewMessage, now: number): 'hostSlot' | 'accountSlot' | null {
    const { accountId } = message;
    if (!isLeasable(message, now)) return null;
    const backlog = backlogOf(message);
    if (this.#offer.isParked(accountId, backlog)) return null;
    if (this.#offer.hostRoom(accountId, backlog) < 1) return 'hostSlot';
    return this.#offer.accountRoom(accountId) < 1 ? 'accountSlot' : null;
  }

  /** A lease for a message that is about to be accepted, if the message is due and the offer has room for it. */
  leaseFor(message: NewMessage, now: number): string | null {
    if (!isLeasable(message, now) || this.#suspended.has(message.accountId)) return null;
    if (!this.#offer.take(message.accountId, backlogOf(message), message.body.length)) {
      this.#waiting += 1;
      return null;
    }
    if (this.#offer !== this.#budget) use(this.#budget, message);
    const lease = this.newLeasePrefix();
    this.#promised.set(lease, message);
    return lease;
  }

  /** While `work` runs, `keeps` is true for the leases that it grants, so that upkeep does not release them as strays. */
  async leasing<T>({ leasePrefix }: Pick<LeaseHolder, 'leasePrefix'>, work: () => Promise<T>): Promise<T> {
    this.#leasing.add(leasePrefix);
    try {
      return await work();
    } finally {
      this.#leasing.delete(leasePrefix);
    }
  }

  /** Whether the lease is granted but not handed out yet, so that the engine cannot know it. */
  keeps(lease: string): boolean {
    return this.#promised.has(lease) || this.#leasing.has(lease.slice(0, lease.lastIndexOf('.')));
  }

  /** A new holder, for leases that are not granted at accept. */
  leaseHolder(): LeaseHolder {
    return { node: this.#node, leasePrefix: this.newLeasePrefix() };
  }

  /** The holder for leases of successors in the queues of these accounts; null if there are no accounts. */
  successorLeases(accounts: readonly string[]): SuccessorLeases | null {
    const able = this.#suspended.size === 0 ? accounts : accounts.filter((id) => !this.#suspended.has(id));
    return able.length === 0 ? null : { ...this.leaseHolder(), accounts: able };
  }

  /** Takes slots of the offer for claims that were leased outside an accept, and hands them to the engine. */
  handOn(claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    for (const { message } of claims) {
      use(this.#budget, message);
      if (this.#offer !== this.#budget) use(this.#offer, message);
    }
    this.#handOut?.(claims);
  }

  /** Call this when the accept is committed: its leases go to the engine. */
  confirm(
    messages: readonly NewMessage[],
    leases: readonly (string | null)[],
    { accounts, rows }: Pick<AcceptReply, 'accounts' | 'rows'>,
    now: number,
  ): void {
    let claims: Claim[] | null = null;
    for (let index = 0; index < leases.length; index += 1) {
      const lease = leases[index] ?? null;
      if (lease === null || !this.#promised.delete(lease)) continue;
      claims = withEntry(claims, newClaim(lease, rows[index] ?? null, messages[index]!, accounts[index]!, now));
    }
    if (claims !== null) this.#handOut?.(claims);
  }

  /** Call this when the accept failed: its promises are dropped. */
  drop(leases: readonly (string | null)[]): void {
    for (const lease of leases) if (lease !== null) this.#promised.delete(lease);
  }

  /**
   * Drops the promised leases of cancelled messages, so that they are never handed out. Returns these leases by
   * message, to be released. The next claim searches the database, because `#databaseDueAt` may have come from a
   * cancelled message.
   */
  forgetCancelled(messageIds: readonly string[]): Map<string, string> {
    this.#databaseDueAt = LOOK_AT_ONCE;
    const leases = new Map<string, string>();
    if (this.#promised.size === 0 || messageIds.length === 0) return leases;
    const gone = new Set(messageIds);
    for (const [lease, message] of this.#promised) if (gone.has(message.id)) leases.set(message.id, lease);
    this.drop([...leases.values()]);
    return leases;
  }

  /**
   * Searches for due work within the offer. `ask` claims in the database. It is called only if there may be something
   * to claim, a slot is free, and no other search is running.
   */
  async claimDue(
    now: number,
    ask: (limits: ClaimLimits, leasePrefix: string) => Promise<ClaimReply>,
  ): Promise<NextWork> {
    const mayAsk = this.#asked === null && this.#budget.slots > 0;
    if (!mayAsk || this.#databaseDueAt === null || this.#databaseDueAt > now) {
      // A due message without a slot waits for a commit or a settle, not for the clock. If this returned its due time,
      // the engine would claim again at once, forever, and the commit could never return.
      const isLater = this.#databaseDueAt !== null && this.#databaseDueAt > now;
      return { nextDueAt: isLater ? this.#databaseDueAt : null, nextScheduleAt: this.#scheduleAt };
    }
    // Both times are reset before the search, so that times that are noted during the search are kept.
    this.#databaseDueAt = null;
    this.#scheduleAt = null;
    let reply: ClaimReply;
    try {
      reply = await this.#ask(ask);
    } catch (error) {
      this.#databaseDueAt = LOOK_AT_ONCE;
      throw error;
    } finally {
      this.#setAsked(null);
    }
    this.#databaseDueAt = earlier(this.#databaseDueAt, reply.hasMore ? LOOK_AT_ONCE : reply.nextDueAt);
    this.#scheduleAt = earlier(this.#scheduleAt, reply.nextScheduleAt);
    const nextDueAt = earlier(reply.nextDueAt, this.#databaseDueAt === LOOK_AT_ONCE ? null : this.#databaseDueAt);
    return { nextDueAt, nextScheduleAt: this.#scheduleAt };
  }

  /**
   * Claims as much as the budget allows. It first claims only as many as are probably ready, or half of the budget if
   * that is not known, so that the other slots stay on offer. A message accepted during the search without an offer
   * costs two more writes and another search.
   */
  async #ask(ask: (limits: ClaimLimits, leasePrefix: string) => Promise<ClaimReply>): Promise<ClaimReply> {
    const askFor = (asked: SlotBudget) => {
      this.#setAsked(asked);
      const leasePrefix = this.newLeasePrefix();
      return this.leasing({ leasePrefix }, async () => {
        const reply = await ask(asked.limits(), leasePrefix);
        this.#suspended = reply.suspended?.length ? new Set(reply.suspended) : NOBODY;
        this.handOn(reply.claims);
        return reply;
      });
    };
    const waiting = this.#waiting;
    this.#waiting = 0;
    if (waiting < this.#budget.slots) {
      const reply = await askFor(this.#budget.half(waiting > 0 ? waiting : Number.POSITIVE_INFINITY));
      if (!reply.hasMore || this.#budget.slots <= 0) return reply;
    }
    // A copy: a message promised meanwhile takes from the budget, but must not reduce what the search may claim.
    return askFor(new SlotBudget(this.#budget.limits()));
  }

  #setAsked(asked: SlotBudget | null): void {
    this.#asked = asked;
    this.#offer = asked ? this.#budget.without(asked) : this.#budget;
  }
}

function isLeasable({ queueName, flow, deduplication, dueAt }: NewMessage, now: number): boolean {
  return queueName === null && !flow && !deduplication && dueAt <= now;
}

function use(budget: SlotBudget, message: NewMessage): void {
  budget.use(message.accountId, backlogOf(message), message.body.length);
}

function newClaim(lease: string, row: number | null, message: NewMessage, account: AccountAtClaim, now: number): Claim {
  return {
    lease,
    message: {
      ...message,
      state: 'claimed',
      firstDueAt: message.dueAt,
      readyAt: null,
      retried: 0,
      ...NO_INTERRUPTIONS,
      attempts: 0,
      endedAt: null,
      heldAt: null,
      claimedAt: now,
      failure: null,
      lastStatus: null,
    },
    tier: account.tier,
    signingKey: account.signingKey,
    // Only plain messages are leased at accept.
    isPlain: true,
    ...(row !== null && { row }),
  };
}
