// Keeps this node's claims alive, and ends the claims of nodes that are not.

import type { Claim } from '../domain/message.ts';
import type { Store } from '../store/store.ts';

/** A node that has not been heard of for this long is gone. */
export const NODE_TTL_MS = 15_000;
const BEAT_EVERY_MS = 5000;
/**
 * A node starts attempts only this long after its last sign of life. The rest of the time is for the request to get onto
 * the wire (`WIRE_WITHIN_MS`).
 */
const START_WITHIN_MS = NODE_TTL_MS / 2;
/** Nothing is put on the wire so late that it could arrive after somebody else has taken it over. */
const WIRE_WITHIN_MS = NODE_TTL_MS - 1000;
const ORPHANS_PER_RUN = 500;

export function heartbeat(store: Store, node: string) {
  return {
    goodForMs: START_WITHIN_MS,
    wireForMs: WIRE_WITHIN_MS,
    async run(): Promise<number> {
      await store.heartbeat(node, NODE_TTL_MS);
      return BEAT_EVERY_MS;
    },
  };
}

export function orphans(
  store: Store,
  node: string,
  settleInterrupted: (claims: readonly Claim[], reason: string) => Promise<void>,
) {
  return {
    name: 'orphaned claims',
    async run(): Promise<number> {
      const claims = await store.orphanedClaims(node, ORPHANS_PER_RUN);
      await settleInterrupted(claims, 'the node that made this attempt went away before it ended');
      // There may be more: of those with large bodies, fewer are found at once.
      return claims.length > 0 ? 0 : BEAT_EVERY_MS;
    },
  };
}
