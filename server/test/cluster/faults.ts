// What can happen to a cluster, each as one function that does it, notes what it may have cut off, and leaves the
// cluster whole again. A claim is cut off, and its attempt may be repeated, only when its node ends or when the node
// was not heard of for as long as its lease lasts: a shorter outage of the database repeats nothing.

import { setTimeout as wait } from 'node:timers/promises';
import { NODE_TTL_MS } from '../../src/upkeep/leases.ts';
import type { Cancel } from '../checker/history.ts';
import { stopInGoodOrder, until } from '../crash/trial.ts';
import type { Chance } from '../simulation/chance.ts';
import type { Cluster, ClusterNode } from './cluster.ts';
import { type Probed, Prober } from './prober.ts';
import type { NodeClaim } from './store-tables.ts';

/** Longer than the lease. */
export const LONG_MS = { least: NODE_TTL_MS + 2000, most: NODE_TTL_MS + 5000 };
/** So short that no lease can run out, though the last sign of life may be five seconds old. */
const SHORT_MS = { least: 1000, most: 3500 };
/** What the database does for a node that stands still is over by then, and no lease has run out yet. */
export const SETTLED_MS = 1000;
/** A node with less left when the database is back may be taken for dead before it is heard of again. */
const LIFE_MS_MIN = 3000;
export const SAMPLE_MS = 100;
const BEATEN_MS_MIN = NODE_TTL_MS - 4000;

export interface FaultRecord {
  readonly name: string;
  readonly inFlight: number;
  /** What was not as promised while it went on. */
  readonly problems?: readonly string[];
  /** Its name holds what was measured. */
  readonly isTold?: boolean;
  /** How the nodes behaved that lost the database, and how soon they were well again. */
  readonly probed?: Probed;
  readonly isOutage?: boolean;
}

export type Fault = (cluster: Cluster, node: ClusterNode, chance: Chance) => Promise<FaultRecord>;

/** SIGKILL, and a fresh process in its place. */
export const kill: Fault = async (cluster, node) => {
  const sessions = node.proxy.outerPorts;
  const killedMs = performance.now();
  await node.server.kill();
  node.target = null;
  cluster.aim();
  // One that waits for a lock would not notice for long that nobody is there any more, and what it does then is not
  // what the node had in flight.
  await cluster.tables.terminate(sessions);
  await cluster.tables.sessionsEnded(sessions);
  const cutOff = cluster.trial.noteFault('crash', await cluster.tables.claims([node.id]));
  void cluster.watchTakeover(`kill ${node.name}`, cutOff, killedMs);
  await cluster.boot(node);
  return { name: `kill ${node.name}`, inFlight: cutOff.length };
};

/** SIGSTOP for longer than its lease, then SIGCONT: it wakes up and knows nothing of what happened meanwhile. */
export const freeze: Fault = async (cluster, node, chance) => {
  const frozenMs = performance.now();
  const forMs = chance.between(LONG_MS.least, LONG_MS.most);
  node.server.freeze();
  await wait(SETTLED_MS);
  const cutOff = cluster.trial.noteFault('freeze', await cluster.tables.claims([node.id]));
  const takeover = cluster.watchTakeover(`freeze ${node.name}`, cutOff, frozenMs);
  const thaw = async () => {
    await wait(forMs - (performance.now() - frozenMs));
    node.server.thaw();
    node.isAtFault = false;
    node.target = { ...node.target! };
    cluster.aim();
    await beaten(cluster, [node]);
  };
  const late = await cutOffDuring(cluster, node, 'freeze', thaw());
  // Frozen again before all of it is over, it would be one long fault in place of two.
  await takeover;
  return { name: `freeze ${node.name} ${forMs} ms`, inFlight: cutOff.length + late };
};

/** So many of what a node holds are cancelled while it stands still: the rest shows that its work goes on. */
const CANCELLED_AT_ONCE = 12;

/**
 * SIGSTOP for less than its lease, with claims in hand that others cancel meanwhile. What was answered with 200 does not start
 * when it wakes, and the next of a queue does not come before it.
 */
