// The verbs of cancelling, as the store has them: what is written, what was promised here and is given back, and who is
// asked.

import type { Clock } from '../../world.ts';
import { Cancelling } from '../cancelling.ts';
import type { StandingOffer } from '../standing-offer.ts';
import type { Store } from '../store.ts';
import type { Over } from './account-verbs.ts';
import { cancel, cancelHolders, cancelledClaims } from './cancel.ts';
import { CancelCalls } from './cancel-calls.ts';

export interface CancelVerbsOptions {
  readonly reading: Over;
  readonly writing: Over;
  readonly offer: StandingOffer;
  readonly node: string;
  readonly timers: Clock;
  readonly say: (payload: string) => void;
  readonly release: (leases: readonly string[], now: number) => Promise<void>;
  readonly noteDue: (dueAt: number | null, now: number) => void;
  readonly noteJournal: () => void;
}

export function cancelVerbs(options: CancelVerbsOptions) {
  const { reading, writing, offer, node, timers, say, release, noteDue, noteJournal } = options;
  const calls = new CancelCalls({ node, timers, say, look: () => cancelling.look() });
  const cancelling = new Cancelling({
    node,
    timers,
    offer,
    release,
    holders: reading(cancelHolders),
    askOthers: (nodes, withinMs) => calls.ask(nodes, withinMs),
  });
  const verbs = {
    async cancel(accountId, ids, now, expiresAt) {
      const { dueAt, ...answer } = await writing(cancel)(accountId, ids, now, expiresAt);
      noteDue(dueAt, now);
      noteJournal();
      return cancelling.endPromised(answer, now);
    },
    confirmCancels: (accountId, ids, withinMs) => cancelling.confirm(accountId, ids, withinMs),
    onCancel: (listener) => cancelling.onCancel(listener),
    cancelledClaims: () => reading(cancelledClaims)(node),
  } satisfies Pick<Store, 'cancel' | 'confirmCancels' | 'onCancel' | 'cancelledClaims'>;
  return {
    verbs,
    hear: (payload: string) => calls.hear(payload),
    /** What was said meanwhile was not heard. */
    cameBack: () => void cancelling.look().catch(() => {}),
    /** A bulk operation has requested these: their holders are told, and nobody waits for them. */
    async afterJob(accountId: string, requested: readonly string[], now: number): Promise<void> {
      const left = await cancelling.endPromised({ cancelled: [], requested, awaited: [] }, now);
      if (left.requested.length > 0) void cancelling.confirm(accountId, left.requested, 0).catch(() => {});
    },
  };
}
