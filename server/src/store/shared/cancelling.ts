// Cancels claimed messages, for every adapter. Leases of this node that were never handed out are released at once. For
// all other claims, the nodes that hold them are notified to start no attempt.

import type { Clock } from '../../runtime/world.ts';
import type { CancelResult } from '../ports/message-store.ts';
import type { StandingOffer } from './standing-offer.ts';

/** A message whose cancel was requested, and the live node that has claimed it. */
export interface CancelHolder {
  readonly id: string;
  readonly node: string;
}

export interface CancellingOptions {
  readonly node: string;
  /** The real clock, even when a test controls the messages' clock. */
  readonly timers: Clock;
  readonly offer: StandingOffer;
  readonly release: (leases: readonly string[], now: number) => Promise<unknown>;
  readonly holders: (accountId: string, messageIds: readonly string[]) => Promise<readonly CancelHolder[]>;
  /** Returns the nodes that have confirmed, as soon as all of them have confirmed or the time is over. */
  readonly askOthers: (nodes: readonly string[], withinMs: number) => Promise<readonly string[]>;
}

export class Cancelling {
  readonly #options: CancellingOptions;
  #look = async () => {};

  constructor(options: CancellingOptions) {
    this.#options = options;
  }

  onCancel(listener: () => Promise<void>): void {
    this.#look = listener;
  }

  /** Resolves when this node starts no more attempts of messages whose cancel was requested before this call. */
  look(): Promise<void> {
    return this.#look();
  }

  /** Releases the leases that were never handed out, which ends their messages as cancelled. */
  async endPromised({ cancelled, requested, awaited }: CancelResult, now: number): Promise<CancelResult> {
    const { offer, release } = this.#options;
    const promised = offer.forgetCancelled(requested);
    if (promised.size === 0) return { cancelled, requested, awaited };
    await release([...promised.values()], now);
    return {
      cancelled: [...cancelled, ...promised.keys()],
      requested: requested.filter((id) => !promised.has(id)),
      awaited,
    };
  }

  async confirm(accountId: string, messageIds: readonly string[], ms: number): Promise<readonly string[]> {
    const { node, timers, holders, askOthers } = this.#options;
    const nodes = new Set((await holders(accountId, messageIds)).map((holder) => holder.node));
    if (nodes.size === 0) return [];
    const confirmed = new Set<string>();
    const asked: Promise<void>[] = [];
    if (nodes.has(node)) {
      const looked = this.#look().then(
        () => void confirmed.add(node),
        // A node that could not look has not confirmed.
        () => {},
      );
      asked.push(within(timers, ms, looked));
    }
    const others = [...nodes].filter((each) => each !== node);
    if (others.length > 0) {
      asked.push(askOthers(others, ms).then((names) => names.forEach((name) => void confirmed.add(name))));
    }
    await Promise.all(asked);
    if (confirmed.size === nodes.size) return [];
    // A message that has ended meanwhile, or whose holder is no longer alive, cannot start.
    const left = await holders(accountId, messageIds);
    return left.filter((holder) => !confirmed.has(holder.node)).map(({ id }) => id);
  }
}

/** Waits for `work`, which never rejects, but at most `ms`. */
async function within(timers: Clock, ms: number, work: Promise<void>): Promise<void> {
  let cancel = () => {};
  const timeout = new Promise<void>((resolve) => {
    cancel = timers.after(ms, resolve);
  });
  await Promise.race([work, timeout]);
  cancel();
}
