// The next message of a queue may be leased in the transaction that ends the previous one. It takes over the slot, so
// that a queue needs one commit per message instead of two. This file decides, for every adapter, which message may do
// so.

import type { Settlement } from '../../rules/delivery/message.ts';
import { UNCOUNTED_BODY_BYTES_MAX } from '../../rules/limits/budgets.ts';
import type { MessageRow } from '../rows/message-row.ts';

/** The node that gets a lease. */
export interface LeaseHolder {
  readonly node: string;
  /** The start of the lease ids: unique for this node and this call. */
  readonly leasePrefix: string;
}

/** Who gets the lease of a successor when a message of a queue ends. */
export interface SuccessorLeases extends LeaseHolder {
  /**
   * Successors are leased only in these accounts. Other accounts use more than their share, so their slots go to any
   * account that has ready messages.
   */
  readonly accounts: readonly string[];
}

/**
 * The accounts that may take over slots when settlements of several calls are written together. An account is included
 * only if every call that settles one of its messages allows it.
 */
export function accountsTakingOver(
  together: readonly { readonly settlements: readonly Settlement[]; readonly takesOver: readonly string[] }[],
): string[] {
  const accounts = new Set(together.flatMap(({ takesOver }) => takesOver));
  for (const { settlements, takesOver } of together) {
    for (const { accountId } of settlements) if (!takesOver.includes(accountId)) accounts.delete(accountId);
  }
  return [...accounts];
}

/** Limit for the body of a successor, because successors are not counted in the budget of bytes. */
export const SUCCESSOR_BODY_BYTES_MAX = UNCOUNTED_BODY_BYTES_MAX;

/** The place that became free: its queue, and the host of its slot. */
export type QueueAtHost = Pick<MessageRow, 'account_id' | 'queue_name' | 'host'>;

/**
 * Whether every ready message takes over one of the places that became free. A message may take over only a place in
 * its own queue and at its own host, because the slot belongs to that host. No other message may be ready: otherwise a
 * queue that never empties would keep its slot from all other queues. So `ready` must hold all ready messages, or at
 * least one more than there are places.
 */
export function areSuccessors(
  ready: readonly (QueueAtHost & { readonly bytes: number })[],
  ended: readonly QueueAtHost[],
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
