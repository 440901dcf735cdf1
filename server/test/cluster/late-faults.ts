// Faults between a node and its database that come out late: what was sent arrives long after its sender has given it up,
// and a node is told to stop while it cannot reach the database.

import { setTimeout as wait } from 'node:timers/promises';
import { DRAIN_MS } from './cluster.ts';
import { beaten, cutOffDuring, type Fault, LONG_MS, noteLapsed, SAMPLE_MS, SETTLED_MS } from './faults.ts';

/** So many are published while the connections are held, so that some of them are on their way. */
const HELD_PUBLISHES = 6;
/** What was asked so long before cannot be anything else than what was held. */
const LATE_MS_MIN = 5000;

/**
 * The present connections of a node hang for longer than its lease, and then all that was sent on them arrives. The node
 * lives on by new ones. What it had published is either there in the end or not; but nothing stays leased to a node that
 * does not know of it.
 */
export const lateCommits: Fault = async (cluster, node, chance) => {
  const forMs = chance.between(LONG_MS.least, LONG_MS.most);
  const { tables, trial } = cluster;
  cluster.isHolding = true;
  node.proxy.holdPresent();
  const target = node.target!;
  const publishing = Promise.all(Array.from({ length: HELD_PUBLISHES }, () => trial.publishers.probe(target)));
  const waiting = wait(forMs);
  await publishing;
  node.isAtFault = false; // it has new connections
  await waiting;
  const cutOff = await noteLapsed(cluster, [node]);
  const before = new Set(await tables.dueBefore(Date.now() - LATE_MS_MIN));
  node.proxy.heal();
  const healedMs = performance.now();
  await wait(SETTLED_MS);
  cluster.isHolding = false;
  const late = (await tables.dueBefore(Date.now() - LATE_MS_MIN - SETTLED_MS)).filter((id) => !before.has(id));
  await beaten(cluster, [node]);
  await cluster.watchTakeover(`late commits of ${node.name}`, await tables.claims([node.id]), healedMs);
  return {
    name: `late commits of ${node.name} ${forMs} ms, ${late.length} messages came late`,
    inFlight: cutOff,
    isTold: true,
  };
};

/** Of its own time, beside the time for its attempts. */
const ENDING_MS_MAX = 10_000;
/** A node that should have something to lose is waited for so long. */
const AT_WORK_MS_MAX = 3000;
/** The exit code of a node that could not store the end of what it did, or that it left. */
const STORE_AWAY = 3;

/** SIGTERM while the database is away, and stays so: the node ends by itself, and others go on with what it left. */
export const drainAway: Fault = async (cluster, node, chance) => {
  const isSilent = chance.isTrue(50);
  const workDeadlineMs = performance.now() + AT_WORK_MS_MAX;
  while ((await cluster.tables.claims([node.id])).length === 0 && performance.now() < workDeadlineMs)
    await wait(SAMPLE_MS);
  const sessions = node.proxy.outerPorts;
  const name = `drain of ${node.name} while the database ${isSilent ? 'is silent' : 'refuses'}`;
  const startedMs = performance.now();
  if (isSilent) node.proxy.blackhole();
  else node.proxy.refuse();
  let tookMs = 0;
  const ending = Promise.race([node.server.stop(), wait(2 * (DRAIN_MS + ENDING_MS_MAX))]).then((exit) => {
    tookMs = Math.round(performance.now() - startedMs);
    return exit;
  });
  await wait(SETTLED_MS);
  // Noted while it drains: it may take longer than its lease lasts, and then others have taken over before it has ended.
  const cutOff = cluster.trial.noteFault('crash', await cluster.tables.claims([node.id]));
  void cluster.watchTakeover(name, cutOff, startedMs);
  const late = await cutOffDuring(cluster, node, 'crash', ending);
  const exit = await ending;
  if (!exit) await node.server.kill();
  node.target = null;
  cluster.aim();
  await cluster.tables.terminate(sessions);
  await cluster.tables.sessionsEnded(sessions);
  // Nothing of it is on its way any more.
  node.proxy.heal();
  node.proxy.allow();
  const last = cluster.trial.noteFault('crash', await cluster.tables.claims([node.id]));
  void cluster.watchTakeover(name, last, startedMs);
  await cluster.boot(node);
  const problems: string[] = [];
  if (tookMs > DRAIN_MS + ENDING_MS_MAX) problems.push(`${name}: it took ${tookMs} ms to end`);
  if (exit && exit.code !== STORE_AWAY) problems.push(`${name}: it left with ${exit.signal ?? exit.code}`);
  const inFlight = cutOff.length + late + last.length;
  return { name: `${name}, ended after ${tookMs} ms`, inFlight, problems, isTold: true };
};
