// The store over SQLite: puts its ports together. Calls that arrive while a transaction runs share the next one (group
// commit). The table of verbs says on which thread a verb runs, and who is notified after its commit.

import type { NodeDescription } from '../../rules/nodes/node.ts';
import type { Clock } from '../../runtime/world.ts';
import type { AckStore } from '../ports/ack-store.ts';
import type { MessageStore } from '../ports/message-store.ts';
import type { Store } from '../ports/store.ts';
import type { UpkeepStore } from '../ports/upkeep-store.ts';
import { ACCESS_VERBS, ACK_VERBS, HOST_VERBS, LINE_VERBS, RESOURCE_VERBS } from '../resources/verbs.ts';
import { CancelCalls } from '../shared/cancel-calls.ts';
import { Cancelling } from '../shared/cancelling.ts';
import { waitingChange } from '../shared/changed-message.ts';
import { Hints } from '../shared/hints.ts';
import { Inbox } from '../shared/inbox.ts';
import { StandingOffer } from '../shared/standing-offer.ts';
import { createDeliveries, type ShownNode } from './deliveries/deliveries.ts';
import { MESSAGE_VERBS } from './messages/message-verbs.ts';
import { toThreadVerbs } from './resources/steps.ts';
import { ACCOUNT_VERBS, UPKEEP_VERBS } from './resources/verbs.ts';
import { Calls, type Readers } from './thread/calls.ts';
import { Committer } from './thread/committer.ts';
import type { Executor } from './thread/executor-port.ts';

/** Carries short texts between nodes that share a store. */
export interface NodeChannel {
  say(payload: string): void;
  onHeard(listener: (payload: string) => void): void;
  close(): void;
}

export interface SqliteStoreOptions {
  /** The channel to other lanes of this process, which write to the same file; null if there are none. */
  readonly channel?: NodeChannel | null;
  readonly executor: Executor;
  /** Runs long commands of accounts on the same file, where several lanes share its writer. */
  readonly longExecutor?: Executor | null;
  /** The executors of the reader threads: for look-ups, and for lists and searches. Without them, `executor` reads. */
  readonly readers?: Readers<Executor>;
  readonly clock: Clock;
  /**
   * The real clock, even when a test controls `clock`. With it, a call that can wait is delayed a little, to share the
   * fsync of a later call. Without it, no call is delayed.
   */
  readonly timers?: Clock;
  /** The id with which this node claims messages. Every start has a new id. */
  readonly node: string;
  /** The messages that wait to be accepted. By default the store creates its own inbox. */
  readonly inbox?: Inbox;
  /** The description of this node for people. */
  readonly about?: NodeDescription;
  /** For a lane: the node that people see in its place. */
  readonly shownAs?: ShownNode;
  /** Called when the file can no longer be written. The process must exit. */
  readonly onBroken: (error: Error) => void;
}

export function createSqliteStore(options: SqliteStoreOptions): Store {
  const { executor, readers, clock, timers = clock, node, onBroken, channel = null } = options;
  const { about = { role: 'all', version: '', address: '' } } = options;
  const offer = new StandingOffer(node);
  const inbox = options.inbox ?? new Inbox();
  const writing = new Committer(executor, node, onBroken, options.timers, options.longExecutor);
  const hints = channel && new Hints(node, timers, channel.say, true);
  const reading = (reader: Executor | undefined) => (reader ? new Committer(reader, node, onBroken) : writing);
  const calls = new Calls(writing, { lookUp: reading(readers?.lookUp), list: reading(readers?.list) }, offer, hints);
  const others = channel && new CancelCalls({ node, timers, say: channel.say, look: () => cancelling.look() });
  const cancelling = createCancelling(options, calls, offer, others);

  executor.onOthers?.(node, (hasCancelled) => {
    offer.lookAgain();
    calls.news.hear({ isNews: true, isAccess: false });
    if (hasCancelled) void cancelling.look().catch(() => {});
  });
  channel?.onHeard((payload) => {
    if (others?.hear(payload)) return;
    const heard = hints?.hear(payload);
    if (heard?.isWork) offer.lookAgain();
    if (heard) calls.news.hear(heard);
  });

  return {
    ...createDeliveries({ calls, offer, inbox, cancelling, clock, node, about, shownAs: options.shownAs }),
    ...createUpkeep(calls, offer, cancelling),
    ...createMessages(calls, offer, inbox, cancelling),
    ...calls.all(toThreadVerbs(LINE_VERBS)),
    ...calls.all(toThreadVerbs(HOST_VERBS)),
    ...calls.all(toThreadVerbs(ACK_VERBS)),
    ...calls.all(toThreadVerbs(RESOURCE_VERBS)),
    ...calls.all(ACCOUNT_VERBS),
    ...calls.all(toThreadVerbs(ACCESS_VERBS)),
    // A reader counts again, so no call waits for that. Then the writer subtracts the difference from the stored count.
    async recountStored(accountId) {
      const wrongBy = await calls.ask('storedBytesError', accountId);
      await calls.ask('correctStored', accountId, -wrongBy);
      return wrongBy;
    },
    onAccess: (listener) => calls.news.onAccess(listener),
    async close(onLeft = () => {}) {
      await calls.close();
      hints?.close();
      channel?.close();
      onLeft();
    },
  };
}

