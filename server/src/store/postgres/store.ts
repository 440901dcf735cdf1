// The store port over PostgreSQL, for any number of nodes. Accepts and settlements are committed in groups; what a node
// accepts is leased straight to its own engine when that has room for it, so that a message that is due at once is
// written twice in its life (accepted, settled) and never read back.

import type { NewMessage, Settlement } from '../../domain/message.ts';
import type { NodeAbout } from '../../domain/node.ts';
import type { Clock } from '../../world.ts';
import type { AcceptAnswer } from '../delivery-store.ts';
import { Inbox } from '../inbox.ts';
import { bodyBytes } from '../shared-bodies.ts';
import { StandingOffer } from '../standing-offer.ts';
import type { Store } from '../store.ts';
import { type Heir, takingOver } from '../succession.ts';
import { type AcceptCommand, type AcceptReply, acceptAll, isPlain as isPlainAccept } from './accept.ts';
import { accountVerbs, type Rest } from './account-verbs.ts';
import { claimAlone, recovery, releaseHeld } from './alone.ts';
import { cancelVerbs } from './cancel-verbs.ts';
import { Claimer, leasesOf, lookAround, orphanedClaims, release } from './claim.ts';
import { Committer } from './committer.ts';
import type { Database } from './database.ts';
import * as deadLetters from './dead-letters.ts';
import { Doubts } from './doubts.ts';
import { toStoreError } from './errors.ts';
import * as events from './events.ts';
import * as flowKeys from './flow-key-verbs.ts';
import { Hints } from './hints.ts';
import * as jobs from './jobs.ts';
import { deleteJournal } from './journal.ts';
import { PLAIN } from './lease.ts';
import { listVerbs } from './lists.ts';
import { listingLive } from './live-events.ts';
import * as messages from './messages.ts';
import { leave, listNodes, surroundings } from './nodes.ts';
import { numberVerbs } from './number-verbs.ts';
import type { Pool } from './pool.ts';
import * as queues from './queues.ts';
import { scheduleVerbs } from './schedule-verbs.ts';
import { whyOutdated } from './schema-upgrade.ts';
import * as search from './search.ts';
import { deliverNow, isPlain, type SettleReply, settle } from './settle.ts';
import * as time from './time.ts';
import * as topics from './topics.ts';
import { whyFacts } from './why.ts';

/** One transaction: as long as its messages take, nobody else's is answered. */
const BATCH_MESSAGES_MAX = 1000;
const BATCH_BYTES_MAX = 16 * 1024 * 1024;
/** Others write to the database too, and a hint may be missed. */
const KNOWN_FOR_MS = 4000;
/** A claim is for the time at which it was asked for: later, a node that stood still asks anew, if it may claim at all. */
const CLAIM_AGAIN_MS_MAX = 2000;
/** What becomes due later than this is found by everybody in time without a hint. */
const HINT_WITHIN_MS = 5000;
const NODE_SHARDS = 16;
/** An acceptance takes its time, too. */
const ALIVE_MARGIN_MS = 2000;

interface SettleCommand {
  readonly settlements: readonly Settlement[];
  readonly now: number;
  readonly takesOver: readonly string[];
}

export interface PostgresStoreOptions {
  readonly pool: Pool;
  /** Real time, also where the messages' time is a test's. */
  readonly timers: Clock;
  /** Names this process's claims; a new one for every start. */
  readonly node: string;
  /** What a node knows of the database is taken for true for this long; 0 to look every time. */
  readonly knownForMs?: number;
  /** What waits to be accepted; one of its own unless given. */
  readonly inbox?: Inbox;
  /** What people want to know of this node. */
  readonly about: NodeAbout;
  /** Which version of the schema this program knows; told once when that is not enough any more. */
  readonly schema: { readonly known: number; readonly onOutdated: (why: string) => void };
}

/** The store, and the ends of the wires that the pool holds. */
export interface PostgresStore {
  readonly store: Store;
  hear(payload: string): void;
  cameBack(): void;
}