export const cancelFrozen: Fault = async (cluster, node, chance) => {
  const forMs = chance.between(SHORT_MS.least, SHORT_MS.most);
  const { trial, tables } = cluster;
  node.server.freeze();
  const thaw = wait(forMs).then(() => {
    node.server.thaw();
    node.isAtFault = false;
  });
  const others = cluster.freeNodes.flatMap(({ target }) => target ?? []);
  const claims = others.length === 0 ? [] : await tables.claims([node.id]);
  const cancel = async ({ messageId }: NodeClaim) => {
    const { api, token } = chance.pick(others);
    const headers = { Authorization: `Bearer ${token}` };
    let outcome: Cancel['outcome'] = 'unknown';
    try {
      const { status } = await fetch(`${api}/v2/messages/${messageId}`, { method: 'DELETE', headers });
      outcome = OUTCOMES.get(status) ?? 'unknown';
    } catch {
      // The node that was asked is gone; nobody knows.
    }
    trial.cancels.push({ messageId, outcome, endedAt: Date.now() });
    return outcome;
  };
  const outcomes = await Promise.all(claims.slice(0, CANCELLED_AT_ONCE).map(cancel));
  await thaw;
  const count = (outcome: Cancel['outcome']) => outcomes.filter((each) => each === outcome).length;
  await beaten(cluster, [node]);
  const told = `${count('cancelled')} cancelled, ${count('requested')} requested`;
  return { name: `freeze ${node.name} ${forMs} ms, ${told}`, inFlight: 0 };
};

const OUTCOMES: ReadonlyMap<number, Cancel['outcome']> = new Map([
  [200, 'cancelled'],
  [202, 'requested'],
  [404, 'notCancelled'],
]);

/** The database crashes and starts again. Nobody gets in before it was looked at. */
export const restartPostgres: Fault = async (cluster, node, chance) => {
  const { postgres, nodes, freeNodes } = cluster;
  const asked = [node, ...freeNodes];
  for (const each of asked) each.isBusy = each.isAtFault = true;
  const downMs = chance.between(SHORT_MS.least, SHORT_MS.most);
  await postgres.stopImmediate();
  for (const { proxy } of nodes) proxy.refuse();
  let cutOff = 0;
  const probed = await Prober.during(cluster.trial.publishers, running(asked), async () => {
    await wait(downMs);
    await postgres.startAgain();
    cutOff = await noteLapsed(cluster, nodes);
    for (const { proxy } of nodes) proxy.allow();
  });
  for (const each of asked) each.isAtFault = false;
  await beaten(cluster, asked);
  for (const each of freeNodes) each.isBusy = false;
  return { name: `restart of PostgreSQL ${downMs} ms`, inFlight: cutOff, probed, isOutage: true };
};

/** The node's connections hang: nothing comes through, and nobody is told. */
export const blackhole: Fault = async (cluster, node, chance) => {
  const forMs = chance.between(SHORT_MS.least, SHORT_MS.most);
  node.proxy.blackhole();
  let cutOff = 0;
  const probed = await Prober.during(cluster.trial.publishers, running([node]), async () => {
    await wait(forMs);
    cutOff = await noteLapsed(cluster, [node]);
    node.proxy.heal();
  });
  node.isAtFault = false;
  await beaten(cluster, [node]);
  return { name: `blackhole ${node.name} ${forMs} ms`, inFlight: cutOff, probed, isOutage: true };
};

/** The same for longer than its lease: the others take over what it had claimed, and it lives on. */
export const longBlackhole: Fault = async (cluster, node, chance) => {
  const sinceMs = performance.now();
  const forMs = chance.between(LONG_MS.least, LONG_MS.most);
  node.proxy.blackhole();
  let cutOff: NodeClaim[] = [];
  let takeover = Promise.resolve();
  let late = Promise.resolve(0);
  const { promise: isHealed, resolve: healed } = Promise.withResolvers<void>();
  const probed = await Prober.during(cluster.trial.publishers, running([node]), async () => {
    await wait(SETTLED_MS);
    cutOff = cluster.trial.noteFault('outage', await cluster.tables.claims([node.id]));
    takeover = cluster.watchTakeover(`blackhole ${node.name}`, cutOff, sinceMs);
    late = cutOffDuring(
      cluster,
      node,
      'outage',
      isHealed.then(() => beaten(cluster, [node])),
    );
    await wait(forMs - (performance.now() - sinceMs));
    node.proxy.heal();
    healed();
  });
  node.isAtFault = false;
  const inFlight = cutOff.length + (await late);
  await takeover;
  return { name: `blackhole ${node.name} ${forMs} ms`, inFlight, probed, isOutage: true };
};

