// What a node may claim without asking the database. Between two claims the engine's free slots stand as an offer: what
// is accepted meanwhile and due at once is leased to them in the accepting transaction, and handed out at the next claim.
// Every adapter plans its claims through one of these.

import { earlier } from '../domain/instant.ts';
import type { Claim, NewMessage } from '../domain/message.ts';
import { NO_INTERRUPTIONS } from '../domain/recovery.ts';
import { type ClaimLimits, NO_SLOTS, SlotBudget } from '../domain/slots.ts';
import type { TierName } from '../domain/tier.ts';
import type { ClaimAnswer, ClaimRequest } from './delivery-store.ts';
import type { Estate, Heir } from './succession.ts';

/** What a claim must know of the account of its message. */
export interface AccountAtClaim {
  readonly tier: TierName;
  readonly signingKey: string;
}

/** What the database gave when it was asked for due messages. */
export interface ClaimReply {
  readonly claims: readonly Claim[];
  readonly nextDueAt: number | null;
  readonly nextScheduleAt: number | null;
  /** Something is ready and was left, for want of slots, of room at its host, or of bytes. */
  readonly hasMore: boolean;
}

const LOOK_AT_ONCE = Number.NEGATIVE_INFINITY;

export class StandingOffer {
  readonly #node: string;
  readonly #leaseEnd: string;
  #wake = () => {};
  #leaseNumber = 0;
  /** Leased at acceptance and not yet handed to the engine, by lease; null until the commit is through. */
  readonly #promised = new Map<string, { readonly message: NewMessage; claim: Claim | null }>();
  /** Prefixes of leases that are being made. */
  readonly #leasing = new Set<string>();
  /** What the engine's last request still allows, and of that what the database is not being asked for. */
  #budget = new SlotBudget(NO_SLOTS);
  #offer = this.#budget;
  /** What the database is being asked for. */
  #asked: SlotBudget | null = null;
  /** How many are thought to be ready in the database, as far as they passed by here since it was last asked. */
  #waiting = 0;
  /** The earliest time at which the database may have something to claim. */
  #databaseDueAt: number | null = LOOK_AT_ONCE;
  #scheduleAt: number | null = null;

  /** `leaseEnd` is what the leases that are given at acceptance end with. */
  constructor(node: string, leaseEnd = '') {
    this.#node = node;
    this.#leaseEnd = leaseEnd;
  }

  onWork(listener: () => void): void {
    this.#wake = listener;
  }

  /** The next claim asks the database, whatever is known; and the engine is woken to make it. */
  lookAgain(): void {
    this.#databaseDueAt = LOOK_AT_ONCE;
    this.#wake();
  }

  /** The next claim asks the database, but nobody is woken for it. */
  forgetDue(): void {
    this.#databaseDueAt = LOOK_AT_ONCE;
  }

  /** Something is in the database that can be claimed at this time. Answers whether that is news. */
  noteDue(dueAt: number | null): boolean {
    if (dueAt === null) return false;
    this.#waiting += 1;
    // While something was left for want of room at its host, what is new may go to another.
    const isNews = this.#databaseDueAt === null || dueAt < this.#databaseDueAt || this.#databaseDueAt === LOOK_AT_ONCE;
    this.#databaseDueAt = earlier(this.#databaseDueAt, dueAt);
    if (isNews) this.#wake();
    return isNews;
  }

  /** Nothing is ready that waits for a slot. While the database is asked, that is not known. */
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