function createCancelling(
  { clock, timers = clock, node }: SqliteStoreOptions,
  calls: Calls,
  offer: StandingOffer,
  others: CancelCalls | null,
) {
  return new Cancelling({
    node,
    timers,
    offer,
    release: async (leases, now) => {
      await calls.ask('release', leases, node, now);
    },
    // A lane of this process that sends no heartbeats may only be paused, and may still start an attempt.
    holders: (accountId, ids) =>
      calls.ask('nodesHoldingCancelled', accountId, ids, { asker: node, nowMs: clock.monotonicMs(), stoodStill: true }),
    // Without a channel, the executor notifies the other nodes. They cannot confirm, so the caller checks after `ms`.
    askOthers: (nodes, ms) =>
      others ? others.ask(nodes, ms) : new Promise((resolve) => timers.after(ms, () => resolve([]))),
  });
}

function createUpkeep(calls: Calls, offer: StandingOffer, cancelling: Cancelling): UpkeepStore {
  return {
    ...calls.all(UPKEEP_VERBS),
    async dueSchedules(now, limits) {
      const answer = await calls.ask('dueSchedules', now, limits);
      offer.setSchedule(answer.nextAt);
      return answer;
    },
    fireSchedules: async (ticks, now) => (await calls.ask('fireSchedules', ticks, now)).made,
    notifyAlerts: async (evaluated, now) => (await calls.ask('notifyAlerts', evaluated, now)).results,
    async runJobStep(accountId, id, work, step) {
      const { done, requested } = await calls.ask('runJobStep', accountId, id, work, step);
      if (work.action === 'cancel') {
        await cancelling.endPromised({ cancelled: [], requested, awaited: [] }, step.now);
        // The job does not wait until the claims of these messages are released.
        if (requested.length > 0) void cancelling.look().catch(() => {});
      }
      return done;
    },
  };
}

function createMessages(
  calls: Calls,
  offer: StandingOffer,
  inbox: Inbox,
  cancelling: Cancelling,
): MessageStore & Pick<AckStore, 'readMessage'> {
  return {
    ...calls.all(MESSAGE_VERBS),
    async cancel(accountId, ids, now, expiresAt) {
      const { dueAt: _dueAt, ...answer } = await calls.ask('cancel', accountId, ids, now, expiresAt);
      return cancelling.endPromised(answer, now);
    },
    async changeMessage(accountId, messageId, change, now) {
      const asked = () => calls.ask('changeMessage', accountId, messageId, change, now);
      const { outcome, isStartChanged } = await inbox.hold([waitingChange(accountId, change)], asked);
      if (isStartChanged) offer.forgetDue();
      return outcome;
    },
    confirmCancels: (accountId, ids, withinMs) => cancelling.confirm(accountId, ids, withinMs),
    releaseHeld: async (accountId, ids, now) => (await calls.ask('releaseHeld', accountId, ids, now)).released,
    async retryDeadLetters(retries, now, dayMax = null) {
      const fresh = retries.map(({ message }) => message);
      const retrying = () => calls.ask('retryDeadLetters', retries, now, dayMax);
      const { isRetried, isOverQuota } = await inbox.hold(fresh, retrying);
      return isOverQuota ? 'overQuota' : isRetried;
    },
    onJournal: (listener) => calls.news.onJournal(listener),
  };
}
