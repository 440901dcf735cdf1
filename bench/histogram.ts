// Counts durations in buckets that grow with them: 64 for every doubling, so that a percentile is at most 1.6 % from
// the truth, from a microsecond to an hour, in a few thousand numbers.

const STEPS = 64;
const DOUBLINGS = 32;

export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export class Histogram {
  #counts = new Uint32Array(STEPS * DOUBLINGS);
  #count = 0;
  #max = 0;

  add(us: number): void {
    this.#counts[bucketOf(us)]! += 1;
    this.#count += 1;
    if (us > this.#max) this.#max = us;
  }

  /** The durations since the last call, in microseconds. */
  take(): Percentiles {
    const taken = {
      count: this.#count,
      p50: this.#at(0.5),
      p99: this.#at(0.99),
      p999: this.#at(0.999),
      max: Math.round(this.#max),
    };
    this.#counts.fill(0);
    this.#count = 0;
    this.#max = 0;
    return taken;
  }

  #at(share: number): number {
    let left = Math.ceil(this.#count * share);
    if (left === 0) return 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket += 1) {
      left -= this.#counts[bucket]!;
      if (left <= 0) return Math.min(Math.round(upperEdge(bucket)), Math.round(this.#max));
    }
    return Math.round(this.#max);
  }
}

function bucketOf(us: number): number {
  const bucket = Math.floor(Math.log2(Math.max(1, us)) * STEPS);
  return Math.min(bucket, STEPS * DOUBLINGS - 1);
}

function upperEdge(bucket: number): number {
  return 2 ** ((bucket + 1) / STEPS);
}
