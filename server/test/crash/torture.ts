// The long campaigns, by hand or at night: `npm run torture -- kill --times 10000`, `-- power --images 20000`,
// `-- interruptions`, `-- clocks --runs 200`, `-- disk --times 500`, `-- cluster --minutes 60`, `-- schema --runs 20`, `-- tenants --minutes 40`, `-- sim …`. Each goes on in rounds with a seed of their own, tells how
// far it is, and stops at the first broken promise with the seed of its round and its files.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkHistory } from '../checker/check.ts';
import { clusterCampaign } from '../cluster/campaign.ts';
import type { Takeover } from '../cluster/cluster.ts';
import { schemaCampaign } from '../cluster/schema-campaign.ts';
import { receiversCampaign } from '../delivery/http/receivers-campaign.ts';
import { ATTACK_HEAD, attackLine, isTooMuch, tenantsCampaign } from '../outside/isolation/tenants-campaign.ts';
import { PostgresServer } from '../postgres/server.ts';
import { Chance } from '../simulation/chance.ts';
import { builtCommand } from '../support/built-program.ts';
import { noFakedClock } from '../support/faked-machine.ts';
import { clocksCampaign } from './clocks-campaign.ts';
import { clocksOfProcess } from './clocks-process.ts';
import { failedFlush, fullDisk } from './disk-fault-campaign.ts';
import { interruptionsCampaign, type Ordeal } from './interruptions-campaign.ts';
import { killCampaign } from './kill-campaign.ts';
import { powerCampaign } from './power-campaign.ts';
import { inScratchFolder } from './scratch-folder.ts';
import { noShim, Shim } from './shim.ts';
import { chooseSeed } from './trial.ts';

const USAGE = `npm run torture -- kill  --times 10000   kill -9 of a server under load
npm run torture -- interruptions         5,000 open messages, and 200 kills, 30 starts that die after a second, ten restarts
                                         with a drain of 1 s, a message that crashes the process; with --messages,
                                         --only kills, and --store for a database in place of a directory
npm run torture -- power --images 20000  power cuts, as images of what the disk may hold after one
npm run torture -- clocks --runs 200     wrong wall clocks, freezes and starts of one to four lanes: in virtual time, and in
                                         every tenth run with a real process under libfaketime; --only virtual or process
npm run torture -- disk  --times 500     failing flushes, and a disk that is full now and then
npm run torture -- cluster --minutes 60  three nodes over PostgreSQL: kills, freezes with and without cancels,
                                         restarts, a broken network, late commits, drains without the database, a
                                         clock that is ahead, thousands of schedules; or --repeat 20 for so many runs of about a minute
npm run torture -- schema --runs 20      two or three nodes over PostgreSQL under calls of every kind, while newer versions
                                         come one after another and add a column to every table
npm run torture -- tenants --minutes 40  five accounts beside one that attacks: the dearest request of every operation and every
                                         setting, at full speed for --seconds 4, then every known way at once. If the others'
                                         p99 is over 3 times the calm one, or the server takes over 700 MB, it fails; with
                                         --only (a pattern of names), --lanes 4, --on postgres
npm run torture -- receivers --runs 200  receivers that close, reset, delay, split and add at every stage: our client beside
                                         undici, with the same verdicts, and no response for another message
npm run torture -- sim   …               the simulation, with its own arguments
All but sim take --seed as well.
`;

const INTERRUPTIONS: readonly (readonly [ordeal: Ordeal, times: number])[] = [
  ['kills', 200],
  ['starts', 30],
  ['drains', 10],
  ['poison', 1],
];
const KILLS_PER_ROUND = 100;
const CUTS_PER_ROUND = 4;
const IMAGES_PER_CUT = 100;
const DISK_IMAGES = 50;
/** A run with a real process takes a minute or two, one in virtual time a second. */
const PROCESS_EVERY = 10;
const PROCESS_STEPS = 5;
const BUILT = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'tests');
const SIMULATION = join(import.meta.dirname, '..', 'simulation', 'run.ts');

/** What has been counted so far, by name; shown in the order in which the names first came. */
class Tally {
  readonly #counts = new Map<string, number>();
  readonly #startedAt = performance.now();
  #shownAt = 0;

  add(name: string, count = 1): void {
    this.#counts.set(name, this.get(name) + count);
  }

