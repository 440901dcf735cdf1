// Whether other nodes consider this node alive: each heartbeat is valid for a limited time, in which the node may lease
// to itself. A node that stalled counts as dead until its next heartbeat, and its leases would be taken over.

import type { NodeDescription } from '../../../rules/nodes/node.ts';
import type { Clock } from '../../../runtime/world.ts';
import type { DeliveryStore } from '../../ports/delivery-store.ts';
import type { Hints } from '../../shared/hints.ts';
import * as time from '../deliveries/time.ts';
import { toStoreErrors } from './errors.ts';
import { otherNodes } from './nodes.ts';
import type { Pool } from './pool.ts';
import { whyOutdated } from './schema-upgrade.ts';

/** Leasing stops this long before the heartbeat expires, because an accept takes time too. */
const ALIVE_MARGIN_MS = 2000;

export interface OwnLifeOptions {
  readonly pool: Pool;
  readonly timers: Clock;
  readonly hints: Hints;
  readonly about: NodeDescription;
  /** The schema version that this program knows. `onOutdated` is called when the schema needs a newer program. */
  readonly schema: { readonly known: number; readonly onOutdated: (why: string) => void };
}

export class OwnLife {
  readonly #options: OwnLifeOptions;
  /** Until when this node may lease, on its own clock: some time after a heartbeat. Infinite before the first. */
  #aliveUntilMs = Number.POSITIVE_INFINITY;

  constructor(options: OwnLifeOptions) {
    this.#options = options;
  }

  mayLease(): boolean {
    return this.#options.timers.monotonicMs() < this.#aliveUntilMs;
  }

  readonly heartbeat: DeliveryStore['heartbeat'] = async (id, ttlMs, kept = null) => {
    const { pool, timers, hints, about, schema } = this.#options;
    const startedAtMs = timers.monotonicMs();
    const heard = await toStoreErrors(
      pool.beat(async (database) => {
        const now = await time.writeHeartbeat(database, id, ttlMs, { ...about, known: schema.known }, kept);
        const { nodes, readerMin } = await otherNodes(database, id);
        hints.noteNodes(nodes);
        const why = whyOutdated(readerMin, schema.known);
        if (why !== null) schema.onOutdated(why);
        return now;
      }),
    );
    this.#aliveUntilMs = startedAtMs + ttlMs - ALIVE_MARGIN_MS;
    return heard;
  };
}
