// Keeps this node's claims alive, and settles the claims of dead nodes.

import type { Claim } from '../rules/delivery/message.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import { PauseDetector } from '../rules/limits/lanes.ts';
import type { Clock } from '../runtime/world.ts';
import type { DeliveryStore, Recovery } from '../store/ports/delivery-store.ts';
import type { NodeClock } from './node-clock.ts';

/** A node without a heartbeat for this long counts as dead. */
export const NODE_TTL_MS = 15_000;
const BEAT_EVERY_MS = 5000;
/**
 * How long after its last heartbeat a node may start attempts. A started attempt then has until `WIRE_WITHIN_MS` to
 * write its request.
 */
const START_WITHIN_MS = NODE_TTL_MS / 2;
/**
 * How long after its last heartbeat a node may write requests. A later one could arrive after another node has taken
 * the message over.
 */
const WIRE_WITHIN_MS = NODE_TTL_MS - 1000;

/** How soon a node whose time is off checks the time again. */
const OFF_BEAT_EVERY_MS = 1000;

/** A heartbeat of the node. Each one also stores the time. */
export function heartbeat(
  store: DeliveryStore,
  node: string,
  clock: Pick<NodeClock, 'keep'> & Partial<Pick<NodeClock, 'isOff'>>,
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

/** Settles what crashed nodes had in flight. */
export interface Recoverer {
  /** Nothing may start until the attempts left by the last crash are known. */
  waitForLook(): void;
  /** Settles all attempts that one dead node had in flight, together. */
  settleCrash(claims: readonly Claim[]): Promise<void>;
  /** Called when no dead node has claims left to settle. */
  noteLook(found: Recovery): void;
}

/**
 * How often a node checks for claims in its name that it does not know of. A claim is released only if two checks in a
 * row find it.
 */
export const STRAY_LOOK_MS = 10_000;

/** A check reads at most as many claims as the node has slots, plus this number. */
const CLAIMS_BEYOND_SLOTS_MAX = 2000;

export interface StrayOptions {
  readonly store: Pick<DeliveryStore, 'strayClaims' | 'release'>;
  /** How many attempts can be in flight. */
  readonly slots: number;
  readonly isUnderWay: (lease: string) => boolean;
  readonly onGivenBack: (count: number) => void;
}

/**
 * Releases claims that are leased to this node without its knowledge, because a response was lost. No other node takes
 * them over while this node lives. A release needs two checks, because one check may find a claim that is just being
 * handed over.
 */
export function strays({ store, slots, isUnderWay, onGivenBack }: StrayOptions) {
  let found = new Set<string>();
  return {
    name: 'stray claims',
    async run(now: number): Promise<number> {
      const leases = await store.strayClaims(slots + CLAIMS_BEYOND_SLOTS_MAX);
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

/** Settles the claims of one dead node after the other. */
export function orphans(
  store: Pick<DeliveryStore, 'orphanedClaims' | 'recovery'>,
  node: string,
  recoverer: Recoverer,
  clock: Pick<Clock, 'monotonicMs'>,
) {
  recoverer.waitForLook();
  const standstills = new PauseDetector(START_WITHIN_MS, NODE_TTL_MS);
  return {
    name: 'orphaned claims',
    async run(): Promise<number> {
      const claims = await store.orphanedClaims(node, standstills.wasRecent(clock.monotonicMs()));
      if (claims.length > 0) {
        await recoverer.settleCrash(claims);
        return 0;
      }
      recoverer.noteLook(await store.recovery());
      return BEAT_EVERY_MS;
    },
  };
}