/** All connections of a node break; the database is there. */
export const cut: Fault = async (cluster, node) => {
  node.proxy.cut();
  return brokenOff(cluster, node, `cut ${node.name}`);
};

/** The database ends all sessions of a node, in the middle of whatever they do. */
export const terminateSessions: Fault = async (cluster, node) => {
  const ended = await cluster.tables.terminate(node.proxy.outerPorts);
  return brokenOff(cluster, node, `${ended} sessions of ${node.name} terminated`);
};

/** Each node in turn is told to stop, leaves with 0, and a new one comes. Nothing is repeated. */
export const rollingRestart: Fault = async (cluster, first) => {
  const restarted: string[] = [];
  cluster.trial.noteFault('stop', []);
  for (const node of [first, ...cluster.nodes.filter((each) => each !== first)]) {
    if (node !== first && node.isBusy) continue;
    node.isBusy = node.isAtFault = true;
    await stopInGoodOrder(node.server);
    node.target = null;
    await cluster.boot(node);
    node.isBusy = node === first; // until all of it is over, as with every fault
    restarted.push(node.name);
  }
  return { name: `rolling restart of ${restarted.join(', ')}`, inFlight: 0 };
};

async function brokenOff(cluster: Cluster, node: ClusterNode, name: string): Promise<FaultRecord> {
  const probed = await Prober.during(cluster.trial.publishers, running([node]));
  node.isAtFault = false;
  const cutOff = await noteLapsed(cluster, [node]);
  await beaten(cluster, [node]);
  return { name, inFlight: cutOff, probed };
}

/** What may be taken over from nodes that were not heard of for too long; none, as long as an outage is short. */
export async function noteLapsed(cluster: Cluster, nodes: readonly ClusterNode[]): Promise<number> {
  const lives = await cluster.tables.lives();
  const lapsed = nodes.filter(({ id }) => (lives.find((life) => life.id === id)?.leftMs ?? 0) < LIFE_MS_MIN);
  const claims = lapsed.length > 0 ? await cluster.tables.claims(lapsed.map(({ id }) => id)) : [];
  return cluster.trial.noteFault('outage', claims).length;
}

/**
 * Of a node that was not heard of for as long as its lease lasts: what is leased to it meanwhile, by a commit that was
 * held on its way or waited for something, is cut off as well, because whoever looks takes the node for dead.
 */
export async function cutOffDuring(
  cluster: Cluster,
  node: ClusterNode,
  kind: 'freeze' | 'outage' | 'crash',
  work: Promise<unknown>,
): Promise<number> {
  const leases = new Set<string>();
  let isOver = false;
  let count = 0;
  const working = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const claims = await cluster.tables.claims([node.id]);
    const fresh = claims.filter(({ lease }) => !leases.has(lease));
    for (const { lease } of fresh) leases.add(lease);
    if (fresh.length > 0 && !isOver) count += cluster.trial.noteFault(kind, fresh).length;
    await wait(SAMPLE_MS);
  }
  await working;
  return count;
}

/** The next fault must not meet a node that had no chance yet to say that it lives. */
export async function beaten(cluster: Cluster, nodes: readonly ClusterNode[]): Promise<void> {
  await until(
    async () => {
      const lives = await cluster.tables.lives();
      return nodes.every(({ id }) => lives.some((life) => life.id === id && life.leftMs > BEATEN_MS_MIN));
    },
    () => `${nodes.map(({ name }) => name).join(', ')}: not heard of again`,
    NODE_TTL_MS,
  );
}

function running(nodes: readonly ClusterNode[]) {
  return nodes.flatMap(({ name, target }) => (target ? [{ name, target }] : []));
}
