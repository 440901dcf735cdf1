// How often a time fell between which bounds, in the form that Prometheus adds up over nodes and over time.

/** Seconds. From a local response to the longest waits that a person would want to know of. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200];
const LABELS = [...BOUNDS.map(String), '+Inf'].map((bound) => `le="${bound}"`);
const SUM = 'sum';

export class Histogram {
  readonly #counts: number[] = new Array(LABELS.length).fill(0);
  #sumMs = 0;

  observe(ms: number): void {
    const tookMs = Math.max(0, ms);
    const seconds = tookMs / 1000;
    let index = 0;
    while (index < BOUNDS.length && seconds > BOUNDS[index]!) index += 1;
    this.#counts[index]! += 1;
    this.#sumMs += tookMs;
  }

  /** Each value is counted in its own range only, so that the counts of several lanes can be added up. */
  values(): ReadonlyMap<string, number> {
    return new Map([
      ...LABELS.map((label, index) => [label, this.#counts[index]!] as const),
      [SUM, this.#sumMs / 1000],
    ]);
  }
}

/** The lines of a histogram: of each bound, how many values are not above it. */
export function histogramLines(name: string, values: ReadonlyMap<string, number>): string[] {
  let count = 0;
  const buckets = LABELS.map((label) => {
    count += values.get(label) ?? 0;
    return `${name}_bucket{${label}} ${count}`;
  });
  return [...buckets, `${name}_sum ${values.get(SUM) ?? 0}`, `${name}_count ${count}`];
}
