// Whether this node is alive, as far as others can know: it says so, and what it said holds for a while. Meanwhile it may lease to
// itself; a node that stood still is taken for dead until it is heard of again, and what it leased would be taken over.

import type { NodeAbout } from '../../domain/node.ts';
import type { Clock } from '../../world.ts';
import type { DeliveryStore } from '../delivery-store.ts';
import { told } from './calls.ts';
import type { Hints } from './hints.ts';
import { surroundings } from './nodes.ts';
import type { Pool } from './pool.ts';
import { whyOutdated } from './schema-upgrade.ts';
import * as time from './time.ts';

/** An acceptance takes its time, too. */
const ALIVE_MARGIN_MS = 2000;

export interface OwnLifeOptions {
  readonly pool: Pool;
  readonly timers: Clock;
  readonly hints: Hints;
  readonly about: NodeAbout;
  /** Which version of the schema this program knows; told once when that is not enough any more. */
  readonly schema: { readonly known: number; readonly onOutdated: (why: string) => void };
}

export class OwnLife {
  readonly #options: OwnLifeOptions;
  /** By our own clock, reckoned from when the last sign of life was sent. Without any, nobody asks. */
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
    const heard = await told(
      pool.beat(async (database) => {
        const now = await time.beat(database, id, ttlMs, { ...about, known: schema.known }, kept);
        const { nodes, readerMin } = await surroundings(database);
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
