// The store port over SQLite. Collects what is asked while a transaction runs into the next one (group commit), and
// leases what it accepts straight to the engine that has room for it, so that a message that is due at once is
// written twice in its life (accepted, settled) and never read back.

import type { NewMessage } from '../../domain/message.ts';
import type { NodeAbout } from '../../domain/node.ts';
import type { QueueChange } from '../../domain/queue.ts';
import type { Clock } from '../../world.ts';
import { Cancelling } from '../cancelling.ts';
import type { AcceptAnswer } from '../delivery-store.ts';
import { Inbox } from '../inbox.ts';
import { StandingOffer } from '../standing-offer.ts';
import type { Store } from '../store.ts';
import type { AcceptReply } from './accept.ts';
import { Committer } from './committer.ts';
import type { Executor } from './executor.ts';

export interface SqliteStoreOptions {
  readonly executor: Executor;
  /** For lists and searches, which may take long; the writer itself when there is none. */
  readonly reader?: Executor;
  readonly clock: Clock;
  /** The real clock, also where `clock` is a test's. What can wait then shares the flush of what follows within a moment. */
  readonly timers?: Clock;
  /** Names this process's claims; a new one for every start. */
  readonly node: string;
  /** What waits to be accepted; one of its own unless given. */
  readonly inbox?: Inbox;
  /** What people want to know of it. */
  readonly about?: NodeAbout;
  /** The file can no longer be written: the process must end. */
  readonly onBroken: (error: Error) => void;
}

