// Metrics in the text format that Prometheus reads. The registry is our own: a few counters and gauges need no dependency.
// No metric distinguishes accounts, except where not everybody can read the metrics.

import { Histogram, histogramLines } from './histogram.ts';

interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The values, by the text of their labels between the braces. */
  readonly values: ReadonlyMap<string, number>;
}

interface Registered extends Family {
  readonly read: (() => number | ReadonlyMap<string, number>) | null;
  readonly isOfProcess: boolean;
}

/** The metrics of one lane by name, as they can be sent to another thread. */
export type MetricValues = ReadonlyMap<string, Family & { readonly isOfProcess: boolean }>;

interface SharedPool {
  readonly max: number;
  readonly used: number;
  /** Absent for a pool that refuses nothing: there, work without room waits. */
  readonly refused?: Readonly<Record<'account' | 'node', number>>;
}

export class Metrics {
  readonly #families = new Map<string, Registered>();
  readonly #pools = new Map<string, { readonly pool: SharedPool; readonly showsSize: boolean }>();

  /**
   * A number that only grows. Returns a function that adds to it. Its `labels` are the text between the braces, because
   * it is called for every message. Each label has few values, all of our own: never an id, a URL or a user's name.
   */
  counter(name: string, help: string): (labels?: string, by?: number) => void {
    const values = new Map<string, number>();
    this.#families.set(name, { type: 'counter', help, values, read: null, isOfProcess: false });
    return (labels = '', by = 1) => {
      values.set(labels, (values.get(labels) ?? 0) + by);
    };
  }

  /** A number that only grows, and that is counted elsewhere. */
  counted(name: string, help: string, read: () => number): void {
    this.#families.set(name, { type: 'counter', help, values: new Map(), read, isOfProcess: false });
  }

  /** Times, by how long they were. Returns a function that counts one, in milliseconds; the text has seconds. */
  histogram(name: string, help: string): (ms: number) => void {
    const histogram = new Histogram();
    const read = () => histogram.values();
    this.#families.set(name, { type: 'histogram', help, values: new Map(), read, isOfProcess: false });
    return (ms) => histogram.observe(ms);
  }

  /** `ofProcess`: every lane has the same value, so their values are not added up. */
  gauge(name: string, help: string, read: () => number, ofProcess: 'ofProcess' | null = null): void {
    this.#families.set(name, { type: 'gauge', help, values: new Map(), read, isOfProcess: ofProcess !== null });
  }

  /** A gauge with several values, by the text of their labels. There must be few of them. */
  gauges(name: string, help: string, read: () => ReadonlyMap<string, number>): void {
    this.#families.set(name, { type: 'gauge', help, values: new Map(), read, isOfProcess: false });
  }

  /**
   * A pool that accounts share, under its name in the table of budgets. If all lanes share the pool, one lane shows its
   * size, and each lane shows how much it holds itself.
   */
  pool(name: string, pool: SharedPool, showsSize = true): void {
    this.#pools.set(name, { pool, showsSize });
  }

  values(): MetricValues {
    const all = new Map([...this.#families].map(([name, { read, ...family }]) => [name, withValue(family, read)]));
    if (this.#pools.size === 0) return all;
    const family = (
      type: Family['type'],
      help: string,
      read: (pool: SharedPool, showsSize: boolean) => readonly [string, number][],
    ) => {
      const values = [...this.#pools].flatMap(([key, { pool, showsSize }]) =>
        read(pool, showsSize).map(([labels, value]) => [`pool="${key}"${labels}`, value] as const),
      );
      return { type, help, values: new Map(values), isOfProcess: false };
    };
    return all
      .set(
        'postrider_pool_used',
        family('gauge', 'Used amount of a pool that all accounts share.', ({ used }) => [['', used]]),
      )
      .set(
        'postrider_pool_max',
        family('gauge', 'Size of a pool that all accounts share.', ({ max }, showsSize) => [['', showsSize ? max : 0]]),
      )
      .set(
        'postrider_pool_refused_total',
        family('counter', 'Refusals of a pool: the account had used its share, or the pool was full.', ({ refused }) =>
          refused
            ? [
                [',why="account"', refused.account],
                [',why="node"', refused.node],
              ]
            : [],
        ),
      );
  }
}

function withValue<F extends Family>(family: F, read: Registered['read']): F {
  if (read) {
    const value = read();
    return { ...family, values: typeof value === 'number' ? new Map([['', value]]) : value };
  }
  return family.values.size === 0 ? { ...family, values: new Map([['', 0]]) } : family;
}

/** The metrics of all lanes of a process as one text. The first lane provides what is the same in all of them. */
export function metricsText([first, ...others]: readonly MetricValues[]): string {
  const lines: string[] = [];
  for (const [name, { type, help, values, isOfProcess }] of first!) {
    const further = isOfProcess ? [] : others.map((other) => other.get(name)?.values ?? []);
    const sums = sumsOf([values, ...further]);
    // A lane that has not counted yet has the value 0 without labels.
    if (sums.size > 1) sums.delete('');
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    lines.push(...(type === 'histogram' ? histogramLines(name, sums) : sampleLines(name, sums)));
  }
  return `${lines.join('\n')}\n`;
}

function sampleLines(name: string, values: ReadonlyMap<string, number>): string[] {
  return [...values].map(([labels, value]) => (labels === '' ? `${name} ${value}` : `${name}{${labels}} ${value}`));
}

function sumsOf(all: readonly Iterable<[labels: string, value: number]>[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const values of all) {
    for (const [labels, value] of values) sums.set(labels, (sums.get(labels) ?? 0) + value);
  }
  return sums;
}

/** Adds up the counters and histograms of both. Gauges are left out, because they describe the current state. */
export function addCounters(some: MetricValues, more: MetricValues): MetricValues {
  const sums = new Map(some);
  for (const [name, family] of more) {
    if (family.type === 'gauge') continue;
    sums.set(name, { ...family, values: sumsOf([sums.get(name)?.values ?? [], family.values]) });
  }
  return sums;
}

interface ShownClock {
  readonly isBelieved: boolean;
  readonly aheadMs: number;
  readonly offMs: number;
}

/** Shows whether the node trusts the wall clock, and how far the clocks of node, machine and database differ. */
export function registerClockMetrics(metrics: Metrics, clock: ShownClock): void {
  metrics.gauge(
    'postrider_clock_believed',
    '1 while the node trusts the wall clock, 0 after the clock has jumped.',
    () => (clock.isBelieved ? 1 : 0),
    'ofProcess',
  );
  metrics.gauge(
    'postrider_clock_ahead_seconds',
    'How far the wall clock is ahead of the time that the node uses.',
    () => clock.aheadMs / 1000,
    'ofProcess',
  );
  metrics.gauge(
    'postrider_clock_off_seconds',
    "How far the time of this node was ahead of the database's clock when it was last corrected.",
    () => clock.offMs / 1000,
    'ofProcess',
  );
}