export function createPostgresStore(options: PostgresStoreOptions): PostgresStore {
  const { pool, timers, node, about, knownForMs = KNOWN_FOR_MS } = options;
  const offer = new StandingOffer(node, PLAIN);
  const claimer = new Claimer();
  const hints = new Hints(node, timers, (payload) => pool.notify(payload));
  const doubts = new Doubts();
  const shard = shardOf(node);
  const inbox = options.inbox ?? new Inbox();
  const journalListeners = new Set<() => void>();
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  /** By our own clock, reckoned from when the last sign of life was sent. Without any, nobody asks. */
  let aliveUntilMs = Number.POSITIVE_INFINITY;

  /** A node that stood still is taken for dead until it is heard of again: what it leased to itself would be taken over. */
  const mayLease = () => timers.monotonicMs() < aliveUntilMs;
  const tellListeners = () => {
    for (const listener of journalListeners) listener();
  };
  const noteJournal = () => {
    tellListeners();
    hints.news();
  };
  /** `now` is the time of whoever wrote it. */
  const noteDue = (dueAt: number | null, now: number) => {
    offer.noteDue(dueAt);
    if (dueAt !== null && dueAt <= now + HINT_WITHIN_MS) hints.work();
  };
  const told = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw toStoreError(error);
    }
  };

  const reading = <F extends (database: Database, ...rest: never[]) => Promise<unknown>>(verb: F) =>
    ((...rest: never[]) => told(pool.read((database) => verb(database, ...rest)))) as unknown as Rest<F>;
  const writing = <F extends (database: Database, ...rest: never[]) => Promise<unknown>>(verb: F) =>
    ((...rest: never[]) => told(pool.transaction((database) => verb(database, ...rest)))) as unknown as Rest<F>;

  const acceptor = (run: (work: (database: Database) => Promise<AcceptReply[]>) => Promise<AcceptReply[]>) =>
    new Committer<AcceptCommand, AcceptReply>({
      run: (commands) => run((database) => acceptAll(database, commands)),
      sizeOf: ({ messages }) => Math.max(messages.length / BATCH_MESSAGES_MAX, bodyBytes(messages) / BATCH_BYTES_MAX),
      sizeMax: 1,
    });
  const accepting = acceptor((work) => pool.add(work));
  /** What may have to wait for a queue, a key or a quota does not hold up the rest. */
  const acceptingInLine = acceptor((work) => pool.transaction(work));
  const settling = new Committer<SettleCommand, Omit<SettleReply, 'claims'>>({
    run: async (commands) => {
      const all = commands.flatMap(({ settlements }) => settlements);
      const now = Math.max(...commands.map((command) => command.now));
      const { results, dueAt } = isPlain(all)
        ? await pool.write((database) => settle(database, all, now))
        : await settleInLine(all, now, mayLease() ? takingOver(commands) : []);
      let at = 0;
      return commands.map(({ settlements }) => {
        at += settlements.length;
        return { results: results.slice(at - settlements.length, at), dueAt };
      });
    },
    sizeOf: ({ settlements }) => settlements.reduce((size, { attempt }) => size + sizeOf(attempt.responseBody), 0),
    sizeMax: 1,
  });

  /** What may have been leased although the answer never came is given back later. */
  const leasing = <T>(heir: Heir, work: () => Promise<T>): Promise<T> =>
    offer.leasing(heir, work).catch((error: unknown) => {
      doubts.addPrefix(heir.leasePrefix, error);
      throw error;
    });

  async function settleInLine(
    settlements: readonly Settlement[],
    now: number,
    takesOver: readonly string[],
  ): Promise<SettleReply> {
    const estate = offer.estate(takesOver);
    const write = async () => {
      const reply = await pool.transaction((database) => settle(database, settlements, now, estate));
      offer.inherit(reply.claims);
      return reply;
    };
    return estate ? leasing(estate, write) : write();
  }

  async function accept(
    messages: readonly NewMessage[],
    now: number,
    dayMax: number | null = null,
  ): Promise<AcceptAnswer> {
    // Under a quota nothing is leased in advance: all of it may be refused.
    const isLeased = dayMax === null && mayLease();
    const leases = messages.map((message) => (isLeased ? offer.leaseFor(message, now) : null));
    let reply: AcceptReply;
    try {
      const command = { messages, leases, node, now, dayMax };
      reply = await (isPlainAccept(command) ? accepting : acceptingInLine).call(command);
    } catch (error) {
      offer.drop(leases);
      doubts.addLeases(
        leases.filter((lease) => lease !== null),
        error,
      );
      throw error;
    }
    offer.confirm(messages, leases, reply.accounts, now);
    noteDue(reply.dueAt, now);
    noteJournal();
    return { duplicates: reply.duplicates, isOverQuota: reply.isOverQuota };
  }

  const read = <T>(work: (database: Database) => Promise<T>) => pool.read(work);
  const look = () => pool.write(lookAround);
  const transaction = <T>(work: (database: Database) => Promise<T>) => pool.transaction(work, CLAIM_AGAIN_MS_MAX);

  // Real time is right here: it only says which window of a flow key a start no longer counts in.
  const releaseDoubts = writing((database: Database) => doubts.release(database, node, timers.now()));

  const giveBack = async (leases: readonly string[], now: number) => {
    noteDue(await writing(release)(leases, node, now), now);
  };
  const say = (payload: string) => pool.notify(payload);
  const cancels = cancelVerbs({
    ...{ reading, writing, offer, node, timers, say, noteDue, noteJournal },
    release: giveBack,
  });

  const store: Store = {
    accept: (messages, now, dayMax) => inbox.hold(messages, () => accept(messages, now, dayMax)),
    claimDue(request) {
      const nowMs = timers.monotonicMs();
      if (nowMs - lookedAtMs >= knownForMs) offer.forgetDue();
      return offer.claimDue(request, async (limits, leasePrefix) => {
        let isWritten = false;
        const claiming: typeof transaction = async (work) => {
          const result = await transaction(work);
          isWritten = true;
          return result;
        };
        try {
          const reply = await claimer.claim({ ...request, limits, leasePrefix }, look, claiming, read);
          lookedAtMs = nowMs;
          if (reply.claims.length > 0) noteJournal();
          // Those that are to be cancelled end with it.
          if (reply.gone.length > 0) await giveBack(reply.gone, request.now);
          // What we have no room for, others may.
          if (reply.hasMore) hints.work();
          return reply;
        } catch (error) {
          doubts.addPrefix(leasePrefix, error, isWritten);
          throw toStoreError(error);
        }
      });
    },
    async settle(settlements, now, { takesOver = [] } = {}) {
      const { results, dueAt } = await settling.call({ settlements, now, takesOver });
      noteDue(dueAt, now);
      noteJournal();
      return results;
    },
    release: giveBack,
    async heartbeat(id, ttlMs, kept = null) {
      const startedAtMs = timers.monotonicMs();
      const { known, onOutdated } = options.schema;
      const heard = await told(
        pool.beat(async (database) => {
          const now = await time.beat(database, id, ttlMs, { ...about, known }, kept);
          const { nodes, readerMin } = await surroundings(database);
          hints.noteNodes(nodes);
          const why = whyOutdated(readerMin, known);
          if (why !== null) onOutdated(why);
          return now;
        }),
      );
      aliveUntilMs = startedAtMs + ttlMs - ALIVE_MARGIN_MS;
      return heard;
    },
    storedTime: reading(time.storedTime),
    async orphanedClaims(id) {
      if (!doubts.isEmpty && (await releaseDoubts())) offer.lookAgain();
      return reading(orphanedClaims)(id);
    },
    claimAlone(now) {
      const to = offer.heir();
      return leasing(to, () => writing(claimAlone)(to, now));
    },
    async strayClaims(limit) {
      const leases = await reading(leasesOf)(node, limit);
      return leases.filter((lease) => !offer.keeps(lease));
    },
    recovery: reading(recovery),
    onWork: (listener) => offer.onWork(listener),
    onJournal(listener) {
      journalListeners.add(listener);
      return () => journalListeners.delete(listener);
    },
    getMessage: reading(messages.getMessage),
    ...cancels.verbs,
    async releaseHeld(accountId, ids, now) {
      const released = await writing(releaseHeld)(accountId, ids, now);
      noteDue(released.length > 0 ? now : null, now);
      noteJournal();
      return released;
    },
    async deliverNow(accountId, id, now) {
      const result = await writing(deliverNow)(accountId, id, now);
      noteDue(now, now);
      return result;
    },
    whyFacts: reading(whyFacts),
    searchMessages: reading(search.searchMessages),
    countPiece: reading(search.countPiece),
    listEvents: listingLive(
      { list: reading(events.listEvents), isHeldBack: reading(events.isHeldBack) },
      timers,
      tellListeners,
    ),
    journalEnd: reading(events.journalEnd),
    deleteDeadLetters: writing(deadLetters.deleteDeadLetters),
    async retryDeadLetters(retries, now, dayMax = null) {
      const fresh = retries.map(({ message }) => message);
      const retrying = () => writing(deadLetters.retryDeadLetters)(retries, now, dayMax);
      const { isRetried, isOverQuota, dueAt } = await inbox.hold(fresh, retrying);
      noteDue(dueAt, now);
      noteJournal();
      return isOverQuota ? 'overQuota' : isRetried;
    },
    deleteJournal: writing(deleteJournal),
    deleteDeduplication: writing(messages.deleteDeduplication),
    deleteExpired: writing(messages.deleteExpired),
    counts: reading(messages.countMessages),
    ...numberVerbs(reading, writing),
    async saveQueue(accountId, name, change, now) {
      const queue = await writing(queues.saveQueue)(accountId, name, change, now);
      noteDue(now, now);
      return queue;
    },
    getQueue: reading(queues.getQueue),
    deleteQueue: writing(queues.deleteQueue),
    getFlowKey: reading(flowKeys.getFlowKey),
    async pauseFlowKey(accountId, key, isPaused, now) {
      const flowKey = await writing(flowKeys.pauseFlowKey)(accountId, key, isPaused, now);
      noteDue(now, now);
      return flowKey;
    },
    async pinFlowKey(accountId, key, pin, now) {
      const flowKey = await writing(flowKeys.pinFlowKey)(accountId, key, pin, now);
      noteDue(now, now);
      return flowKey;
    },
    async resetFlowRate(accountId, key, now) {
      const flowKey = await writing(flowKeys.resetFlowRate)(accountId, key, now);
      noteDue(now, now);
      return flowKey;
    },
    ...scheduleVerbs({ reading, writing, offer, hints, shard, noteDue, noteJournal }),
    createJob: writing(jobs.createJob),
    getJob: reading(jobs.getJob),
    runningJobs: reading(jobs.runningJobs),
    advanceJob: writing(jobs.advanceJob),
    async runJobStep(accountId, id, work, step) {
      const { done, dueAt, requested } = await writing(jobs.runJobStep)(accountId, id, work, step);
      noteDue(dueAt, step.now);
      noteJournal();
      if (work.action === 'cancel') await cancels.afterJob(accountId, requested, step.now);
      return done;
    },
    stopJob: writing(jobs.stopJob),
    getTopic: reading(topics.getTopic),
    saveTopic: writing(topics.saveTopic),
    ...accountVerbs(reading, writing),
    ...listVerbs(reading),
    listNodes: reading(listNodes),
    async close(onLeft = () => {}) {
      await Promise.all([accepting.close(), acceptingInLine.close(), settling.close()]);
      hints.close();
      // With this, all its claims are given back, and nobody has to wait for the node to be missed.
      if (!doubts.isEmpty) await releaseDoubts().catch(() => {});
      const left = await Promise.allSettled([pool.write((database) => leave(database, node))]);
      await pool.close();
      if (left[0].status === 'fulfilled') onLeft();
    },
  };

  return {
    store,
    hear(payload) {
      if (cancels.hear(payload)) return;
      const heard = hints.hear(payload);
      if (heard?.isWork) offer.lookAgain();
      if (heard?.isNews) tellListeners();
    },
    cameBack() {
      cancels.cameBack();
      offer.lookAgain();
      tellListeners();
    },
  };
}

/** In parts of a transaction. */
function sizeOf(body: Uint8Array): number {
  return Math.max(1 / BATCH_MESSAGES_MAX, body.length / BATCH_BYTES_MAX);
}

function shardOf(node: string): number {
  let sum = 0;
  for (const character of node) sum = (sum * 31 + character.codePointAt(0)!) >>> 0;
  return sum % NODE_SHARDS;
}