export function createSqliteStore(options: SqliteStoreOptions): Store {
  const { executor, clock, node, about = { role: 'all', version: '', address: '' } } = options;
  const startedAt = clock.now();
  let aliveUntil = startedAt;
  const committer = new Committer(executor, node, options.onBroken, options.timers);
  const call = committer.call.bind(committer);
  const readers = options.reader ? new Committer(options.reader, node, options.onBroken) : committer;
  const read = readers.call.bind(readers);
  const offer = new StandingOffer(node);
  const noteDue = offer.noteDue.bind(offer);
  const inbox = options.inbox ?? new Inbox();
  const journalListeners = new Set<() => void>();
  const noteJournal = () => {
    for (const listener of journalListeners) listener();
  };

  const giveBack = async (leases: readonly string[], now: number) => {
    noteDue(await call('release', leases, node, now));
  };
  const timers = options.timers ?? clock;
  const cancelling = new Cancelling({
    node,
    timers,
    offer,
    release: giveBack,
    holders: (accountId, ids) => call('cancelHolders', accountId, ids, clock.monotonicMs()),
    // Others, where there are any, have heard of it; what they give back has ended when the time is over.
    askOthers: (_nodes, ms) => new Promise((resolve) => timers.after(ms, () => resolve([]))),
  });

  executor.onOthers?.(node, (hasCancelled) => {
    offer.lookAgain();
    noteJournal();
    if (hasCancelled) void cancelling.look().catch(() => {});
  });

  async function accept(
    messages: readonly NewMessage[],
    now: number,
    dayMax: number | null = null,
  ): Promise<AcceptAnswer> {
    const bytes = inbox.take(messages);
    // Under a quota nothing is leased in advance: all of it may be refused.
    const leases = messages.map((message) => (dayMax === null ? offer.leaseFor(message, now) : null));
    let reply: AcceptReply;
    try {
      reply = await call('accept', { messages, leases, node, now, dayMax });
    } catch (error) {
      offer.drop(leases);
      throw error;
    } finally {
      inbox.give(messages, bytes);
    }
    offer.confirm(messages, leases, reply.accounts, now);
    noteDue(reply.dueAt);
    noteJournal();
    return { duplicates: reply.duplicates, isOverQuota: reply.isOverQuota };
  }

  return {
    accept,
    claimDue: (request) =>
      offer.claimDue(request, async (limits, leasePrefix) => {
        const reply = await call('claim', { ...request, limits, leasePrefix });
        if (reply.claims.length > 0) noteJournal();
        return reply;
      }),
    async settle(settlements, now, { takesOver = [], canWait = false } = {}) {
      const estate = offer.estate(takesOver);
      // While something waits for room, the slots that become free are wanted at once.
      const settling =
        canWait && offer.isCaughtUp(now)
          ? committer.callSometime('settle', settlements, now, estate)
          : committer.call('settle', settlements, now, estate);
      const written = async () => {
        const reply = await settling;
        offer.inherit(reply.claims);
        return reply;
      };
      const { results, dueAt } = await (estate ? offer.leasing(estate, written) : written());
      noteDue(dueAt);
      noteJournal();
      return results;
    },
    release: giveBack,
    async heartbeat(id, ttlMs, time) {
      const kept = await call('heartbeat', id, clock.monotonicMs() + ttlMs, time ?? null);
      aliveUntil = clock.now() + ttlMs;
      return { kept, wallAt: null };
    },
    storedTime: () => call('storedTime'),
    scheduleTimes: (after, limit) => call('scheduleTimes', after, limit),
    async moveSchedules(moves) {
      await call('moveSchedules', moves);
      for (const { nextAt } of moves) offer.noteSchedule(nextAt);
    },
    // A file belongs to one process: there is no other node to tell of.
    listNodes: async () => [{ ...about, id: node, startedAt, aliveUntil, isAlive: aliveUntil > clock.now() }],
    orphanedClaims: (id) => call('orphanedClaims', id, clock.monotonicMs()),
    async strayClaims(limit) {
      const leases = await call('leasesOf', node, limit);
      return leases.filter((lease) => !offer.keeps(lease));
    },
    claimAlone(now) {
      const heir = offer.heir();
      return offer.leasing(heir, () => call('claimAlone', heir, now));
    },
    recovery: () => call('recovery'),
    onWork: (listener) => offer.onWork(listener),
    onJournal(listener) {
      journalListeners.add(listener);
      return () => journalListeners.delete(listener);
    },
    messageStates: (accountId, ids) => read('messageStates', accountId, ids),
    getMessage: (accountId, id, detail) => read('getMessage', accountId, id, detail),
    async cancel(accountId, ids, now, expiresAt) {
      const { dueAt, ...answer } = await call('cancel', accountId, ids, now, expiresAt);
      noteDue(dueAt);
      noteJournal();
      return cancelling.endPromised(answer, now);
    },
    confirmCancels: (accountId, ids, withinMs) => cancelling.confirm(accountId, ids, withinMs),
    onCancel: (listener) => cancelling.onCancel(listener),
    cancelledClaims: () => call('cancelledClaims', node),
    async releaseHeld(accountId, ids, now) {
      const { released, dueAt } = await call('releaseHeld', accountId, ids, now);
      noteDue(dueAt);
      noteJournal();
      return released;
    },
    async deliverNow(accountId, id, now) {
      const result = await call('deliverNow', accountId, id, now);
      noteDue(now);
      return result;
    },
    whyFacts: (accountId, id) => read('whyFacts', accountId, id),
    searchMessages: (accountId, filter, page) => read('searchMessages', accountId, filter, page),
    countPiece: (accountId, filter, max, cursor) => read('countPiece', accountId, filter, max, cursor),
    listEvents: (accountId, filter, page) => read('listEvents', accountId, filter, page),
    journalEnd: (accountId) => read('journalEnd', accountId),
    deleteDeadLetters: (accountId, ids) => call('deleteDeadLetters', accountId, ids),
    async retryDeadLetters(retries, now, dayMax = null) {
      const fresh = retries.map(({ message }) => message);
      const retrying = () => call('retryDeadLetters', retries, now, dayMax);
      const { isRetried, isOverQuota, dueAt } = await inbox.hold(fresh, retrying);
      noteDue(dueAt);
      noteJournal();
      return isOverQuota ? 'overQuota' : isRetried;
    },
    deleteJournal: (before, part) => call('deleteJournal', before, part),
    deleteDeduplication: (now, limit) => call('deleteDeduplication', now, limit),
    deleteExpired: (now, limit) => call('deleteExpired', now, limit),
    counts: () => call('counts'),
    standing: (accountId, now, limit) => read('standing', accountId, now, limit),
    activity: (accountId, fromAt, toAt, bucketMs) => read('activity', accountId, fromAt, toAt, bucketMs),
    foldActivity: (keep, limit) => call('foldActivity', keep, limit),
    failureGroups: (accountId, limit) => read('failureGroups', accountId, limit),
    async saveQueue(accountId: string, name: string, change: QueueChange, now: number) {
      const queue = await call('saveQueue', accountId, name, change, now);
      noteDue(now);
      return queue;
    },
    getQueue: (accountId, name) => read('getQueue', accountId, name),
    listQueues: (accountId, part) => read('listQueues', accountId, part),
    countQueues: (accountId, max) => read('countQueues', accountId, max),
    countLine: (accountId, name, from) => read('countLine', accountId, name, from),
    deleteQueue: (accountId, name) => call('deleteQueue', accountId, name),
    getFlowKey: (accountId, key) => read('getFlowKey', accountId, key),
    listFlowKeys: (accountId, part) => read('listFlowKeys', accountId, part),
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
      offer.noteSchedule(schedule.nextAt);
    },
    getSchedule: (accountId, id) => call('getSchedule', accountId, id),
    listSchedules: (accountId, part) => read('listSchedules', accountId, part),
    countSchedules: (accountId) => read('countSchedules', accountId),
    deleteSchedule: (accountId, id) => call('deleteSchedule', accountId, id),
    async setScheduleNext(accountId, id, nextAt, isPaused) {
      const isKnown = await call('setScheduleNext', accountId, id, nextAt, isPaused);
      offer.noteSchedule(nextAt);
      return isKnown;
    },
    async dueSchedules(now, limits) {
      const answer = await call('dueSchedules', now, limits);
      offer.setSchedule(answer.nextAt);
      return answer;
    },
    async fireSchedules(ticks, now) {
      const { made, dueAt } = await call('fireSchedules', ticks, now);
      noteDue(dueAt);
      noteJournal();
      return made;
    },
    createJob: (job, runningMax) => call('createJob', job, runningMax),
    getJob: (accountId, id) => call('getJob', accountId, id),
    listJobs: (accountId, part) => read('listJobs', accountId, part),
    runningJobs: () => call('runningJobs'),
    advanceJob: (accountId, id, step) => call('advanceJob', accountId, id, step),
    async runJobStep(accountId, id, work, step) {
      const { done, dueAt, requested } = await call('runJobStep', accountId, id, work, step);
      noteDue(dueAt);
      noteJournal();
      if (work.action === 'cancel') {
        await cancelling.endPromised({ cancelled: [], requested, awaited: [] }, step.now);
        // Nobody waits for it.
        if (requested.length > 0) void cancelling.look().catch(() => {});
      }
      return done;
    },
    stopJob: (accountId, id, now) => call('stopJob', accountId, id, now),
    getTopic: (accountId, nameOrId) => call('getTopic', accountId, nameOrId),
    listTopics: (accountId, part) => read('listTopics', accountId, part),
    saveTopic: (topic) => call('saveTopic', topic),
    createAccount: (account, keys) => call('createAccount', account, keys),
    getAccount: (accountId) => call('getAccount', accountId),
    listAccounts: (part) => read('listAccounts', part),
    setTier: (accountId, tier) => call('setTier', accountId, tier),
    getSigningKeys: (accountId) => call('getSigningKeys', accountId),
    rotateSigningKeys: (accountId, next, fresh) => call('rotateSigningKeys', accountId, next, fresh),
    createToken: (token, hash) => call('createToken', token, hash),
    findToken: (hash) => call('findToken', hash),
    listTokens: (accountId, part) => read('listTokens', accountId, part),
    revokeToken: (accountId, tokenId, now) => call('revokeToken', accountId, tokenId, now),
    createFirstAdmin: (first) => call('createFirstAdmin', first),
    accountsKnownBy: (hashes, keys) => call('accountsKnownBy', hashes, keys),
    revokeHashes: (hashes, now) => call('revokeHashes', hashes, now),
    touchToken: (tokenId, now) => call('touchToken', tokenId, now),
    createSession: (session, keptMax) => call('createSession', session, keptMax),
    findSession: (sessionId, now) => call('findSession', sessionId, now),
    endSession: (sessionId) => call('endSession', sessionId),
    areAdmitted: (credentials, now) => call('areAdmitted', credentials, now),
    usage: (accountId, fromDay, toDay, part) => read('usage', accountId, fromDay, toDay, part),
    async close(onLeft = () => {}) {
      if (readers !== committer) await readers.close();
      await committer.close();
      onLeft();
    },
  };
}
