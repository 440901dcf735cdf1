// `npm run sim`: runs seeds of the simulation, each twice, and says what they found.
//   --seed N       one seed; with --verbose its whole trace
//   --plain        without priorities, keys, schedules and the like, as the pinned seeds are run; needs --seed
//   --seeds A..B   several; 1..1000 if nothing is said
//   --threads N    how many at once; as many as there are processors if nothing is said

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { HAPPENINGS } from './coverage.ts';
import { runSeed, runSeeds, type SeedResult, type Summary } from './run-seeds.ts';
import { simulate } from './simulate.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1..1000' },
    threads: { type: 'string', default: String(availableParallelism()) },
    plain: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});

const isOne = values.seed !== undefined;
const [from, to] = readRange(values.seed ?? values.seeds);
const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);

const cast = values.plain ? 'plain' : 'full';
if (values.verbose) for (const seed of seeds) for (const line of (await simulate(seed, cast)).trace) console.log(line);

const startedAt = performance.now();
let done = 0;
const onResult = (result: SeedResult) => {
  done += 1;
  if (result.violations.length > 0) showBad(result);
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${seeds.length} seeds `);
  else if (done % 1000 === 0) process.stderr.write(`${done} of ${seeds.length} seeds\n`);
};
const summary = isOne ? await runOne(from) : await runSeeds(seeds, Number(values.threads), onResult);
if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');

const sum = (of: (result: SeedResult) => number) => summary.results.reduce((total, result) => total + of(result), 0);
const seconds = (performance.now() - startedAt) / 1000;
console.log(`${done} seeds, each twice, in ${seconds.toFixed(1)} s: ${(done / seconds).toFixed(1)} seeds a second`);
console.log(`${sum(({ messages }) => messages)} messages, ${sum(({ events }) => events)} events`);
if (values.verbose || !isOne) {
  for (const happening of HAPPENINGS)
    console.log(`${String(summary.coverage.get(happening) ?? 0).padStart(9)}  ${happening}`);
}
if (!isOne && summary.missing.length > 0) console.log(`The generator never produced: ${summary.missing.join(', ')}.`);
console.log(summary.bad.length === 0 ? 'All promises kept.' : `${summary.bad.length} seeds broke a promise.`);
if (summary.bad.length > 0 || (!isOne && summary.missing.length > 0)) process.exitCode = 1;

async function runOne(seed: number): Promise<Summary> {
  const result = await runSeed(seed, 'twice', cast);
  onResult(result);
  const bad = result.violations.length > 0 ? [result] : [];
  return { results: [result], bad, coverage: result.coverage, missing: [] };
}

function showBad({ seed, violations }: SeedResult): void {
  console.log(`seed ${seed} (npm run sim -- --seed ${seed} --verbose)`);
  for (const violation of violations.slice(0, 5)) console.log(`    ${violation}`);
}

function readRange(text: string): [number, number] {
  const match = /^(\d+)(?:\.\.(\d+))?$/.exec(text);
  if (!match) throw new Error(`"${text}" is neither a seed nor a range such as 1..500`);
  return [Number(match[1]), Number(match[2] ?? match[1])];
}
