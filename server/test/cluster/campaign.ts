// A cluster under load that has no minute of peace: nodes are killed, frozen and restarted, the database crashes, the
// network between them is cut or falls silent, several of these at once. Then it is left alone until every message has
// ended, and the whole of it is judged.

import { setTimeout as wait } from 'node:timers/promises';
import { checkHistory } from '../checker/check.ts';
import type { History } from '../checker/history.ts';
import { Chance } from '../simulation/chance.ts';
import { Cluster, type ClusterNode, type Takeover } from './cluster.ts';
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

/** One after the other, in an order that the seed gives. */
const SHORT_FAULTS: readonly Fault[] = [
  ...[kill, kill, kill, kill],
  ...[restartPostgres, restartPostgres, restartPostgres],
  ...[blackhole, blackhole, blackhole],
  ...[cut, cut, cut],
  ...[terminateSessions, terminateSessions, terminateSessions],
  ...[rollingRestart, rollingRestart],
  ...[cancelFrozen, cancelFrozen, cancelFrozen],
];
/** The work of a node that is killed goes on within half a minute, which nobody should have to wait for at the end. */
const LAST_WITHOUT_KILL = 6;
/** Beside them, each longer than a lease. */
const LONG_FAULTS: readonly (readonly Fault[])[] = [
  [freeze, freeze],
  [longBlackhole, freeze],
];
const PAUSE_MS = { least: 200, most: 1200 };

const REFUSED_MS_MAX = 2000;
const WELL_MS_MAX = 5000;
const TAKEOVER_MS_MAX = 30_000;
/** A node may refuse while it drains or has no database; it has no other reason. */
const REFUSAL = /^503 .*"(?:draining|store_unavailable|outcome_unknown)"/;

export interface ClusterReport {
  readonly history: History;
  readonly faults: readonly FaultRecord[];
  readonly takeovers: readonly Takeover[];
  readonly refusals: readonly string[];
  readonly extraArrivals: number;
  readonly logs: readonly string[];
  readonly problems: readonly string[];
}

export function clusterCampaign({ seed }: { readonly seed: number }): Promise<ClusterReport> {
  const chance = new Chance(seed);
  return Cluster.run(seed, async (cluster) => {
    const faults: FaultRecord[] = [];
    let hasFailed = false;
    const lane = async (list: readonly Fault[], laneChance: Chance) => {
      for (const fault of list) {
        await wait(laneChance.between(PAUSE_MS.least, PAUSE_MS.most));
        if (hasFailed) return;
        const node = await takeNode(cluster, laneChance);
        faults.push(await fault(cluster, node, laneChance));
        node.isBusy = false;
      }
    };
    const lanes = [shortFaults(chance), ...LONG_FAULTS];
    const ended = await Promise.allSettled(
      lanes.map((list, index) =>
        lane(list, new Chance(seed + 7 * (index + 1))).catch((error: Error) => {
          hasFailed = true;
          throw error;
        }),
      ),
    );
    const errors = ended.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
    if (errors.length > 0) throw new Error([...errors, ...cluster.deaths].join('\n'));
    await cluster.finish();
    const history = cluster.trial.history(await cluster.tables.readStored());
    const { refusals } = cluster.trial.publishers;
    return {
      history,
      faults,
      takeovers: cluster.takeovers,
      refusals,
      extraArrivals: countExtra(history),
      logs: cluster.logs,
      problems: [
        ...checkHistory(history),
        ...cluster.deaths,
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
  node.isBusy = true;
  return node;
}

function shortFaults(chance: Chance): Fault[] {
  const order = shuffled(SHORT_FAULTS, chance);
  return order.lastIndexOf(kill) < order.length - LAST_WITHOUT_KILL ? order : shortFaults(chance);
}

function judgeFault({ name, probed, isOutage = false }: FaultRecord): string[] {
  if (!probed) return [];
  const problems = probed.problems.map((problem) => `${name}: ${problem}`);
  if (isOutage && probed.refusedMsMax > REFUSED_MS_MAX) {
    problems.push(`${name}: somebody waited ${Math.round(probed.refusedMsMax)} ms to be refused`);
  }
  if (probed.wellMs > WELL_MS_MAX) problems.push(`${name}: well again only after ${Math.round(probed.wellMs)} ms`);
  return problems;
}

function judgeTakeover({ fault, claims, ms }: Takeover): string[] {
  return ms > TAKEOVER_MS_MAX ? [`${fault}: its ${claims} claims were taken over after ${Math.round(ms)} ms`] : [];
}

function countExtra({ arrivals }: History): number {
  return arrivals.length - new Set(arrivals.map(({ messageId, retried }) => `${messageId} ${retried}`)).size;
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  const left = [...list];
  return list.map(() => left.splice(chance.below(left.length), 1)[0]!);
}
