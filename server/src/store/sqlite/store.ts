// The store port over SQLite. Collects what is asked while a transaction runs into the next one (group commit), and
// leases what it accepts straight to the engine that has room for it, so that a message that is due at once is
// written twice in its life (accepted, settled) and never read back.

import type { Claim, NewMessage, Settlement } from '../../domain/message.ts';
import type { QueueChange } from '../../domain/queue.ts';
import { NO_SLOTS, SlotBudget } from '../../domain/slots.ts';
import type { Clock } from '../../world.ts';
import { type AcceptAnswer, type ClaimAnswer, type ClaimRequest, type Store, StoreUnavailable } from '../store.ts';
import { type AcceptReply, type AccountAtClaim, earlier } from './accept.ts';
import type { ClaimReply } from './claim.ts';
import { Committer } from './committer.ts';
import type { Executor } from './executor.ts';

/** What may wait for the next transaction. Past it, publishing is refused: memory is bounded. */
const WAITING_MESSAGES_MAX = 20_000;
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

export interface SqliteStoreOptions {
  readonly executor: Executor;
  /** For lists and searches, which may take long; the writer itself when there is none. */
  readonly reader?: Executor;
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
  const readers = options.reader ? new Committer(options.reader, node, options.onBroken) : committer;
  const read = readers.call.bind(readers);
  let wake = () => {};
  const journalListeners = new Set<() => void>();
  const noteJournal = () => {
    for (const listener of journalListeners) listener();
  };
  let leaseNumber = 0;
  let waitingMessages = 0;
  let waitingBytes = 0;

