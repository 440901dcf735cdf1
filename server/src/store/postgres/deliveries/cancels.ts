// Cancels and releases messages: writes the change, releases promised leases, and notifies the other nodes.

import type { Clock } from '../../../runtime/world.ts';
import type { DeliveryStore } from '../../ports/delivery-store.ts';
import type { MessageStore } from '../../ports/message-store.ts';
import { CancelCalls } from '../../shared/cancel-calls.ts';
import { Cancelling } from '../../shared/cancelling.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import type { Calls } from '../groups/calls.ts';
import { cancelFree, cancelledClaims, nodesHoldingCancelled, waitForFirst } from './cancel.ts';
import { release } from './claim.ts';

export interface CancelsOptions {
  readonly calls: Calls;
  readonly offer: StandingOffer;
  readonly node: string;
  readonly timers: Clock;
  readonly say: (payload: string) => void;
}

export type Cancels = ReturnType<typeof createCancels>;

export function createCancels({ calls, offer, node, timers, say }: CancelsOptions) {
  const giveBack = calls.writing(release, {
    makesWork: ({ dueAt }, _leases, _node, now) => ({ dueAt, now }),
    writesJournal: ({ cancelled, overtaken }) => cancelled.length + overtaken.length > 0,
  });
  const wait = calls.writing(waitForFirst);
  const write = calls.writing(cancelFree, {
    makesWork: ({ dueAt }, _accountId, _ids, now) => ({ dueAt, now }),
    writesJournal: true,
  });
  const claims = calls.reading(cancelledClaims);
  const releaseHere: DeliveryStore['release'] = async (leases, now) => (await giveBack(leases, node, now)).overtaken;
  const others = new CancelCalls({ node, timers, say, look: () => cancelling.look() });
  const cancelling = new Cancelling({
    node,
    timers,
    offer,
    release: releaseHere,
    holders: calls.reading(nodesHoldingCancelled),
    askOthers: (nodes, withinMs) => others.ask(nodes, withinMs),
  });
  const cancelHere: MessageStore['cancel'] = async (accountId, ids, now, expiresAt) => {
    const [cancelled, requested, awaited]: [string[], string[], string[]] = [[], [], []];
    for (let left = ids; ; ) {
      const step = await write(accountId, left, now, expiresAt);
      cancelled.push(...step.cancelled);
      requested.push(...step.requested);
      awaited.push(...step.awaited);
      left = step.busy;
      if (left.length === 0) return cancelling.endPromised({ cancelled, requested, awaited }, now);
      await wait(accountId, left);
    }
  };
  return {
    release: releaseHere,
    cancel: cancelHere,
    confirm: cancelling.confirm.bind(cancelling),
    onCancel: cancelling.onCancel.bind(cancelling),
    cancelledClaims: () => claims(node),
    hear: (payload: string) => others.hear(payload),
    /** Call this after the connection was lost: requests to cancel may have been missed. */
    cameBack: () => void cancelling.look().catch(() => {}),
    /**
     * Call this after a bulk operation has requested cancels. Notifies the nodes that hold the messages, and does not
     * wait for their replies.
     */
    async afterJob(accountId: string, requested: readonly string[], now: number): Promise<void> {
      const left = await cancelling.endPromised({ cancelled: [], requested, awaited: [] }, now);
      if (left.requested.length > 0) void cancelling.confirm(accountId, left.requested, 0).catch(() => {});
    },
  };
}
