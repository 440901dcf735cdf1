// The store over SQLite: puts its four ports together. What is asked while a transaction runs goes into the next one (group
// commit); which thread a verb runs on, and who is told of it, stands on the verb in its table.

import type { NodeAbout } from '../../domain/node.ts';
import type { Clock } from '../../world.ts';
import { Cancelling } from '../cancelling.ts';
import { Inbox } from '../inbox.ts';
import type { MessageStore } from '../message-store.ts';
import { StandingOffer } from '../standing-offer.ts';
import type { Store } from '../store.ts';
import { ACCOUNT_VERBS } from './account-verbs.ts';
import { Calls } from './calls.ts';
import { Committer } from './committer.ts';
import { createDeliveries } from './deliveries.ts';
import type { Executor } from './executor.ts';
import { MESSAGE_VERBS } from './message-verbs.ts';
import { RESOURCE_VERBS } from './resource-verbs.ts';

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
  const { executor, reader, clock, node, onBroken, about = { role: 'all', version: '', address: '' } } = options;
  const offer = new StandingOffer(node);
  const inbox = options.inbox ?? new Inbox();
  const writing = new Committer(executor, node, onBroken, options.timers);
  const calls = new Calls(writing, reader ? new Committer(reader, node, onBroken) : writing, offer);
  const cancelling = createCancelling(options, calls, offer);

  executor.onOthers?.(node, (hasCancelled) => {
    offer.lookAgain();
    calls.noteJournal();
    if (hasCancelled) void cancelling.look().catch(() => {});
  });

  return {
    ...createDeliveries({ calls, offer, inbox, cancelling, clock, node, about }),
    ...createMessages(calls, inbox, cancelling),
    ...calls.all(RESOURCE_VERBS),
    ...calls.all(ACCOUNT_VERBS),
    counts: () => calls.ask('counts'),
    advanceJob: (accountId, id, step) => calls.ask('advanceJob', accountId, id, step),
    async close(onLeft = () => {}) {
      await calls.close();
      onLeft();
    },
  };
}

function createCancelling({ clock, timers = clock, node }: SqliteStoreOptions, calls: Calls, offer: StandingOffer) {
  return new Cancelling({
    node,
    timers,
    offer,
    release: async (leases, now) => {
      await calls.ask('release', leases, node, now);
    },
    holders: (accountId, ids) => calls.ask('cancelHolders', accountId, ids, clock.monotonicMs()),
    // Others, where there are any, have heard of it; what they give back has ended when the time is over.
    askOthers: (_nodes, ms) => new Promise((resolve) => timers.after(ms, () => resolve([]))),
  });
}

function createMessages(calls: Calls, inbox: Inbox, cancelling: Cancelling): MessageStore {
  return {
    ...calls.all(MESSAGE_VERBS),
    async cancel(accountId, ids, now, expiresAt) {
      const { dueAt: _dueAt, ...answer } = await calls.ask('cancel', accountId, ids, now, expiresAt);
      return cancelling.endPromised(answer, now);
    },
    confirmCancels: (accountId, ids, withinMs) => cancelling.confirm(accountId, ids, withinMs),
    releaseHeld: async (accountId, ids, now) => (await calls.ask('releaseHeld', accountId, ids, now)).released,
    async retryDeadLetters(retries, now, dayMax = null) {
      const fresh = retries.map(({ message }) => message);
      const retrying = () => calls.ask('retryDeadLetters', retries, now, dayMax);
      const { isRetried, isOverQuota } = await inbox.hold(fresh, retrying);
      return isOverQuota ? 'overQuota' : isRetried;
    },
    onJournal: (listener) => calls.onJournal(listener),
  };
}
