// The next of a queue may be leased in the transaction that ends the one before it: it takes over the slot, so that a
// queue pays one commit for a message and not two. Which one may is decided here, for every adapter.

import { UNCOUNTED_BODY_BYTES_MAX } from '../domain/budgets.ts';
import type { Settlement } from '../domain/message.ts';
import type { MessageRow } from './message-row.ts';

/** The node that gets a lease. */
export interface LeaseHolder {
  readonly node: string;
  /** Makes lease ids: unique for this node and this call. */
  readonly leasePrefix: string;
}

/** To whom the next of a queue is leased when the message before it ends. */
export interface SuccessorLeases extends LeaseHolder {
  /** Only in these accounts. Others have more than their share: their slots go to whoever is ready. */
  readonly accounts: readonly string[];
}

/** Of settlements that are written together: the accounts for whose messages all who sent them say that they take over. */
export function takingOver(
  together: readonly { readonly settlements: readonly Settlement[]; readonly takesOver: readonly string[] }[],
): string[] {
  const accounts = new Set(together.flatMap(({ takesOver }) => takesOver));
  for (const { settlements, takesOver } of together) {
    for (const { accountId } of settlements) if (!takesOver.includes(accountId)) accounts.delete(accountId);
  }
  return [...accounts];
}

/** Successors bypass the budget of bytes, so their bodies are capped. */
export const SUCCESSOR_BODY_BYTES_MAX = UNCOUNTED_BODY_BYTES_MAX;

/** What a message takes up: a place in its queue, and a slot at its host. */
export type Place = Pick<MessageRow, 'account_id' | 'queue_name' | 'host'>;

/**
 * Whether each of those that are ready takes over one of the places that became free. Only one of the same queue that
 * goes to the same host does, or the slot would not be its host's. And only if nobody else is ready, or a queue that never
 * runs dry would keep its slot from all others: `ready` must be all that is, or at least one more than there are places.
 */
export function areSuccessors(
  ready: readonly (Place & { readonly bytes: number })[],
  ended: readonly Place[],
): boolean {
  const left = [...ended];
  return ready.every((next) => {
    const at = left.findIndex(
      (place) =>
        place.account_id === next.account_id && place.queue_name === next.queue_name && place.host === next.host,
    );
    if (at === -1 || next.bytes > SUCCESSOR_BODY_BYTES_MAX) return false;
    left.splice(at, 1);
    return true;
  });
}
