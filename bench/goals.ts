// Everything that the goals need, in one run: rounds of all of it in turn, so that no verdict compares two runs.
// Saturated, with the default log level. Needs what `lanes`, `slow-disk` and the peers need.
// npm run bench -- goals [--rounds 3] [--seconds 20] [--json file]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackages } from '../packaging/build.ts';
import { PostgresServer } from '../server/test/postgres/server.ts';
import { wait } from './clock.ts';
import { AT_REST, goals, LANES_NAMES, OURS, REFERENCE, SLOW, sharingText, THREE_BUSY } from './goal-verdicts.ts';
import { busiestUs, lanesUs, measureLanes } from './lane-threads.ts';
import { type LoadChoice, measure, median, type Pace } from './measure.ts';
import { formatted, interleaved, numbersOf, pace, paceText, publish, type Row } from './part.ts';
import { peers } from './peers.ts';
import { slowDisk } from './slow-fsync.ts';
import { floor, onPostgres, onSqlite, POSTGRES_SETTINGS, type StartOptions, type Target } from './targets.ts';

type Numbers = Record<string, number | null>;

interface Layout {
  readonly name: string;
  readonly durability: string;
  readonly run: () => Promise<Numbers>;
}

/** What `serve` logs unless told otherwise: a line for each attempt. */
const DEFAULT_LOG = { logLevel: 'info' };
const REST_SECONDS = 30;
/** Zero where there is nothing to count. */
const COUNTED_FOR_SOME = ['allocatedBytes', 'databaseCpuUs'];

function saturated(target: Target, options: StartOptions = {}, load: LoadChoice = {}, own = pace): Layout {
  return {
    name: target.name,
    durability: target.durability,
    run: async () => numbersOf(await measure(target, own, load, options)),
  };
}

function withLanes(lanes: number): Layout {
  const run = async () => {
    const { delivered, threadsUs, rssMb } = await measureLanes(lanes);
    const cpuUs = Object.values(threadsUs).reduce((sum, us) => sum + us, 0);
    const laneUs = Math.max(...lanesUs(threadsUs));
    return { delivered, cpuUs, rssMb, busiestUs: busiestUs(threadsUs), laneUs, writerUs: threadsUs.writer ?? null };
  };
  return { name: LANES_NAMES[lanes]!, durability: onSqlite.durability, run };
}

/** As people run it: from the package, and with nothing to do. */
function atRest(bin: string): Layout {
  const run = async () => {
    const running = await onSqlite.start({ ...DEFAULT_LOG, bin });
    try {
      await wait(REST_SECONDS * 1000);
      return { rssMb: running.rssBytes / 1e6 };
    } finally {
      await running.stop();
    }
  };
  return { name: AT_REST, durability: onSqlite.durability, run };
}

/** A peer that does not run here is named in the table, with the reason. */
async function once({ name, run }: Layout): Promise<Numbers> {
  if (notRun.has(name)) return {};
  try {
    return await run();
  } catch (error) {
    if (!peerNames.has(name)) throw error;
    notRun.set(name, String(error).split('\n')[0]!.slice(0, 200));
    return {};
  }
}

function rowOf({ name, durability }: Layout, each: readonly Numbers[]): Row {
  const reason = notRun.get(name);
  if (reason !== undefined) return { name, text: { durability: `not run: ${reason}` }, numbers: {} };
  const isMeasured = (key: string) => each.every((one) => typeof one[key] === 'number');
  const isCounted = (key: string) => !COUNTED_FOR_SOME.includes(key) || each.some((one) => one[key] !== 0);
  const keys = Object.keys(each[0]!).filter((key) => isMeasured(key) && isCounted(key));
  const numbers = keys.map((key) => [key, median(each.map((one) => one[key]!))] as const);
  return { name, text: { durability }, numbers: Object.fromEntries(numbers) };
}

const notRun = new Map<string, string>();
const folder = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
const slow = slowDisk();
const server = await PostgresServer.start({ onDisk: true, settings: POSTGRES_SETTINGS });
const others = (await peers(server)).map((peer) => saturated(peer));
const peerNames = new Set(others.map(({ name }) => name));
try {
  await buildPackages(folder);
  const counted = { countsAllocations: true };
  const slowly = { env: slow.env };
  const eachAnew = { isKeptAlive: false };
  const reference = floor(true, true);
  const three = onPostgres(server, 3);
  // Each node has then had as many messages as one node alone: a process compiles by what it has had.
  const threeWarm: Pace = { ...pace, warmUpSeconds: 3 * pace.warmUpSeconds };
  const layouts: Layout[] = [
    { ...saturated(reference, counted), name: REFERENCE },
    { ...saturated(onSqlite, { ...DEFAULT_LOG, ...counted }), name: OURS },
    { ...saturated(onSqlite), name: `${OURS}, warnings only` },
    saturated(onPostgres(server, 1), DEFAULT_LOG),
    saturated(three, DEFAULT_LOG, {}, threeWarm),
    { ...saturated(three, DEFAULT_LOG, {}, { ...threeWarm, connections: 3 * pace.connections }), name: THREE_BUSY },
    ...others,
    { ...saturated(reference, slowly, eachAnew), name: REFERENCE + SLOW },
    { ...saturated(onSqlite, { ...DEFAULT_LOG, ...slowly }, eachAnew), name: OURS + SLOW },
    ...[1, 2, 4].map(withLanes),
    atRest(join(folder, 'postrider/bin/postrider.js')),
  ];
  const results = await interleaved(layouts, once, ({ delivered }) => `${formatted(delivered ?? null)} delivered/s`);
  const rows = [...results].map(([layout, each]) => rowOf(layout, each));
  publish('goals', {
    title: 'All in one run',
    columns: [
      ['durability', 'a response means'],
      ['accepted', 'accepted/s'],
      ['delivered', 'delivered/s'],
      ['ackP50', 'response p50, ms'],
      ['ackP99', 'p99'],
      ['receivedP99', 'received p99, ms'],
      ['cpuUs', 'CPU µs a message'],
      ['databaseCpuUs', 'of the database'],
      ['busiestUs', 'of the busiest thread'],
      ['writerUs', 'of the writer'],
      ['laneUs', 'of the busiest lane'],
      ['allocatedBytes', 'bytes allocated'],
      ['rssMb', 'memory, MB'],
    ],
    rows,
    notes: [
      ...goals(rows).map(({ goal, measured, verdict }) => `${verdict}: ${goal}: ${measured}`),
      `${sharingText(rows)} Three nodes are warmed up for three times as long.`,
      'In the rows of lanes the publisher is wrk and the receiver nginx, one thread each, and only warnings are logged.',
    ],
    pace: paceText(),
  });
} finally {
  await server.stop();
  slow.remove();
  rmSync(folder, { recursive: true, force: true });
}