  most(name: string, value: number): void {
    this.#counts.set(name, Math.max(this.get(name), Math.round(value)));
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** On a terminal one line that changes, else a line every minute. */
  progress(name: string, wanted: number): void {
    const everyMs = process.stdout.isTTY ? 200 : 60_000;
    if (performance.now() - this.#shownAt < everyMs) return;
    this.#shownAt = performance.now();
    const percent = Math.floor((100 * this.get(name)) / wanted);
    process.stdout.write(
      `${process.stdout.isTTY ? '\r\x1b[K' : ''}${percent} % · ${this}${process.stdout.isTTY ? '' : '\n'}`,
    );
  }

  get minutes(): number {
    return (performance.now() - this.#startedAt) / 60_000;
  }

  toString(): string {
    const minutes = this.minutes.toFixed(1);
    const counts = [...this.#counts].map(([name, count]) => `${count.toLocaleString('en')} ${name}`);
    return [...counts, `${minutes} min`].join(' · ');
  }
}

type Round = (round: { readonly folder: string; readonly seed: number; readonly left: number }) => Promise<string[]>;

/** Rounds until `name` has been counted `wanted` times, or the time is up; the answer is the exit code. */
async function campaign(
  name: string,
  wanted: number,
  seed: number,
  tally: Tally,
  round: Round,
  minutesMax = Number.POSITIVE_INFINITY,
): Promise<number> {
  for (let number = 0; tally.get(name) < wanted && tally.minutes < minutesMax; number += 1) {
    const roundSeed = seed + number * 1000;
    try {
      await inScratchFolder('torture', async (folder) => {
        const problems = await round({ folder, seed: roundSeed, left: wanted - tally.get(name) });
        if (problems.length > 0)
          throw new Error(`${problems.length} broken promises\n${problems.slice(0, 20).join('\n')}`);
      });
    } catch (error) {
      process.stdout.write(`\n${tally}\nseed ${roundSeed}: ${(error as Error).message}\n`);
      return 1;
    }
    if (name !== 'runs') tally.add('rounds');
  }
  process.stdout.write(`${process.stdout.isTTY ? '\r\x1b[K' : ''}No promise broken: ${tally}\n`);
  return 0;
}

function kills(wanted: number, seed: number): Promise<number> {
  const tally = new Tally();
  return campaign('kills', wanted, seed, tally, async ({ folder, seed: roundSeed, left }) => {
    const report = await killCampaign({
      directory: folder,
      seed: roundSeed,
      kills: Math.min(KILLS_PER_ROUND, left),
      isLarge: roundSeed % 2 === 1,
      onKill: () => {
        tally.add('kills');
        tally.progress('kills', wanted);
      },
    });
    tally.add('messages', report.history.stored.length);
    tally.add('extra arrivals', report.extraArrivals);
    tally.add('attempts in flight at kills', report.inFlight);
    tally.most('ms of recovery at most', report.recoveryMsMax);
    return [...checkHistory(report.history), ...report.refusals];
  });
}

/** Each ordeal by itself, on a store of its own unless one is named. */
async function interruptions(messages: number, only: string | undefined, store: string | undefined): Promise<number> {
  let isGood = true;
  for (const [ordeal, times] of INTERRUPTIONS) {
    if (only !== undefined && only !== ordeal) continue;
    const report = await inScratchFolder('interruptions', (folder) => {
      const flags = store === undefined ? ['--data', folder] : ['--store', store];
      return interruptionsCampaign({ ordeal, messages, times, flags });
    });
    const { problems, seconds, ...counts } = report;
    const told = Object.entries(counts).map(([name, count]) => `${count.toLocaleString('en')} ${name}`);
    process.stdout.write(`${ordeal}: ${told.join(' · ')} · ${Math.round(seconds)} s\n`);
    for (const problem of problems.slice(0, 20)) process.stdout.write(`  ${problem}\n`);
    isGood &&= problems.length === 0;
  }
  return isGood ? 0 : 1;
}

function powerCuts(wanted: number, seed: number): Promise<number> {
  const tally = new Tally();
  return campaign('images', wanted, seed, tally, async ({ folder, seed: roundSeed, left }) => {
    const report = await powerCampaign({
      folder,
      shim: new Shim(folder),
      seed: roundSeed,
      cuts: CUTS_PER_ROUND,
      imagesPerCut: Math.min(IMAGES_PER_CUT, Math.ceil(left / CUTS_PER_ROUND)),
      onImage: () => {
        tally.add('images');
        tally.progress('images', wanted);
      },
    });
    tally.add('flushes', report.flushes);
    tally.add('messages', report.history.stored.length);
    return [...report.problems, ...checkHistory(report.history)];
  });
}

function diskFaults(wanted: number, seed: number): Promise<number> {
  const tally = new Tally();
  return campaign('faults', wanted, seed, tally, async ({ folder, seed: roundSeed }) => {
    const shim = new Shim(folder);
    const isFull = tally.get('faults') % 2 === 1;
    tally.add('faults');
    tally.progress('faults', wanted);
    if (!isFull) {
      const { exit, problems } = await failedFlush({ folder, shim, seed: roundSeed, images: DISK_IMAGES });
      return exit.code === 1 ? [...problems] : [`the server left with ${exit.code}`, ...problems];
    }
    const { publishes, refusals, problems } = await fullDisk({ folder, shim, seed: roundSeed });
    tally.add('publishes', publishes);
    return [...problems, ...refusals.filter((refusal) => !/^503 .*"disk_full"/.test(refusal))];
  });
}

/** Wrong clocks, freezes and starts. */
function clocks(runs: number, seed: number, only: string | undefined): Promise<number> {
  const reason = noFakedClock();
  if (reason && only !== 'virtual') throw new Error(reason);
  const tally = new Tally();
  return campaign('runs', runs, seed, tally, async ({ folder, seed: runSeed }) => {
    const isProcess = only === undefined ? tally.get('runs') % PROCESS_EVERY === 0 : only === 'process';
    const { problems, ...counts } = isProcess
      ? await clocksOfProcess({ folder, seed: runSeed, steps: PROCESS_STEPS })
      : await clocksCampaign({ seed: runSeed });
    tally.add('runs');
    if (isProcess) tally.add('runs with a process');
    for (const [name, count] of Object.entries(counts)) if (name !== 'lanes') tally.add(name, count);
    tally.progress('runs', runs);
    const way = isProcess ? 'process' : 'virtual';
    return problems.length === 0
      ? []
      : [`npm run torture -- clocks --only ${way} --runs 1 --seed ${runSeed}`, ...problems];
  });
}

/** Each run has a seed of its own, the next number, so that one alone can be repeated. */
async function receivers(runs: number, seed: number): Promise<number> {
  const tally = new Tally();
  for (let run = seed; run < seed + runs; run += 1) {
    const report = await receiversCampaign({ seed: run });
    tally.add('runs');
    tally.add('receivers', report.receivers);
    tally.add('exchanges', report.exchanges);
    tally.add('of them on a connection that had served', report.reused);
    tally.most('MB of heap', process.memoryUsage().heapUsed / 1e6);
    tally.progress('runs', runs);
    if (report.problems.length === 0) continue;
    const told = report.problems.slice(0, 20).join('\n');
    process.stdout.write(`\n${tally}\n${told}\nnpm run torture -- receivers --runs 1 --seed ${run}\n`);
    return 1;
  }
  process.stdout.write(`\nNo promise broken: ${tally}\n`);
  return 0;
}

/** One line for every run: they are few, and each tells something. */
function clusters(runs: number, minutesMax: number, seed: number): Promise<number> {
  const tally = new Tally();
  const kinds = new Tally();
  const run: Round = async ({ folder, seed: runSeed }) => {
    const report = await clusterCampaign({ seed: runSeed });
    for (const [kind, count] of Object.entries(report.counts)) kinds.add(kind, count);
    tally.add('runs');
    tally.add('faults', report.faults.length);
    tally.add('messages', report.history.stored.length);
    tally.add('extra arrivals', report.extraArrivals);
    for (const { ms, nobodyMs } of report.takeovers) {
      tally.most('ms to take over at most', ms);
      tally.most('ms of that with a healthy node at most', ms - nobodyMs);
    }
    for (const { name, probed, isOutage, isTold } of report.faults) {
      if (isOutage) tally.most('ms to refuse at most', probed!.refusedMsMax);
      if (probed) tally.most('ms until well at most', probed.wellMs);
      if (isTold) process.stdout.write(`  ${name}\n`);
    }
    if (report.problems.length > 0) writeFileSync(join(folder, 'report.json'), JSON.stringify(report));
    else process.stdout.write(`seed ${runSeed}: ${tally}\n${slowestLine(report.takeovers)}`);
    return [...report.problems];
  };
  return campaign('runs', runs, seed, tally, run, minutesMax).finally(() => {
    process.stdout.write(`Of each fault: ${kinds}\n`);
  });
}

/** Of one run: what made it slow is seen by how long there was nobody to do it. */
function slowestLine(takeovers: readonly Takeover[]): string {
  const [slowest] = takeovers.toSorted((a, b) => b.ms - a.ms);
  if (!slowest) return '';
  const { fault, claims, ms, nobodyMs, last } = slowest;
  const [took, nobody] = [ms, nobodyMs].map((value) => `${Math.round(value).toLocaleString('en')} ms`);
  return `  slowest: ${fault}, ${claims} claims after ${took}, ${nobody} of it without a healthy node; the last: ${last}\n`;
}

/** One line for every run, and one that repeats it if it fails. */
async function schemas(runs: number, seed: number): Promise<number> {
  const tally = new Tally();
  const postgres = await PostgresServer.start();
  try {
    return await campaign('runs', runs, seed, tally, async ({ seed: runSeed }) => {
      const chance = new Chance(runSeed);
      const ends: (() => void | Promise<void>)[] = [];
      try {
        const report = await schemaCampaign({
          seed: runSeed,
          url: postgres.url(await postgres.createEmptyDatabase()),
          cleanup: { after: (end) => void ends.unshift(end) },
          versions: chance.between(1, 4),
          nodes: chance.between(2, 3),
        });
        const { columns, versions, calls, messages, refused, problems } = report;
        for (const [name, count] of Object.entries({ columns, versions, calls, messages, refused }))
          tally.add(name, count);
        tally.add('runs');
        if (problems.length === 0) process.stdout.write(`seed ${runSeed}: ${tally}\n`);
        else process.stdout.write(`\nagain: npm run torture -- schema --runs 1 --seed ${runSeed}\n`);
        return [...problems];
      } finally {
        for (const end of ends) await end();
      }
    });
  } finally {
    await postgres.stop();
  }
}

interface TenantsWanted {
  readonly minutes: number;
  readonly seconds: number;
  readonly on: string | undefined;
  readonly lanes: string | undefined;
  readonly only: string | undefined;
  readonly seed: number;
}

/** One line for every attack. Each server has a directory of its own, or a database. */
async function tenants({ minutes, seconds, on = 'sqlite', lanes, only, seed }: TenantsWanted): Promise<number> {
  // The program that users run: it starts sooner than the sources, and takes less memory.
  process.env.POSTRIDER_TEST_BIN = await builtCommand(BUILT);
  const database = on === 'postgres' ? await PostgresServer.start({ onDisk: true }) : null;
  const many = lanes === undefined ? [] : ['--lanes', lanes];
  const newStore = async () => {
    if (database) return { flags: ['--store', database.url(await database.createDatabase())], end: async () => {} };
    const folder = mkdtempSync(join(tmpdir(), 'postrider-tenants-'));
    const end = async () => rmSync(folder, { recursive: true, force: true });
    return { flags: ['--data', folder, ...many], end };
  };
  try {
    process.stdout.write(`seed ${seed}\n${ATTACK_HEAD}\n`);
    const rows = await tenantsCampaign({
      newStore,
      seconds,
      seed,
      minutesMax: minutes,
      ...(only !== undefined && { only: new RegExp(only) }),
      onRow: (row) => process.stdout.write(`${attackLine(row)}\n`),
    });
    const bad = rows.filter(isTooMuch);
    const flags = [lanes && `--lanes ${lanes}`, `--on ${on}`, `--seconds ${seconds}`].filter(Boolean).join(' ');
    for (const { name } of bad) {
      process.stdout.write(
        `again: npm run torture -- tenants ${flags} --only '^${name.replace(/[^\w /,-]/g, '.')}$'\n`,
      );
    }
    process.stdout.write(`${rows.length} attacks, ${bad.length} felt by the others\n`);
    return bad.length === 0 && rows.length > 0 ? 0 : 1;
  } finally {
    await database?.stop();
  }
}

async function main([kind, ...rest]: readonly string[]): Promise<number> {
  if (kind === 'sim') {
    if (!existsSync(SIMULATION)) throw new Error('there is no simulation here');
    return spawnSync(process.execPath, [SIMULATION, ...rest], { stdio: 'inherit' }).status ?? 1;
  }
  const { values } = parseArgs({
    args: [...rest],
    options: {
      times: { type: 'string' },
      images: { type: 'string' },
      minutes: { type: 'string' },
      repeat: { type: 'string' },
      seed: { type: 'string' },
      messages: { type: 'string' },
      only: { type: 'string' },
      store: { type: 'string' },
      on: { type: 'string' },
      runs: { type: 'string' },
      lanes: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  const seed = Number(values.seed ?? chooseSeed());
  if (kind === 'kill') return kills(Number(values.times ?? 10_000), seed);
  if (kind === 'interruptions') return interruptions(Number(values.messages ?? 5000), values.only, values.store);
  if (kind === 'clocks') return clocks(Number(values.runs ?? 200), seed, values.only);
  if (kind === 'receivers') return receivers(Number(values.runs ?? 200), seed);
  if (kind === 'tenants') {
    const { on, lanes, only } = values;
    const [minutes, seconds] = [Number(values.minutes ?? 40), Number(values.seconds ?? 4)];
    return tenants({ minutes, seconds, on, lanes, only, seed });
  }
  if (kind === 'schema') return schemas(Number(values.runs ?? 20), seed);
  if (kind === 'cluster') {
    const runs = Number(values.repeat ?? Number.POSITIVE_INFINITY);
    return clusters(runs, Number(values.minutes ?? (values.repeat ? Number.POSITIVE_INFINITY : 60)), seed);
  }
  if (kind !== 'power' && kind !== 'disk') {
    process.stderr.write(USAGE);
    return 1;
  }
  const reason = noShim();
  if (reason) throw new Error(reason);
  return kind === 'power'
    ? powerCuts(Number(values.images ?? 20_000), seed)
    : diskFaults(Number(values.times ?? 500), seed);
}

process.exitCode = await main(process.argv.slice(2));
