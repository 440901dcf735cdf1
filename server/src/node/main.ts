// The composition root: builds a node, opens it to callers and closes it again. Only this file, the build files it
// uses, and open-store.ts for the store know which parts implement the ports.

import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { makeFirstToken } from '../accounts/first-token.ts';
import { ensureDevToken, excludeDevTokens, isWellKnown } from '../accounts/well-known.ts';
import { listenAddresses } from '../delivery/egress/egress.ts';
import type { Engine } from '../delivery/engine/engine.ts';
import type { RouteEntry } from '../inbound/api/api.ts';
import { isLoopback } from '../inbound/server/own-hosts.ts';
import { laneNode } from '../rules/limits/lanes.ts';
import { isForQstashClients } from '../rules/requests/qstash.ts';
import { systemWorld } from '../runtime/world.ts';
import type { Store } from '../store/ports/store.ts';
import { buildEngine, createClockControl } from './build-engine.ts';
import { buildFront, type Front } from './build-front.ts';
import { closeStore, drain } from './close-node.ts';
import type { EndReport } from './lanes.ts';
import { Lanes } from './lanes.ts';
import { createNodeBase, type NodeBase, type StartOptions } from './node-base.ts';
import { storeLocation } from './open-store.ts';
import { setAckAddress, urlOf } from './own-url.ts';
import type { Config } from './settings/config.ts';
import { withTemporaryData } from './temporary-data.ts';

export { takePrinted, VERSION } from '../shipped-files.ts';
export { type MoveProgress, type MoveReport, MoveStopped } from '../store/move.ts';
export { createLog, type Log } from '../telemetry/log.ts';
export { whyEgressRefused } from './build-engine.ts';
export type { EndReport } from './lanes.ts';
export type { StartOptions } from './node-base.ts';
export type { CheckReport } from './open-store.ts';
export {
  checkStore,
  moveIntoDatabase,
  openStoreForCommand,
  restoreStore,
  startBackup,
  storeLocation,
} from './open-store.ts';

export interface Postrider {
  readonly url: string;
  /** Null when the metrics are on the port of the API. */
  readonly metricsUrl: string | null;
  /** Where the data of the service is, as text for people. */
  readonly location: string;
  /** Whether other machines may reach the service. */
  readonly isReachableFromOutside: boolean;
  /**
   * In `dev`, its token. In `serve`, the token that this start has made, because no token had the scope admin or
   * because a store of `dev` was taken over; else null.
   */
  readonly token: string | null;
  readonly store: Store;
  /** Every route except the publishing calls. */
  readonly routes: readonly RouteEntry[];
  /** Logs an error with its stack trace, and returns the id it is logged under. */
  onFault(error: unknown): string;
  /** Whether the engine and all of its tasks wait for the clock or for work. */
  isAsleep(): boolean;
  /** Stops accepting, lets running attempts end, closes the store. A second call has no further effect. */
  close(): Promise<EndReport>;
}

