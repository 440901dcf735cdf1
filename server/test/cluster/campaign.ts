// A cluster under load that has no minute of peace: nodes are killed, frozen and restarted, the database crashes, the
// network between them is cut or falls silent, several of these at once. Then it is left alone until every message has
// ended, and the whole of it is judged.

import { setTimeout as wait } from 'node:timers/promises';
import { checkHistory } from '../checker/check.ts';
import type { History } from '../checker/history.ts';
import { PACED_PATH, PACED_RATE } from '../crash/publishers.ts';
import { Chance } from '../simulation/chance.ts';
import { Alerts } from './alerts.ts';
import { AHEAD, Cluster, type ClusterNode, type Takeover } from './cluster.ts';
import { crowd, judgeTicks, makeCrowd } from './crowd.ts';
import {
  blackhole,
  cancelFrozen,
  cut,
  type Fault,
  type FaultRecord,
  freeze,
  kill,
  longBlackhole,
  restartPostgres,
  rollingRestart,
  terminateSessions,
} from './faults.ts';
import { drainAway, lateCommits } from './late-faults.ts';

/** All that can be done to a cluster, by the names under which it is counted. */
const FAULTS = {
  kill,
  freeze,
  'freeze with cancels': cancelFrozen,
  'restart of the database': restartPostgres,
  blackhole,
  'long blackhole': longBlackhole,
  cut,
  'sessions terminated': terminateSessions,
  'rolling restart': rollingRestart,
  'thousands of schedules and accounts': crowd,
  'late commits': lateCommits,
  'drain without the database': drainAway,
} satisfies Record<string, Fault>;
type Kind = keyof typeof FAULTS;
/** Goes on for the whole of a run. */
const SKEWED = 'skewed clock';

/** One after the other, in an order that the seed gives. */
const SHORT_FAULTS: readonly Kind[] = [
  'kill',
  'kill',
  'restart of the database',
  'restart of the database',
  'blackhole',
  'blackhole',
  'cut',
  'sessions terminated',
  'rolling restart',
  'freeze with cancels',
  'freeze with cancels',
];
/** A run has one of these with this chance. */
const SOMETIMES: readonly Kind[] = ['thousands of schedules and accounts', 'drain without the database'];
const SOMETIMES_PERCENT = 60;
/** The work of a node that is killed goes on within half a minute, which nobody should have to wait for at the end. */
const LAST_WITHOUT_KILL = 3;
/** Of each client between two requests, in a brief run: enough is in flight for each fault. */
const BRIEF_REST_MS = 100;
const PAUSE_MS = { least: 200, most: 1200 };

/** On a busy machine. The clock of the receivers judges without it. */
const CLAIM_MS_MAX = 1000;
const REFUSED_MS_MAX = 2000;
const WELL_MS_MAX = 5000;
/** Of the time in which there was a node that nothing was done to. */
const TAKEOVER_MS_MAX = 30_000;
/**
 * Of 21 starts under the flow key the first and the last are nine whole periods apart. A node that stands still for a
 * moment may send by so much later.
 */
const PACED_ARRIVALS = 10 * PACED_RATE + 1;
const PACED_MS_MIN = 9000 - 5000;
/** A node may refuse while it drains or has no database; it has no other reason. */
const REFUSAL = /^503 .*"(?:draining|store_unavailable|outcome_unknown)"/;

export interface ClusterReport {
  readonly history: History;
  readonly faults: readonly FaultRecord[];
  /** How often each kind of fault happened. */
  readonly counts: Readonly<Record<string, number>>;
  readonly takeovers: readonly Takeover[];
  readonly refusals: readonly string[];
  readonly extraArrivals: number;
  readonly alerts: string;
  readonly logs: readonly string[];
  readonly problems: readonly string[];
}

export interface ClusterOptions {
  readonly seed: number;
  /** Fewer messages, each short fault once, and of those that are longer than a lease one in each of the two series. */
  readonly isBrief?: boolean;
}