  /** A lease for a message that is about to be accepted, if it is due and the offer has room for it. */
  leaseFor(message: NewMessage, now: number): string | null {
    if (message.queueName !== null || message.flow || message.deduplication || message.dueAt > now) return null;
    if (!this.#offer.take(message.accountId, message.host, message.body.length)) {
      this.#waiting += 1;
      return null;
    }
    if (this.#offer !== this.#budget) use(this.#budget, message);
    const lease = `${this.newLeasePrefix()}${this.#leaseEnd}`;
    this.#promised.set(lease, { message, claim: null });
    return lease;
  }

  /** What `work` leases is kept by the store until it has answered. */
  async leasing<T>({ leasePrefix }: Pick<Heir, 'leasePrefix'>, work: () => Promise<T>): Promise<T> {
    this.#leasing.add(leasePrefix);
    try {
      return await work();
    } finally {
      this.#leasing.delete(leasePrefix);
    }
  }

  /** Whether it was leased and not handed out yet: the engine cannot know of it. */
  keeps(lease: string): boolean {
    return this.#promised.has(lease) || this.#leasing.has(lease.slice(0, lease.lastIndexOf('.')));
  }

  /** To whom something may be leased that no offer names. */
  heir(): Heir {
    return { node: this.#node, leasePrefix: this.newLeasePrefix() };
  }

  /** For the next of the queues of these accounts; null if there are none. */
  estate(accounts: readonly string[]): Estate | null {
    return accounts.length === 0 ? null : { ...this.heir(), accounts };
  }

  /** Leased in place of those that have ended, whose slots they take: handed out at the next claim. */
  inherit(claims: readonly Claim[]): void {
    for (const claim of claims) this.#promise(claim);
    if (claims.length > 0) this.#wake();
  }

  /** The acceptance is through: what was leased is handed out at the next claim. */
  confirm(
    messages: readonly NewMessage[],
    leases: readonly (string | null)[],
    accounts: ReadonlyMap<string, AccountAtClaim>,
    now: number,
  ): void {
    let isLeased = false;
    leases.forEach((lease, index) => {
      const promise = lease === null ? undefined : this.#promised.get(lease);
      if (lease === null || !promise) return;
      const message = messages[index]!;
      promise.claim = newClaim(lease, message, accounts.get(message.accountId)!, now);
      isLeased = true;
    });
    if (isLeased) this.#wake();
  }

  /** The acceptance failed. */
  drop(leases: readonly (string | null)[]): void {
    for (const lease of leases) if (lease !== null) this.#promised.delete(lease);
  }

  /**
   * What was promised and is to be cancelled is never handed out: by message its lease, to be given back. And one of those
   * cancelled may be what the clock was waiting for.
   */
  forgetCancelled(messageIds: readonly string[]): Map<string, string> {
    this.#databaseDueAt = LOOK_AT_ONCE;
    const leases = new Map<string, string>();
    if (this.#promised.size === 0 || messageIds.length === 0) return leases;
    const gone = new Set(messageIds);
    for (const [lease, { message }] of this.#promised) if (gone.has(message.id)) leases.set(message.id, lease);
    this.drop([...leases.values()]);
    return leases;
  }

  /**
   * `ask` claims in the database; it is called only when there may be something to claim and room for it. A call while
   * another one asks does not wait for it: it hands out what was promised meanwhile.
   */
  async claimDue(
    request: ClaimRequest,
    ask: (limits: ClaimLimits, leasePrefix: string) => Promise<ClaimReply>,
  ): Promise<ClaimAnswer> {
    this.#budget = new SlotBudget(request.limits);
    // What is promised takes its place in the new budget, whoever's count it was in before.
    for (const { message } of this.#promised.values()) use(this.#budget, message);
    this.#setAsked(this.#asked);
    const mayAsk = this.#asked === null && this.#budget.slots > 0;
    if (!mayAsk || this.#databaseDueAt === null || this.#databaseDueAt > request.now) {
      // What is due but has no slot waits for a commit or a settlement, not for the clock: an engine that was told so
      // would ask again at once, forever, and never let the commit's answer through.
      const isLater = this.#databaseDueAt !== null && this.#databaseDueAt > request.now;
      const nextDueAt = isLater ? this.#databaseDueAt : null;
      return { claims: this.#takePromised(), nextDueAt, nextScheduleAt: this.#scheduleAt };
    }
    this.#databaseDueAt = null;
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
    this.#scheduleAt = reply.nextScheduleAt;
    const nextDueAt = earlier(reply.nextDueAt, this.#databaseDueAt === LOOK_AT_ONCE ? null : this.#databaseDueAt);
    return { claims: this.#takePromised(), nextDueAt, nextScheduleAt: this.#scheduleAt };
  }

  /**
   * Claims all that the budget allows. It asks for what is thought to be there first, and what is accepted meanwhile may
   * use the rest: else one that comes while the database is asked finds no offer, must be written, read back and written
   * once more, and is the reason why the database is asked again.
   */
  async #ask(ask: (limits: ClaimLimits, leasePrefix: string) => Promise<ClaimReply>): Promise<ClaimReply> {
    const askFor = (asked: SlotBudget) => {
      this.#setAsked(asked);
      const leasePrefix = this.newLeasePrefix();
      return this.leasing({ leasePrefix }, async () => {
        const reply = await ask(asked.limits(), leasePrefix);
        for (const claim of reply.claims) this.#promise(claim);
        return reply;
      });
    };
    const waiting = this.#waiting;
    this.#waiting = 0;
    if (waiting > 0 && waiting < this.#budget.slots) {
      const reply = await askFor(this.#budget.half(waiting));
      if (!reply.hasMore || this.#budget.slots <= 0) return reply;
    }
    // A copy: what is promised meanwhile is taken from the budget, and does not make it less that was asked for.
    return askFor(new SlotBudget(this.#budget.limits()));
  }

  /** Leased already; handed out at the next opportunity. */
  #promise(claim: Claim): void {
    this.#promised.set(claim.lease, { message: claim.message, claim });
    use(this.#budget, claim.message);
    if (this.#offer !== this.#budget) use(this.#offer, claim.message);
  }

  #setAsked(asked: SlotBudget | null): void {
    this.#asked = asked;
    this.#offer = asked ? this.#budget.without(asked) : this.#budget;
  }

  #takePromised(): Claim[] {
    const claims: Claim[] = [];
    for (const [lease, { claim }] of this.#promised) {
      if (!claim) continue;
      claims.push(claim);
      this.#promised.delete(lease);
    }
    return claims;
  }
}

function use(budget: SlotBudget, { accountId, host, body }: NewMessage): void {
  budget.use(accountId, host, body.length);
}

function newClaim(lease: string, message: NewMessage, account: AccountAtClaim, now: number): Claim {
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
  };
}
