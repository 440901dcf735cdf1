// The base of a node: its clock, its metrics, its store, and whether it may accept anything.

import { Accounts } from './accounts/accounts.ts';
import type { Config } from './config.ts';
import type { Network } from './delivery/dial.ts';
import type { NodeFacts } from './domain/acceptance.ts';
import { nodeMax } from './domain/budgets.ts';
import { idMaker, type NewId } from './domain/id.ts';
import { type RequestSizeLimits, requestSizeLimits } from './domain/request-size.ts';
import type { CallerTimes } from './http/caller-connections.ts';
import { openStore, storeFiles } from './open-store.ts';
import { Publications } from './publish/publications.ts';
import { Inbox } from './store/inbox.ts';
import { createLog, type Log, logClock, logClockOff, logGone } from './telemetry/log.ts';
import { countingStore, Metrics, messageCounters } from './telemetry/metrics.ts';
import { diskWatch } from './upkeep/disk.ts';
import { filesWatch } from './upkeep/files.ts';
import { ServiceClock } from './upkeep/service-clock.ts';
import { VERSION } from './version.ts';
import { systemWorld, type World } from './world.ts';

export interface StartOptions {
  readonly world?: World;
  /** Name look-ups and outgoing connections. Default: those of the system; tests use their own. */
  readonly network?: Network;
  /** How long callers may take. Tests use shorter times. */
  readonly callerTimes?: Partial<CallerTimes>;
  readonly log?: Log;
  /** The store is gone for good. Only ending the process is left. */
  readonly onBroken?: (error: Error) => void;
  /** Another program is about to change the store so that this one cannot serve it any more: close the node. */
  readonly onOutdated?: (why: string) => void;
}

export async function layGround(config: Config, options: StartOptions) {
  const { onBroken, onOutdated } = options;
  const machine = options.world ?? systemWorld();
  const log = options.log ?? createLog(config.logLevel);
  const clock = new ServiceClock({
    machine: machine.clock,
    usesStoreClock: options.world === undefined,
    onChange: logClock(log),
    onOff: logClockOff(log),
  });
  const world: World = { clock, random: machine.random };
  const newId = idMaker(
    () => world.clock.now(),
    (length) => world.random.bytes(length),
  );
  const node = newId('nod');

  const metrics = new Metrics();
  const messages = messageCounters(metrics);
  const sizeLimits = requestSizeLimits(config.batchMax, config.requestBytesMax);
  const inbox = createInbox(sizeLimits, metrics);
  const about = { role: config.role, version: VERSION, address: `${config.host}:${config.port}` };
  const disk = diskWatch(config.store === null ? config.data : null, config.minFreeDiskBytes);
  const store = countingStore(
    await openStore(config, { node, about, world, log, inbox, onBroken, onOutdated }),
    messages,
    disk.noteWrite,
  );
  await clock.begin(store);
  const openFiles = storeFiles(config);
  const files = filesWatch(openFiles, (gone) => logGone(log, gone));
  const service = { isServing: true };
  const facts = (): NodeFacts => ({
    isServing: service.isServing,
    role: config.role,
    areFilesGone: files.areGone(),
    isDiskLow: disk.isLow(),
    wasDiskFull: disk.wasFull(),
    isClockOff: clock.isOff,
  });
  const accounts = new Accounts(store, world, newId);
  const publications = new Publications({
    store,
    world,
    newId,
    tiers: config.tiers,
    rules: config,
    deduplicationWindowMs: config.deduplicationWindowMs,
    sizeLimits,
  });
  return {
    config,
    log,
    clock,
    world,
    newId,
    node,
    metrics,
    messages,
    about,
    disk,
    store,
    openFiles,
    files,
    service,
    facts,
    accounts,
    publications,
    onFault: faultLog(log, metrics, newId),
  };
}

/** The base of the engine and the front. */
export type Ground = Awaited<ReturnType<typeof layGround>>;

function createInbox(sizeLimits: RequestSizeLimits, metrics: Metrics): Inbox {
  // One account alone gets half. The most that one request may make always fits into that.
  const inbox = new Inbox(
    Math.max(nodeMax('inboxMessages'), 2 * sizeLimits.messagesMax),
    Math.max(nodeMax('inboxBytes'), 2 * sizeLimits.bytesMax),
  );
  metrics.pool('inboxMessages', inbox.messages);
  metrics.pool('inboxBytes', inbox.bytes);
  return inbox;
}

/** Logs an error with its stack trace, and returns the id it is logged under. */
function faultLog(log: Log, metrics: Metrics, newId: NewId): (error: unknown) => string {
  const countFault = metrics.counter(
    'postrider_faults_total',
    'Internal errors of the server that were caught and logged.',
  );
  return (error) => {
    const fault = newId('err');
    countFault();
    log.error(
      { err: error instanceof Error ? error : new Error(String(error)), fault },
      'internal error of the server',
    );
    return fault;
  };
}
