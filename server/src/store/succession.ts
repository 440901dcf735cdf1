// The next of a queue may be leased in the transaction that ends the one before it: it takes over the slot, so that a
// queue pays one commit for a message and not two. Which one may is decided here, for every adapter.

import type { MessageRow } from './rows.ts';

/** To whom the next of a queue may be leased. */
export interface Heir {
  readonly node: string;
  /** Makes lease ids: unique for this node and this call. */
  readonly leasePrefix: string;
}

/** Nobody looked whether there is room for its bytes: so many may be in memory beyond the limit, for each attempt. */
export const HEIR_BODY_BYTES_MAX = 64 * 1024;

/** What a message takes up: a place in its queue, and a slot at its host. */
export type Place = Pick<MessageRow, 'account_id' | 'queue_name' | 'host'>;

/**
 * Whether each of those that are ready takes over one of the places that became free. Only one of the same queue that
 * goes to the same host does, or the slot would not be its host's. And only if nobody else is ready, or a queue that never
 * runs dry would keep its slot from all others: `ready` must be all that is, or at least one more than there are places.
 */
export function areHeirs(ready: readonly (Place & { readonly bytes: number })[], ended: readonly Place[]): boolean {
  const left = [...ended];
  return ready.every((next) => {
    const at = left.findIndex(
      (place) =>
        place.account_id === next.account_id && place.queue_name === next.queue_name && place.host === next.host,
    );
    if (at === -1 || next.bytes > HEIR_BODY_BYTES_MAX) return false;
    left.splice(at, 1);
    return true;
  });
}
