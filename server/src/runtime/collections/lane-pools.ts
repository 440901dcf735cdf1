// Pools that all lanes of a process share, in shared memory, because a single request may be larger than a lane's part
// of a pool. Each lane writes only how much it holds itself, and reads how much the other lanes hold.

import type { OtherLanes } from './pool.ts';

/** How many counters there are for accounts. Accounts whose ids have the same hash share a counter, and so a share. */
const PLACES = 4096;

/** The pools, in the order of their counters in memory, each with the unit in which its amounts are stored. */
const POOLS = { uploads: 1024, inboxMessages: 1, inboxBytes: 1024 } as const;
type PoolName = keyof typeof POOLS;
const NAMES = Object.keys(POOLS) as PoolName[];

export function lanePoolBytes(lanes: number): number {
  return Int32Array.BYTES_PER_ELEMENT * lanes * NAMES.length * (1 + PLACES);
}

export class LanePools {
  readonly #memory: SharedArrayBuffer;
  readonly #lanes: number;
  readonly #lane: number;

  /** Clears what an earlier lane with the same number has written. */
  constructor(memory: SharedArrayBuffer, lanes: number, lane: number) {
    this.#memory = memory;
    this.#lanes = lanes;
    this.#lane = lane;
    for (const name of NAMES) this.#part(name, lane).fill(0);
  }

  /** What the other lanes hold of a pool. Null when there is only one lane. */
  heldByOtherLanes(name: PoolName): OtherLanes | null {
    if (this.#lanes === 1) return null;
    const unit = POOLS[name];
    const own = this.#part(name, this.#lane);
    const others = Array.from({ length: this.#lanes }, (_, lane) => this.#part(name, lane)).filter(
      (_, lane) => lane !== this.#lane,
    );
    const sumAt = (place: number) => others.reduce((sum, part) => sum + Atomics.load(part, place), 0) * unit;
    return {
      used: () => sumAt(0),
      heldBy: (accountId) => sumAt(1 + placeOf(accountId)),
      change(before, after, accountId, heldBefore, held) {
        // Several accounts may share a counter, so the difference is added to it.
        Atomics.add(own, 0, Math.ceil(after / unit) - Math.ceil(before / unit));
        Atomics.add(own, 1 + placeOf(accountId), Math.ceil(held / unit) - Math.ceil(heldBefore / unit));
      },
    };
  }

  #part(name: PoolName, lane: number): Int32Array<SharedArrayBuffer> {
    const length = 1 + PLACES;
    const at = (lane * NAMES.length + NAMES.indexOf(name)) * length;
    return new Int32Array(this.#memory, at * Int32Array.BYTES_PER_ELEMENT, length);
  }
}

function placeOf(accountId: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < accountId.length; at += 1) hash = Math.imul(hash ^ accountId.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % PLACES;
}