  /** Leased at acceptance and not yet handed to the engine, by lease; null until the commit is through. */
  const promised = new Map<string, { readonly message: NewMessage; claim: Claim | null }>();
  /** What the engine's last request still allows. Empty while a claim is under way: it may use up all of it. */
  let offer = new SlotBudget(NO_SLOTS);
  /** The earliest time at which the database may have something to claim. -Infinity: look at the next call. */
  let databaseDueAt: number | null = Number.NEGATIVE_INFINITY;
  let scheduleAt: number | null = null;

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
    noteJournal();
  });

  const leaseFor = (message: NewMessage, now: number): string | null => {
    if (message.queueName !== null || message.flow || message.deduplication || message.dueAt > now) return null;
    if (!offer.take(message.accountId, message.host, message.body.length)) return null;
    leaseNumber += 1;
    const lease = `${node}.${leaseNumber}`;
    promised.set(lease, { message, claim: null });
    return lease;
  };

  const noteSchedule = (nextAt: number | null) => {
    scheduleAt = earlier(scheduleAt, nextAt);
    if (nextAt !== null) wake();
  };

  async function accept(
    messages: readonly NewMessage[],
    now: number,
    dayMax: number | null = null,
  ): Promise<AcceptAnswer> {
    const bytes = messages.reduce((sum, message) => sum + message.body.length, 0);
    if (waitingMessages > WAITING_MESSAGES_MAX || waitingBytes > WAITING_BYTES_MAX) {
      throw new StoreUnavailable('overloaded', 'Too much is waiting to be written.');
    }
    waitingMessages += messages.length;
    waitingBytes += bytes;
    // Under a quota nothing is leased in advance: all of it may be refused.
    const leases = messages.map((message) => (dayMax === null ? leaseFor(message, now) : null));
    let reply: AcceptReply;
    try {
      reply = await call('accept', { messages, leases, node, now, dayMax });
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
      promised.get(lease)!.claim = newClaim(lease, message, reply.accounts.get(message.accountId)!, now);
      isLeased = true;
    });
    noteDue(reply.dueAt);
    if (isLeased) wake();
    noteJournal();
    return { duplicates: reply.duplicates, isOverQuota: reply.isOverQuota };
  }

  /** What was promised and is cancelled must never start; and one of them may be what the clock was waiting for. */
  const forgetCancelled = (messageIds: readonly string[]) => {
    const gone = new Set(messageIds);
    for (const [lease, { message }] of promised) if (gone.has(message.id)) promised.delete(lease);
    databaseDueAt = Number.NEGATIVE_INFINITY;
  };

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
      return { claims, nextDueAt: isLater ? databaseDueAt : null, nextScheduleAt: scheduleAt };
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
    scheduleAt = reply.nextScheduleAt;
    return {
      claims: [...claims, ...reply.claims],
      nextDueAt: earlier(reply.nextDueAt, finite(databaseDueAt)),
      nextScheduleAt: scheduleAt,
    };
  }

  return {
    accept,
    claimDue,
    async settle(settlements: readonly Settlement[], now: number) {
      const { results, dueAt } = await call('settle', settlements, now);
      noteDue(dueAt);
      noteJournal();
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
    onJournal(listener) {
      journalListeners.add(listener);
      return () => journalListeners.delete(listener);
    },
    getMessage: (accountId, id) => call('getMessage', accountId, id),
    async cancel(accountId, ids, now, expiresAt) {
      const { cancelled, dueAt } = await call('cancel', accountId, ids, now, expiresAt);
      forgetCancelled(cancelled);
      noteDue(dueAt);
      noteJournal();
      return cancelled;
    },
    async deliverNow(accountId, id, now) {
      const result = await call('deliverNow', accountId, id, now);
      noteDue(now);
      return result;
    },
    whyFacts: (accountId, id) => call('whyFacts', accountId, id),
    searchMessages: (accountId, filter, page) => read('searchMessages', accountId, filter, page),
    countMatching: (accountId, filter, max) => read('countMatching', accountId, filter, max),
    listEvents: (accountId, filter, page) => read('listEvents', accountId, filter, page),
    journalEnd: (accountId) => read('journalEnd', accountId),
    deleteDeadLetters: (accountId, ids) => call('deleteDeadLetters', accountId, ids),
    async retryDeadLetters(retries, now) {
      const { isRetried, dueAt } = await call('retryDeadLetters', retries, now);
      noteDue(dueAt);
      noteJournal();
      return isRetried;
    },
    deleteJournal: (accountId, before, limit) => call('deleteJournal', accountId, before, limit),
    deleteDeduplication: (now, limit) => call('deleteDeduplication', now, limit),
    deleteExpired: (now, limit) => call('deleteExpired', now, limit),
    counts: () => call('counts'),
    standing: (accountId, now, limit) => read('standing', accountId, now, limit),
    activity: (accountId, fromAt, toAt, limit) => read('activity', accountId, fromAt, toAt, limit),
    failureGroups: (accountId, limit) => read('failureGroups', accountId, limit),
    async saveQueue(accountId: string, name: string, change: QueueChange, now: number) {
      const queue = await call('saveQueue', accountId, name, change, now);
      noteDue(now);
      return queue;
    },
    getQueue: (accountId, name) => call('getQueue', accountId, name),
    listQueues: (accountId) => read('listQueues', accountId),
    deleteQueue: (accountId, name) => call('deleteQueue', accountId, name),
    getFlowKey: (accountId, key) => call('getFlowKey', accountId, key),
    listFlowKeys: (accountId) => read('listFlowKeys', accountId),
    async pauseFlowKey(accountId, key, isPaused, now) {
      const flowKey = await call('pauseFlowKey', accountId, key, isPaused, now);
      noteDue(now);
      return flowKey;
    },
    async pinFlowKey(accountId, key, pin, now) {
      const flowKey = await call('pinFlowKey', accountId, key, pin, now);
      noteDue(now);
      return flowKey;
    },
    async resetFlowRate(accountId, key, now) {
      const flowKey = await call('resetFlowRate', accountId, key, now);
      noteDue(now);
      return flowKey;
    },
    async saveSchedule(schedule) {
      await call('saveSchedule', schedule);
      noteSchedule(schedule.nextAt);
    },
    getSchedule: (accountId, id) => call('getSchedule', accountId, id),
    listSchedules: (accountId) => read('listSchedules', accountId),
    countSchedules: (accountId) => call('countSchedules', accountId),
    deleteSchedule: (accountId, id) => call('deleteSchedule', accountId, id),
    async setScheduleNext(accountId, id, nextAt, isPaused) {
      const isKnown = await call('setScheduleNext', accountId, id, nextAt, isPaused);
      noteSchedule(nextAt);
      return isKnown;
    },
    async dueSchedules(now, limit) {
      const { due, nextAt } = await call('dueSchedules', now, limit);
      scheduleAt = nextAt;
      return due;
    },
    async fireSchedule(tick) {
      const { isFired, dueAt } = await call('fireSchedule', tick);
      noteDue(dueAt);
      noteJournal();
      return isFired;
    },
    createJob: (job) => call('createJob', job),
    getJob: (accountId, id) => call('getJob', accountId, id),
    listJobs: (accountId) => read('listJobs', accountId),
    runningJobs: () => call('runningJobs'),
    advanceJob: (accountId, id, step) => call('advanceJob', accountId, id, step),
    async runJobStep(accountId, id, work, step) {
      const { done, dueAt } = await call('runJobStep', accountId, id, work, step);
      if (work.action === 'cancel') forgetCancelled(work.messageIds);
      noteDue(dueAt);
      noteJournal();
      return done;
    },
    stopJob: (accountId, id, now) => call('stopJob', accountId, id, now),
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
    touchToken: (tokenId, now) => call('touchToken', tokenId, now),
    usage: (accountId, fromDay, toDay) => call('usage', accountId, fromDay, toDay),
    async close() {
      if (readers !== committer) await readers.close();
      await committer.close();
    },
  };
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

function newClaim(lease: string, message: NewMessage, account: AccountAtClaim, now: number): Claim {
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
      claimedAt: now,
      failure: null,
      lastStatus: null,
    },
    tier: account.tier,
    signingKey: account.signingKey,
  };
}

function finite(at: number | null): number | null {
  return at === Number.NEGATIVE_INFINITY ? null : at;
}
