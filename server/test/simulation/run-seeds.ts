// Runs many seeds, each twice unless once is asked for, and adds up what they found and what they covered. With several
// threads each takes the next seed as it becomes free; what is found does not depend on how many there are.

import { Worker } from 'node:worker_threads';
import { addCoverage, type Coverage, type Happening, missing } from './coverage.ts';
import type { Cast } from './extras.ts';
import { simulate } from './simulate.ts';

export interface SeedResult {
  readonly seed: number;
  /** Empty for a good run. */
  readonly violations: readonly string[];
  readonly coverage: Coverage;
  readonly events: number;
  readonly messages: number;
}

/** What a thread is told. */
export interface SeedOrder {
  readonly seed: number;
  readonly times: Times;
}

export interface Summary {
  readonly results: readonly SeedResult[];
  readonly bad: readonly SeedResult[];
  readonly coverage: Coverage;
  /** What never happened in all these runs. */
  readonly missing: readonly Happening[];
}

/** Twice, the same seed must give the same run, to the last line of its trace. */
export type Times = 'once' | 'twice';

export async function runSeed(seed: number, times: Times = 'twice', cast: Cast = 'full'): Promise<SeedResult> {
  const first = await simulate(seed, cast);
  const violations = [...first.violations];
  const second = times === 'twice' ? await simulate(seed, cast) : first;
  if (first.traceHash !== second.traceHash)
    violations.push(`two runs differ: ${firstDifference(first.trace, second.trace)}`);
  const { coverage, events, messages } = first;
  return { seed, violations, coverage, events, messages };
}

function firstDifference(one: readonly string[], other: readonly string[]): string {
  const at = one.findIndex((line, index) => line !== other[index]);
  return `line ${at + 1} is "${one[at]}" and then "${other[at]}"`;
}

export async function runSeeds(
  seeds: readonly number[],
  threads: number,
  onResult: (result: SeedResult) => void = () => {},
  timesOf: (seed: number) => Times = () => 'twice',
): Promise<Summary> {
  const results: SeedResult[] = [];
  const left = [...seeds];
  await Promise.all(
    Array.from({ length: threads }, async () => {
      const run = threads === 1 ? { seed: runSeed, close: async () => {} } : startThread();
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        const result = await run.seed(seed, timesOf(seed));
        results.push(result);
        onResult(result);
      }
      await run.close();
    }),
  );
  results.sort((a, b) => a.seed - b.seed);
  const coverage: Coverage = new Map();
  for (const result of results) addCoverage(coverage, result.coverage);
  const bad = results.filter(({ violations }) => violations.length > 0);
  return { results, bad, coverage, missing: missing(coverage) };
}

function startThread() {
  const worker = new Worker(new URL('./seed-thread.ts', import.meta.url));
  return {
    seed: (seed: number, times: Times) =>
      new Promise<SeedResult>((resolve, reject) => {
        worker.removeAllListeners();
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.postMessage({ seed, times } satisfies SeedOrder);
      }),
    close: async () => void (await worker.terminate()),
  };
}
