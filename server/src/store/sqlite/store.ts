// The store port over SQLite. Collects what is asked while a transaction runs into the next one (group commit), and
// leases what it accepts straight to the engine that has room for it, so that a message that is due at once is
// written twice in its life (accepted, settled) and never read back.

import type { Claim, NewMessage, Settlement } from '../../domain/message.ts';
import type { QueueChange } from '../../domain/queue.ts';
import { NO_SLOTS, SlotBudget } from '../../domain/slots.ts';
import type { Clock } from '../../world.ts';
import { type ClaimAnswer, type ClaimRequest, type Store, StoreUnavailable } from '../store.ts';
import { type AcceptReply, type AccountAtClaim, earlier } from './accept.ts';
import type { ClaimReply } from './claim.ts';
import type { Executor } from './executor.ts';
import type { Command, Reply, Verbs } from './verbs.ts';

/** What may wait for the next transaction. Past it, publishing is refused: memory is bounded. */
const WAITING_MESSAGES_MAX = 20_000;
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

interface Waiting {
  readonly command: Command;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface SqliteStoreOptions {
  readonly executor: Executor;
  readonly clock: Clock;
  /** Names this process's claims; a new one for every start. */
  readonly node: string;
  /** The file can no longer be written: the process must end. */
  readonly onBroken: (error: Error) => void;
}

export function createSqliteStore(options: SqliteStoreOptions): Store {
  const { executor, clock, node } = options;
  const committer = new Committer(executor, node, options.onBroken);
  const call = committer.call.bind(committer);
  let wake = () => {};
  let leaseNumber = 0;
  let waitingMessages = 0;
  let waitingBytes = 0;

  /** Leased at acceptance and not yet handed to the engine, by lease; null until the commit is through. */
  const promised = new Map<string, { readonly message: NewMessage; claim: Claim | null }>();
  /** What the engine's last request still allows. Empty while a claim is under way: it may use up all of it. */
  let offer = new SlotBudget(NO_SLOTS);
  /** The earliest time at which the database may have something to claim. -Infinity: look at the next call. */
  let databaseDueAt: number | null = Number.NEGATIVE_INFINITY;

  const noteDue = (dueAt: number | null) => {
    if (dueAt === null) return;
    // At -Infinity something was left for want of room at its host; what is new may go to another.
    const isNews = databaseDueAt === null || dueAt < databaseDueAt || databaseDueAt === Number.NEGATIVE_INFINITY;
    databaseDueAt = earlier(databaseDueAt, dueAt);
    if (isNews) wake();
  };
  executor.onOthers?.(node, () => {
    databaseDueAt = Number.NEGATIVE_INFINITY;
    wake();
  });

  const leaseFor = (message: NewMessage, now: number): string | null => {
    if (message.queueName !== null || message.dueAt > now) return null;
    if (!offer.take(message.accountId, message.host, message.body.length)) return null;
    leaseNumber += 1;
    const lease = `${node}.${leaseNumber}`;
    promised.set(lease, { message, claim: null });
    return lease;
  };

  async function accept(messages: readonly NewMessage[], now: number): Promise<void> {
    const bytes = messages.reduce((sum, message) => sum + message.body.length, 0);
    if (waitingMessages > WAITING_MESSAGES_MAX || waitingBytes > WAITING_BYTES_MAX) {
      throw new StoreUnavailable('overloaded', 'Too much is waiting to be written.');
    }
    waitingMessages += messages.length;
    waitingBytes += bytes;
    const leases = messages.map((message) => leaseFor(message, now));
    let reply: AcceptReply;
    try {
      reply = await call('accept', { messages, leases, node, now });
    } catch (error) {
      for (const lease of leases) if (lease !== null) promised.delete(lease);
      throw error;
    } finally {
      waitingMessages -= messages.length;
      waitingBytes -= bytes;
    }
    let isLeased = false;
    leases.forEach((lease, index) => {
      if (lease === null) return;
      const message = messages[index]!;
      promised.get(lease)!.claim = newClaim(lease, message, reply.accounts.get(message.accountId)!);
      isLeased = true;
    });
    noteDue(reply.dueAt);
    if (isLeased) wake();
  }

  async function claimDue(request: ClaimRequest): Promise<ClaimAnswer> {
    const budget = new SlotBudget(request.limits);
    // What is promised takes its place in the new budget, whoever's count it was in before; in the same order as in
    // the last one, because in another order the bytes could run out before all have their slots.
    for (const { message } of promised.values()) budget.take(message.accountId, message.host, message.body.length);
    const claims = takePromised(promised);
    if (budget.slots === 0 || databaseDueAt === null || databaseDueAt > request.now) {
      offer = budget;
      // What is due but has no slot waits for a commit or a settlement, not for the clock: an engine that was told so
      // would ask again at once, forever, and never let the commit's answer through.
      const isLater = databaseDueAt !== null && databaseDueAt > request.now;
      return { claims, nextDueAt: isLater ? databaseDueAt : null };
    }
    offer = new SlotBudget(NO_SLOTS);
    databaseDueAt = null;
    leaseNumber += 1;
    const leasePrefix = `${node}.${leaseNumber}`;
    let reply: ClaimReply;
    try {
      reply = await call('claim', { ...request, limits: budget.limits(), leasePrefix });
    } catch (error) {
      // Nothing of it happened: the next call looks again, and hands out what this one would have.
      databaseDueAt = Number.NEGATIVE_INFINITY;
      for (const claim of claims) promised.set(claim.lease, { message: claim.message, claim });
      throw error;
    }
    for (const { message } of reply.claims) budget.take(message.accountId, message.host, message.body.length);
    offer = budget;
    databaseDueAt = earlier(databaseDueAt, reply.hasMore ? Number.NEGATIVE_INFINITY : reply.nextDueAt);
    return { claims: [...claims, ...reply.claims], nextDueAt: earlier(reply.nextDueAt, finite(databaseDueAt)) };
  }

  return {
    accept,
    claimDue,
    async settle(settlements: readonly Settlement[], now: number) {
      const { results, dueAt } = await call('settle', settlements, now);
      noteDue(dueAt);
      return results;
    },
    async release(leases, now) {
      noteDue(await call('release', leases, node, now));
    },
    heartbeat: (id, ttlMs) => call('heartbeat', id, clock.monotonicMs() + ttlMs),
    orphanedClaims: (id, limit) => call('orphanedClaims', id, clock.monotonicMs(), limit),
    onWork(listener) {
      wake = listener;
    },
    getMessage: (accountId, id) => call('getMessage', accountId, id),
    async cancel(accountId, ids, now, expiresAt) {
      const { cancelled, dueAt } = await call('cancel', accountId, ids, now, expiresAt);
      // What was promised and is cancelled must never start.
      const gone = new Set(cancelled);
      for (const [lease, { message }] of promised) if (gone.has(message.id)) promised.delete(lease);
      // One of them may be what the clock was waiting for.
      databaseDueAt = Number.NEGATIVE_INFINITY;
      noteDue(dueAt);
      return cancelled;
    },
    deleteExpired: (now, limit) => call('deleteExpired', now, limit),
    counts: () => call('counts'),
    async saveQueue(accountId: string, name: string, change: QueueChange, now: number) {
      const queue = await call('saveQueue', accountId, name, change, now);
      noteDue(now);
      return queue;
    },
    getQueue: (accountId, name) => call('getQueue', accountId, name),
    listQueues: (accountId) => call('listQueues', accountId),
    getTopic: (accountId, nameOrId) => call('getTopic', accountId, nameOrId),
    listTopics: (accountId) => call('listTopics', accountId),
    saveTopic: (topic) => call('saveTopic', topic),
    createAccount: (account, keys) => call('createAccount', account, keys),
    getAccount: (accountId) => call('getAccount', accountId),
    listAccounts: () => call('listAccounts'),
    setTier: (accountId, tier) => call('setTier', accountId, tier),
    getSigningKeys: (accountId) => call('getSigningKeys', accountId),
    rotateSigningKeys: (accountId, next, fresh) => call('rotateSigningKeys', accountId, next, fresh),
    createToken: (token, hash) => call('createToken', token, hash),
    findToken: (hash) => call('findToken', hash),
    listTokens: (accountId) => call('listTokens', accountId),
    revokeToken: (accountId, tokenId, now) => call('revokeToken', accountId, tokenId, now),
    usage: (accountId, fromDay, toDay) => call('usage', accountId, fromDay, toDay),
    close: () => committer.close(),
  };
}

/** What is asked while a batch runs goes into the next: under load, many requests share one fsync. */
class Committer {
  readonly #executor: Executor;
  readonly #node: string;
  readonly #onBroken: (error: Error) => void;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #closed: Error | null = null;