export function clusterCampaign({ seed, isBrief = false }: ClusterOptions): Promise<ClusterReport> {
  const chance = new Chance(seed);
  const isSkewed = AHEAD !== null && chance.isTrue(SOMETIMES_PERCENT);
  const series: readonly (readonly Kind[])[] = [
    shortFaults(
      [
        ...(isBrief ? new Set(SHORT_FAULTS) : SHORT_FAULTS),
        ...SOMETIMES.filter(() => chance.isTrue(SOMETIMES_PERCENT)),
      ],
      chance,
    ),
    // Beside them, each longer than a lease.
    isBrief ? ['freeze'] : ['freeze', 'freeze'],
    [chance.isTrue(SOMETIMES_PERCENT) ? 'late commits' : 'long blackhole', ...(isBrief ? [] : ['freeze' as const])],
  ];
  return Cluster.run({ seed, isSkewed, restMs: isBrief ? BRIEF_REST_MS : 0 }, async (cluster) => {
    const faults: FaultRecord[] = [];
    const counts: Record<string, number> = isSkewed ? { [SKEWED]: 1 } : {};
    if (series[0]!.includes('thousands of schedules and accounts'))
      await makeCrowd(cluster, cluster.trial.receiver.url);
    const alerts = new Alerts(cluster, new Chance(seed + 5));
    let hasFailed = false;
    const run = async (list: readonly Kind[], ownChance: Chance) => {
      const left = [...list];
      while (left.length > 0) {
        await wait(ownChance.between(PAUSE_MS.least, PAUSE_MS.most));
        if (hasFailed) return;
        const at = left.findIndex((kind) => kind !== 'restart of the database' || !cluster.isHolding);
        if (at < 0) continue;
        const [kind] = left.splice(at, 1) as [Kind];
        const node = await takeNode(cluster, ownChance);
        faults.push(await FAULTS[kind](cluster, node, ownChance));
        counts[kind] = (counts[kind] ?? 0) + 1;
        node.isBusy = false;
      }
    };
    const ended = await Promise.allSettled(
      series.map((list, index) =>
        run(list, new Chance(seed + 7 * (index + 1))).catch((error: Error) => {
          hasFailed = true;
          throw error;
        }),
      ),
    );
    const errors = ended.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
    if (errors.length > 0) {
      alerts.stop();
      throw new Error([...errors, ...cluster.deaths].join('\n'));
    }
    await alerts.told();
    await cluster.finish();
    const stored = await cluster.tables.readStored();
    const history = { ...cluster.trial.history(stored), claimMsMax: CLAIM_MS_MAX };
    const { refusals } = cluster.trial.publishers;
    return {
      history,
      faults,
      counts,
      takeovers: cluster.takeovers,
      refusals,
      extraArrivals: countExtra(history),
      alerts: alerts.counts,
      logs: cluster.logs,
      problems: [
        ...checkHistory(history),
        ...cluster.deaths,
        ...judgePace(history),
        ...(await judgeTicks(cluster)),
        ...(await alerts.judge()),
        ...faults.flatMap(judgeFault),
        ...cluster.takeovers.flatMap(judgeTakeover),
        ...refusals.filter((refusal) => !REFUSAL.test(refusal)).map((refusal) => `a publish was answered ${refusal}`),
      ],
    };
  });
}

/** One that no other fault is at work on; it is waited for. */
async function takeNode(cluster: Cluster, chance: Chance): Promise<ClusterNode> {
  while (cluster.freeNodes.length === 0) await wait(PAUSE_MS.least);
  const node = chance.pick(cluster.freeNodes);
  node.isBusy = node.isAtFault = true;
  return node;
}

function shortFaults(kinds: readonly Kind[], chance: Chance): Kind[] {
  const order = shuffled(kinds, chance);
  const lastKill = Math.max(order.lastIndexOf('kill'), order.lastIndexOf('drain without the database'));
  return lastKill < order.length - LAST_WITHOUT_KILL ? order : shortFaults(kinds, chance);
}

function judgeFault({ name, probed, isOutage = false, problems: found = [] }: FaultRecord): string[] {
  if (!probed) return [...found];
  const problems = probed.problems.map((problem) => `${name}: ${problem}`);
  if (isOutage && probed.refusedMsMax > REFUSED_MS_MAX) {
    problems.push(`${name}: somebody waited ${Math.round(probed.refusedMsMax)} ms to be refused`);
  }
  if (probed.wellMs > WELL_MS_MAX) problems.push(`${name}: well again only after ${Math.round(probed.wellMs)} ms`);
  return problems;
}

function judgeTakeover({ fault, claims, ms, nobodyMs, last }: Takeover): string[] {
  if (ms - nobodyMs <= TAKEOVER_MS_MAX) return [];
  const without = `${Math.round(nobodyMs)} ms of it without a healthy node`;
  return [`${fault}: its ${claims} claims were taken over after ${Math.round(ms)} ms, ${without}; the last: ${last}`];
}

/** However the clocks of the nodes differ, no more start in a period than the flow key allows. */
function judgePace({ arrivals }: History): string[] {
  const paced = arrivals.filter(({ url }) => url.endsWith(PACED_PATH));
  return paced.flatMap(({ at }, index) => {
    const first = paced[index - PACED_ARRIVALS + 1];
    if (!first || at - first.at >= PACED_MS_MIN) return [];
    return [`${PACED_ARRIVALS} messages of a flow key with ${PACED_RATE} a second came within ${at - first.at} ms`];
  });
}

function countExtra({ arrivals }: History): number {
  return arrivals.length - new Set(arrivals.map(({ messageId, retried }) => `${messageId} ${retried}`)).size;
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  const left = [...list];
  return list.map(() => left.splice(chance.below(left.length), 1)[0]!);
}
