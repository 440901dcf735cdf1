// Keeps this node's claims alive, and ends the claims of nodes that are not.

import type { Claim } from '../domain/message.ts';
import type { Recovery } from '../store/recovery-store.ts';
import type { Store } from '../store/store.ts';
import type { ServiceClock } from './service-clock.ts';

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

/** Keeps the time with every sign of life. */
export function heartbeat(store: Store, node: string, clock: Pick<ServiceClock, 'keep'>) {
  return {
    goodForMs: START_WITHIN_MS,
    wireForMs: WIRE_WITHIN_MS,
    async run(): Promise<number> {
      await clock.keep((time) => store.heartbeat(node, NODE_TTL_MS, time));
      return BEAT_EVERY_MS;
    },
  };
}

/** Whoever goes on with what crashes have left behind. */
export interface Recoverer {
  /** Nothing may start before it is known what the crash before has left behind. */
  waitForLook(): void;
  /** Ends all attempts that one dead node had under way, together. */
  settleCrash(claims: readonly Claim[]): Promise<void>;
  /** No node is dead whose claims are still to be ended. */
  noteLook(found: Recovery): void;
}

/** Ends the claims of one dead node after the other. */
export function orphans(store: Store, node: string, recoverer: Recoverer) {
  recoverer.waitForLook();
  return {
    name: 'orphaned claims',
    async run(): Promise<number> {
      const claims = await store.orphanedClaims(node);
      if (claims.length > 0) {
        await recoverer.settleCrash(claims);
        return 0;
      }
      recoverer.noteLook(await store.recovery());
      return BEAT_EVERY_MS;
    },
  };
}
