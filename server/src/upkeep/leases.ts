// Keeps this node's claims alive, and ends the claims of nodes that are not.

import { eachMax } from '../domain/budgets.ts';
import type { Claim } from '../domain/message.ts';
import type { DeliveryStore, Recovery } from '../store/delivery-store.ts';
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

/** A node whose time is off asks again so soon whether it is right. */
const OFF_BEAT_EVERY_MS = 1000;

/** Keeps the time with every sign of life. */
export function heartbeat(
  store: DeliveryStore,
  node: string,
  clock: Pick<ServiceClock, 'keep'> & Partial<Pick<ServiceClock, 'isOff'>>,
) {
  return {
    isTimeRight: () => clock.isOff !== true,
    goodForMs: START_WITHIN_MS,
    wireForMs: WIRE_WITHIN_MS,
    async run(): Promise<number> {
      await clock.keep((time) => store.heartbeat(node, NODE_TTL_MS, time));
      return clock.isOff ? OFF_BEAT_EVERY_MS : BEAT_EVERY_MS;
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

/** How often a node looks for claims of its own that it does not know of; two looks must have found one. */
export const STRAY_LOOK_MS = 10_000;

/** That one look finds, beside all that can be under way. */
const PIECE_MAX = 2000;

export interface StrayOptions {
  readonly store: Pick<DeliveryStore, 'strayClaims' | 'release'>;
  /** How many can be under way. */
  readonly slots: number;
  readonly isUnderWay: (lease: string) => boolean;
  readonly onGivenBack: (count: number) => void;
}

/**
 * Gives back what is leased to this node without its knowing, because an answer was lost: it lives, so that nobody takes
 * over for it. Two looks, because one may meet a claim that is just being handed over.
 */
export function strays({ store, slots, isUnderWay, onGivenBack }: StrayOptions) {
  let found = new Set<string>();
  return {
    name: 'stray claims',
    async run(now: number): Promise<number> {
      const leases = await store.strayClaims(slots + PIECE_MAX);
      const unknown = leases.filter((lease) => !isUnderWay(lease));
      const again = unknown.filter((lease) => found.has(lease));
      found = new Set(unknown);
      const rows = eachMax('upkeepRows');
      for (let at = 0; at < again.length; at += rows) await store.release(again.slice(at, at + rows), now);
      if (again.length > 0) onGivenBack(again.length);
      return STRAY_LOOK_MS;
    },
  };
}

/** Ends the claims of one dead node after the other. */
export function orphans(store: DeliveryStore, node: string, recoverer: Recoverer) {
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
