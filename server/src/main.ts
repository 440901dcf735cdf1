// The composition root: builds a node, opens it to callers and closes it again. Only this file, the build files it
// uses, and open-store.ts for the store know which parts implement the ports.

import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { admitDev, shutOutDev } from './accounts/well-known.ts';
import { buildEngine } from './build-engine.ts';
import { buildFront, type Front } from './build-front.ts';
import type { Config } from './config.ts';
import { listenAddresses } from './delivery/egress.ts';
import type { Engine } from './delivery/engine.ts';
import { isForQstashClients } from './domain/qstash.ts';
import type { RouteEntry } from './http/api.ts';
import { isLoopback } from './http/own-hosts.ts';
import { type Ground, layGround, type StartOptions } from './node-ground.ts';
import { storeLocation } from './open-store.ts';
import type { Store } from './store/store.ts';
import { systemWorld, withinMs } from './world.ts';

export { judgeEgress } from './build-engine.ts';
export type { StartOptions } from './node-ground.ts';
export {
  checkStore,
  moveIntoDatabase,
  openStoreBeside,
  restoreStore,
  startBackup,
  storeLocation,
} from './open-store.ts';
export { type MoveProgress, type MoveReport, MoveStopped } from './store/move.ts';
export type { CheckReport } from './store/sqlite/check.ts';
export { VERSION } from './version.ts';

/** How long a stopping node waits for callers that are still sending their request. */
const SENDING_MS_MAX = 5000;
/** A store that does not answer is abandoned after this time: nothing that was acknowledged depends on closing it. */
const STORE_CLOSING_MS_MAX = 3000;

export interface Postrider {
  readonly url: string;
  /** Whether other machines may reach it. */
  readonly listensBeyond: boolean;
  /** In dev always. In serve only a token just made: no token had the admin scope, or a dev store was taken over. */
  readonly token: string | null;
  readonly store: Store;
  /** Every route except the publishing calls. */
  readonly routes: readonly RouteEntry[];
  /** Logs an error with its stack trace, and returns the id it is logged under. */
  onFault(error: unknown): string;
  /** Whether the engine and all of its tasks wait for the clock or for work. */
  isAsleep(): boolean;
  /** Stops accepting, lets running attempts end, closes the store. Calling it twice is the same as once. */
  close(): Promise<Farewell>;
}

/** How a node ended. */
export interface Farewell {
  /** Attempts that ended or were cut off, but whose end could not be written to the store. */
  readonly left: number;
  readonly isStoreClosed: boolean;
}

export async function startPostrider(config: Config, options: StartOptions = {}): Promise<Postrider> {
  const ground = await layGround(config, options);
  const { engine, policy } = buildEngine(ground, options.network);
  const front = await buildFront(ground, engine, options.callerTimes);
  const { bound, token } = await openToCallers(ground, front);
  // Before the first heartbeat, which tells it to other nodes.
  ground.about.address = `${bound.address}:${bound.port}`;
  policy.own = listenAddresses({ ip: bound.address, port: bound.port }, networkInterfaces());
  engine.start();

  let closing: Promise<Farewell> | null = null;
  return {
    url: `http://${reachable(bound.address)}:${bound.port}`,
    listensBeyond: !isLoopback(bound.address),
    token,
    store: ground.store,
    routes: front.api.routes,
    onFault: ground.onFault,
    isAsleep: () => engine.isAsleep,
    close: () => {
      closing ??= close(ground, engine, front);
      return closing;
    },
  };
}

/** Handles the tokens of dev, listens, and makes the first token. A failed start leaves nothing open. */
async function openToCallers(
  { config, world, store, accounts, openFiles }: Ground,
  { listener, bodies, ownHosts }: Front,
): Promise<{ bound: AddressInfo; token: string | null }> {
  const isDev = config.command === 'dev';
  try {
    const location = storeLocation(config);
    const takeOver = { location, isTakeOver: config.takeOverDev, now: world.clock.now() };
    const takenOver = isDev ? null : await shutOutDev(store, accounts, takeOver);
    const isForQstash = isForQstashClients(config.headerPrefix);
    const devToken = isDev ? await admitDev(store, accounts, location, isForQstash) : null;
    const bound = await listener.listen(config.host, config.port);
    if (ownHosts) ownHosts.boundTo = bound.address;
    // Only now: if a start failed after the first token was made, nobody would ever see that token.
    return { bound, token: devToken ?? (await accounts.createFirst('default', takenOver)) };
  } catch (error) {
    await listener.close();
    bodies.close();
    await store.close();
    openFiles.close();
    throw error;
  }
}

async function close(
  { config, world, store, openFiles, service }: Ground,
  engine: Engine,
  { listener, streams, bodies }: Front,
): Promise<Farewell> {
  service.isServing = false;
  const cancelCutOff = world.clock.after(Math.min(SENDING_MS_MAX, config.drainMs), () => listener.cutOff());
  streams.close();
  // Runs while the last callers finish: nothing starts meanwhile.
  const accepted = listener.close();
  const [left] = await Promise.all([engine.stop(config.drainMs, accepted), accepted]);
  bodies.close();
  cancelCutOff();
  // In real time, because a database outage lasts in real time.
  let isClosed = false;
  const onLeft = () => {
    isClosed = true;
  };
  const storeClosed = store.close(onLeft).then(() => openFiles.close());
  await withinMs(systemWorld().clock, STORE_CLOSING_MS_MAX, storeClosed);
  return { left, isStoreClosed: isClosed };
}

/** An address that callers can use, for the address we listen on. */
function reachable(address: string): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1';
  return address.includes(':') ? `[${address}]` : address;
}
