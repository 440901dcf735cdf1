// The delivery port over PostgreSQL, for any number of nodes: accept and settle in groups, claims, and recovery after crashes.

import { timeOfWork } from '../../../rules/time/clock.ts';
import type { Clock } from '../../../runtime/world.ts';
import type { DeliveryStore } from '../../ports/delivery-store.ts';
import type { Hints } from '../../shared/hints.ts';
import type { Inbox } from '../../shared/inbox.ts';
import type { Groups, GroupsOptions } from '../groups/groups.ts';
import { expireMessages } from '../messages/expiry.ts';
import type { Database } from '../sessions/database.ts';
import { toStoreError } from '../sessions/errors.ts';
import { listNodes } from '../sessions/nodes.ts';
import { claimAlone, readRecovery } from './alone.ts';
import type { Cancels } from './cancels.ts';
import { Claimer, leasesOf, orphanedClaims, waitingWork } from './claim.ts';
import * as time from './time.ts';

/** How long a node trusts what it knows about due work: other nodes add work too, and a hint may be missed. */
const KNOWN_FOR_MS = 4000;

export interface DeliveriesOptions extends GroupsOptions {
  readonly timers: Clock;
  readonly hints: Hints;
  readonly inbox: Inbox;
  readonly groups: Groups;
  readonly cancels: Cancels;
  /** How long a node trusts what it knows about due work; 0 to read the database every time. */
  readonly knownForMs?: number | undefined;
  /** Releases doubtful leases. Returns whether there were any. */
  readonly releaseDoubts: () => Promise<boolean>;
}

export function createDeliveries(options: DeliveriesOptions): DeliveryStore {
  const { calls, offer, doubts, node, inbox, groups, cancels, life } = options;
  const orphans = calls.reading(orphanedClaims);
  const stray = calls.reading(leasesOf);
  const alone = calls.writing(claimAlone);
  const expire = calls.writing(expireMessages, {
    makesWork: ({ dueAt }, _expirations, now) => ({ dueAt, now }),
    writesJournal: ({ expired }) => expired.length > 0,
  });
  return {
    accept: (messages, now, dayMax) => inbox.hold(messages, () => groups.accept(messages, now, dayMax)),
    offer: (limits) => offer.offer(limits),
    onClaims: (listener) => offer.onClaims(listener),
    claimDue: claiming(options),
    settle: groups.settle,
    release: cancels.release,
    expireMessages: async (expirations, now) => (await expire(expirations, now)).expired,
    onWork: (listener) => offer.onWork(listener),
    onCancel: (listener) => cancels.onCancel(listener),
    cancelledClaims: () => cancels.cancelledClaims(),
    async orphanedClaims(id) {
      if (!doubts.isEmpty && (await options.releaseDoubts())) offer.lookAgain();
      return orphans(id);
    },
    async strayClaims(limit) {
      const leases = await stray(node, limit);
      return leases.filter((lease) => !offer.keeps(lease));
    },
    claimAlone(now) {
      const to = offer.leaseHolder();
      return groups.leasing(to, () => alone(to, now));
    },
    recovery: calls.reading(readRecovery),
    heartbeat: life.heartbeat,
    storedTime: calls.reading(time.storedTime),
    whyNotWritable: () => options.pool.whyNotWritable(),
    listNodes: calls.reading(listNodes),
  };
}

function claiming({ pool, timers, node, offer, calls, hints, doubts, cancels, life, ...options }: DeliveriesOptions) {
  const { knownForMs = KNOWN_FOR_MS } = options;
  const claimer = new Claimer();
  const read = <T>(work: (database: Database) => Promise<T>) => pool.read(work);
  const look = () => pool.write(waitingWork);
  const transaction = <T>(work: (database: Database) => Promise<T>) => pool.transaction(work);
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  const claimDue: DeliveryStore['claimDue'] = (now) => {
    const nowMs = timers.monotonicMs();
    if (nowMs - lookedAtMs >= knownForMs) offer.forgetDue();
    return offer.claimDue(now, async (limits, leasePrefix) => {
      let isWritten = false;
      const claim: typeof transaction = async (work) => {
        const result = await transaction(work);
        isWritten = true;
        return result;
      };
      const timeNow = () => (life.mayLease() ? timeOfWork(now, timers.monotonicMs() - nowMs) : null);
      try {
        const reply = await claimer.claim({ node, now, limits, leasePrefix, timeNow }, look, claim, read);
        lookedAtMs = nowMs;
        if (reply.claims.length > 0) calls.news.noteJournal();
        // A message whose cancel was requested ends with the release.
        if (reply.gone.length > 0) await cancels.release(reply.gone, now);
        // Other nodes may have free slots for the messages that are left.
        if (reply.hasMore) hints.work();
        return reply;
      } catch (error) {
        doubts.addPrefix(leasePrefix, error, isWritten);
        throw toStoreError(error);
      }
    });
  };
  return claimDue;
}