  constructor(executor: Executor, node: string, onBroken: (error: Error) => void) {
    this.#executor = executor;
    this.#node = node;
    this.#onBroken = onBroken;
  }

  call<V extends keyof Verbs>(verb: V, ...args: Parameters<Verbs[V]>): Promise<ReturnType<Verbs[V]>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new StoreUnavailable('unavailable', this.#closed.message));
      this.#waiting.push({ command: { verb, args }, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  async close(): Promise<void> {
    // First, so that nothing new is asked of an executor that is being closed.
    this.#closed ??= new Error('The store is closed.');
    await this.#running;
    await this.#executor.close();
  }

  async #run(): Promise<void> {
    // Lets everything that is asked in this turn of the loop into the first batch.
    await null;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const commands = batch.map((waiting) => waiting.command);
        const replies = await this.#executor.execute(commands, this.#node);
        batch.forEach((waiting, index) => {
          answer(waiting, replies[index]!);
        });
      } catch (error) {
        this.#break(error as Error, batch);
      }
    }
    this.#running = null;
  }

  #break(error: Error, batch: readonly Waiting[]): void {
    this.#closed = error;
    for (const waiting of [...batch, ...this.#waiting]) {
      waiting.reject(new StoreUnavailable('unavailable', error.message));
    }
    this.#waiting = [];
    this.#onBroken(error);
  }
}

function answer(waiting: Waiting, reply: Reply): void {
  if ('value' in reply) waiting.resolve(reply.value);
  else waiting.reject(reply.isFull ? new StoreUnavailable('full', reply.error) : new Error(reply.error));
}

function takePromised(promised: Map<string, { claim: Claim | null }>): Claim[] {
  const claims: Claim[] = [];
  for (const [lease, { claim }] of promised) {
    if (!claim) continue;
    claims.push(claim);
    promised.delete(lease);
  }
  return claims;
}

function newClaim(lease: string, message: NewMessage, account: AccountAtClaim): Claim {
  return {
    lease,
    message: {
      ...message,
      state: 'claimed',
      firstDueAt: message.dueAt,
      retried: 0,
      interrupted: 0,
      attempts: 0,
      endedAt: null,
      failure: null,
    },
    tier: account.tier,
    signingKey: account.signingKey,
  };
}

function finite(at: number | null): number | null {
  return at === Number.NEGATIVE_INFINITY ? null : at;
}
