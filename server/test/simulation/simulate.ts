// One run: a seed decides the limits, who does what and what goes wrong; then everything is healed, time runs on until
// every message has ended, and the checker has the last word. No real time, no real network, no real disk.

import { createHash } from 'node:crypto';
import { CLAIM_MS_MAX } from '../checker/attempt-rules.ts';
import { checkHistory } from '../checker/check.ts';
import type { History } from '../checker/history.ts';
import { STORED_BODIES, type StoredBodies, wrongBodies } from '../store/stored-bodies.ts';
import { Chance } from './chance.ts';
import { Client } from './client.ts';
import { Cluster } from './cluster.ts';
import type { Coverage } from './coverage.ts';
import { Drafter, QUEUES, queueKey } from './draft.ts';
import { type Cast, Extras } from './extras.ts';
import { TRANSIT_MS_MAX } from './network.ts';
import { ACCOUNTS, prepare } from './prepare.ts';
import { readSchedules, readStored } from './read-stored.ts';
import { TICK_HEADER } from './schedule-actions.ts';
import { Script } from './script.ts';

/** After the last fault: how long until everything must have ended, the longest waits and clocks set back included. */
const HEALED_MS_MAX = 3 * 3_600_000;
const EVENTS_MAX = 400_000;
/** From a claim to the arrival of its request: two moments at the store, connecting, transit. */
const ARRIVAL_MS_MAX = 10_000;

export interface RunResult {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly traceHash: string;
  readonly coverage: Coverage;
  readonly events: number;
  readonly messages: number;
}

export async function simulate(seed: number, cast: Cast = 'full'): Promise<RunResult> {
  const chance = new Chance(seed * 4);
  const cluster = new Cluster(seed, cast, {
    concurrency: chance.pick([1, 2, 4, 8, 20]),
    accountConcurrency: chance.pick([1, 3, 8, 20, null]),
    hostConcurrency: chance.pick([1, 2, 4, 20]),
    bodyBytes: chance.pick([30_000, 100_000, 1_000_000]),
  });
  const { timeline } = cluster;
  const extras = cast === 'full' ? new Extras(new Chance(seed * 4 + 3)) : null;
  const client = new Client(
    cluster.tiers,
    () => timeline.nowMs,
    (line) => cluster.say(line),
    (what) => cluster.note(what),
  );
  cluster.onSend = (node, jobs) => script.afterSend(node, jobs);
  cluster.onStart = ({ messageId }) => {
    if (client.cancelled.has(messageId)) cluster.report(`${messageId} starts, and its cancel was answered before`);
  };
  prepare(cluster, cast);
  const script = new Script(cluster, client, chance, new Drafter(chance, () => cluster.wallNow()), extras);
  timeline.after(0, () => script.begin());

  while (!script.isOver && cluster.violations.length === 0) await step(cluster, script);
  if (cluster.violations.length === 0) {
    timeline.after(0, () => script.heal());
    await step(cluster, script);
    const limitMs = timeline.nowMs + HEALED_MS_MAX;
    while (!(cluster.model.open === 0 && client.isIdle) && cluster.violations.length === 0) {
      if (timeline.nowMs > limitMs || timeline.fired > EVENTS_MAX) {
        cluster.report(`${cluster.model.open} messages have not ended although all faults are over`);
      } else await step(cluster, script);
    }
  }
  // A violation of the moment is nearer to its cause than what the whole history then shows.
  if (cluster.violations.length === 0) {
    for (const violation of checkHistory(historyOf(cluster, client))) cluster.report(violation);
    for (const violation of wrongBodies(cluster.database.get<StoredBodies>(STORED_BODIES)!)) cluster.report(violation);
  }
  cluster.database.close();
  return {
    seed,
    violations: cluster.violations,
    trace: cluster.trace,
    traceHash: createHash('sha256').update(cluster.trace.join('\n')).digest('hex'),
    coverage: cluster.coverage,
    events: timeline.fired,
    messages: cluster.model.sums.total,
  };
}

/** One event and all that follows from it before time moves on: a macrotask comes only when no microtask is left. */
async function step(cluster: Cluster, script: Script): Promise<void> {
  if (!cluster.timeline.fireNext()) cluster.report('no events are left');
  await new Promise((resolve) => setImmediate(resolve));
  script.afterEvent();
  cluster.check();
}

function historyOf(cluster: Cluster, client: Client): History {
  const serial = Object.keys(QUEUES).filter((name) => QUEUES[name] === 1);
  return {
    publishes: client.publishes,
    cancels: client.cancels,
    changes: client.changes,
    arrivals: cluster.arrivals,
    stored: readStored(cluster.database, cluster.log.free),
    faults: cluster.faults,
    serialQueues: ACCOUNTS.flatMap(({ id }) => serial.map((name) => queueKey(id, name))),
    arrivalMsMax: ARRIVAL_MS_MAX,
    lateMsMax: TRANSIT_MS_MAX,
    clocksApartMsMax: cluster.clocksApartMs,
    // A node may freeze between its look at the clock and its claim.
    claimMsMax: CLAIM_MS_MAX + cluster.frozenMsMax,
    released: client.released,
    steps: cluster.log.steps,
    words: cluster.workers.words,
    schedules: readSchedules(cluster.database),
    tickHeader: TICK_HEADER,
  };
}