export async function startPostrider(given: Config, options: StartOptions = {}): Promise<Postrider> {
  const { config, remove } = withTemporaryData(given);
  try {
    return await startNode(config, options, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

/** `onClosed` is called when `close` has ended, even if the store could not be closed in time. */
async function startNode(config: Config, options: StartOptions, onClosed: () => void): Promise<Postrider> {
  const base = await createNodeBase(config, options);
  const { engine, policy } = buildEngine(base, options.network);
  let lanes: Lanes | null = null;
  const allLaneStats = async () =>
    lanes ? lanes.facts() : [{ attemptsInFlight: engine.attemptsInFlight, metrics: base.metrics.values() }];
  const clockControl = createClockControl(base, engine);
  const front = await buildFront(base, engine, { allLaneStats, callerTimes: options.callerTimes, clockControl });
  const { bound, metricsBound, token } = await openToCallers(base, front);
  // Set before the first heartbeat, which sends the address to other nodes.
  base.about.address = `${bound.address}:${bound.port}`;
  setAckAddress(base, bound);
  policy.own = listenAddresses({ ip: bound.address, port: bound.port }, networkInterfaces());
  engine.start();
  lanes = startLanes(base, engine, front, bound);

  let closing: Promise<EndReport> | null = null;
  return {
    location: storeLocation(config),
    url: urlOf(bound),
    metricsUrl: metricsBound && `${urlOf(metricsBound)}/metrics`,
    isReachableFromOutside: !isLoopback(bound.address),
    token,
    store: base.store,
    routes: front.api.routes,
    onFault: base.onFault,
    isAsleep: () => engine.isAsleep,
    close: () => {
      closing ??= close(base, engine, front, lanes).finally(onClosed);
      return closing;
    },
  };
}

/** Handles the tokens of dev, listens, and makes the first token. */
async function openToCallers(base: NodeBase, front: Front) {
  const { config, world, store, accounts, audit, log } = base;
  const { listener, metricsListener, ownHosts } = front;
  const isDev = config.command === 'dev';
  try {
    const location = storeLocation(config);
    const takeOver = { location, isTakeOver: config.takeOverDev, now: world.clock.now() };
    const takeOverFacts = { call: 'postrider serve --take-over-dev', accountId: null, target: null };
    const exclude = () => excludeDevTokens(store, accounts, takeOver);
    const takenOver = isDev ? null : await audit.command(takeOverFacts, exclude);
    const isForQstash = isForQstashClients(config.headerPrefix);
    const devToken = isDev ? await ensureDevToken(store, accounts, location, isForQstash) : null;
    const bound = await listener.listen(config.host, config.port);
    if (ownHosts) ownHosts.boundTo = bound.address;
    const metricsBound = (await metricsListener?.listen(config.host, config.metricsPort!)) ?? null;
    // The token is made last: if a start failed after that, nobody would ever see the token.
    const first = {
      given: config.adminToken,
      file: config.adminTokenFile,
      takenOver,
      random: world.random,
      isPublic: isWellKnown,
      warn: (text: string) => log.warn({}, text),
    };
    const facts = { call: 'postrider serve', accountId: takenOver, target: 'the first admin token' };
    const makeFirst = () => audit.command(facts, () => makeFirstToken(accounts, first));
    return { bound, metricsBound, token: devToken ?? (await makeFirst()) };
  } catch (error) {
    await abandon(base, front);
    throw error;
  }
}

/** Closes everything that a failed start has opened. */
async function abandon(
  { store, openFiles, stopLoopWatch }: NodeBase,
  { listener, metricsListener }: Front,
): Promise<void> {
  stopLoopWatch();
  await listener.close();
  metricsListener?.close();
  await store.close();
  openFiles?.close();
}

/** Starts the further lanes. The first lane runs on this thread, so a single lane needs no start. */
function startLanes(base: NodeBase, engine: Engine, front: Front, bound: AddressInfo): Lanes | null {
  const { whole, world, clock, node, newId, metrics, store, log, connectLane, lanes: count, channel, time } = base;
  if (count === 1 || !connectLane) return null;
  if (!front.listener.isShared) {
    log.warn({}, 'this system does not let several threads listen on one port, so there is only one lane');
    return null;
  }
  const lanes = new Lanes({
    config: whole,
    count,
    address: { host: whole.host, port: bound.port },
    shownAs: { id: node, startedAt: world.clock.now() },
    channel,
    time,
    clock: () => clock.state,
    filesGone: base.filesGone,
    poolMemory: base.poolMemory,
    timers: systemWorld().clock,
    newNode: () => laneNode(node, newId('nod')),
    connect: connectLane,
    noteDead: async (dead) => void (await store.heartbeat(dead, 0)),
    ownFacts: () => ({ attemptsInFlight: engine.attemptsInFlight, metrics: metrics.values() }),
    log: (level, fields, text) => log[level](fields, text),
  });
  metrics.gauge('postrider_lanes', 'Threads that listen and deliver.', () => lanes.listening, 'ofProcess');
  lanes.start(() => engine.recovery.isOver);
  return lanes;
}

async function close(base: NodeBase, engine: Engine, front: Front, lanes: Lanes | null): Promise<EndReport> {
  const [left, others] = await Promise.all([drain(base, engine, front), lanes?.close() ?? []]);
  // The metrics can be read until the attempts have ended.
  front.metricsListener?.close();
  // The store is closed last, because the lanes write through it.
  const isStoreClosed = await closeStore(base);
  return {
    left: others.reduce((sum, other) => sum + other.left, left),
    isStoreClosed: isStoreClosed && others.every((other) => other.isStoreClosed),
    lanesLost: others.reduce((sum, other) => sum + other.lanesLost, 0),
  };
}
