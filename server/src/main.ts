// The composition root: builds a node, opens it to callers and closes it again. Which parts stand behind the ports is known here, in
// the files that it builds with, and in open-store.ts, which knows the store.

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
import { storePlace } from './open-store.ts';
import type { Store } from './store/store.ts';
import { systemWorld, withinMs } from './world.ts';

export { type StartOptions, VERSION } from './node-ground.ts';
export { checkStore, migrateStore, openStoreBeside, startBackup, storePlace } from './open-store.ts';
export { type MoveProgress, type MoveReport, MoveStopped } from './store/move.ts';
export type { CheckReport } from './store/sqlite/check.ts';

/** How long a stopping node waits for callers who are still sending their request. */
const SENDING_MS_MAX = 5000;
/** A store that does not answer is left as it is: nothing that was acknowledged depends on it. */
const STORE_CLOSING_MS_MAX = 3000;

export interface Postrider {
  readonly url: string;
  /** Whether other machines may reach it. */
  readonly listensBeyond: boolean;
  /** In dev always; in serve only when the store was empty and it was made just now. */
  readonly token: string | null;
  readonly store: Store;
  /** Everything that can be called, but for the publishing calls. */
  readonly routes: readonly RouteEntry[];
  /** Logs a fault with its trace, and answers the id it is logged under. */
  onFault(error: unknown): string;
  /** Whether the engine waits for the clock or for work, with all of its tasks. */
  isAsleep(): boolean;
  /** Stops accepting, lets running attempts end, closes the store. Calling it twice is the same as once. */
  close(): Promise<Farewell>;
}

/** How a node ended. */
export interface Farewell {
  /** Attempts that ended or were cut off, of which the store could not be told. */
  readonly left: number;
  readonly isStoreClosed: boolean;
}

export async function startPostrider(config: Config, options: StartOptions = {}): Promise<Postrider> {
  const ground = await layGround(config, options);
  const { engine, policy } = buildEngine(ground, options.network);
  const front = await buildFront(ground, engine, options.callerTimes);
  const { bound, token } = await openToCallers(ground, front);
  // Before the first sign of life, which says it to others.
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

/** Sees to the tokens of dev, listens, and makes the first token. A start that fails leaves nothing open. */
async function openToCallers(
  { config, world, store, accounts, openFiles }: Ground,
  { listener, bodies, ownHosts }: Front,
): Promise<{ bound: AddressInfo; token: string | null }> {
  const isDev = config.command === 'dev';
  try {
    const place = storePlace(config);
    const takeOver = { place, isTakeOver: config.takeOverDev, now: world.clock.now() };
    const takenOver = isDev ? null : await shutOutDev(store, accounts, takeOver);
    const isForQstash = isForQstashClients(config.headerPrefix);
    const devToken = isDev ? await admitDev(store, accounts, place, isForQstash) : null;
    const bound = await listener.listen(config.host, config.port);
    if (ownHosts) ownHosts.boundTo = bound.address;
    // Only now: made before a start that fails, the first token would never be shown to anybody.
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
  // Beside the last callers: nothing starts any more while they are waited for.
  const accepted = listener.close();
  const [left] = await Promise.all([engine.stop(config.drainMs, accepted), accepted]);
  bodies.close();
  cancelCutOff();
  // In real time: a database that is away is away in real time.
  let isClosed = false;
  const onLeft = () => {
    isClosed = true;
  };
  const storeClosed = store.close(onLeft).then(() => openFiles.close());
  await withinMs(systemWorld().clock, STORE_CLOSING_MS_MAX, storeClosed);
  return { left, isStoreClosed: isClosed };
}

/** An address to call, for one that is listened on. */
function reachable(address: string): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1';
  return address.includes(':') ? `[${address}]` : address;
}
