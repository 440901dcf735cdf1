// The base of a node: its clock, its metrics, its store, and whether it may accept anything.

import { availableParallelism } from 'node:os';
import { Accounts } from '../accounts/accounts.ts';
import type { Network } from '../delivery/egress/dial.ts';
import type { CallerTimes } from '../inbound/server/caller-connections.ts';
import { canSharePorts } from '../inbound/server/wide-listening.ts';
import { Publications } from '../publish/publications.ts';
import { StoredRoom } from '../publish/stored-room.ts';
import type { NodeFacts } from '../rules/limits/acceptance.ts';
import { nodeMax } from '../rules/limits/budgets.ts';
import { databaseReserveBytes, reserveBytes } from '../rules/limits/disk-marks.ts';
import { laneCount } from '../rules/limits/lanes.ts';
import { type RequestSizeLimits, requestSizeLimits } from '../rules/publish/request-size.ts';
import { idMaker, type NewId } from '../rules/requests/id.ts';
import { LanePools, lanePoolBytes } from '../runtime/collections/lane-pools.ts';
import { Pool } from '../runtime/collections/pool.ts';
import { shareAmongLanes } from '../runtime/lane-part.ts';

import { LoopTurns } from '../runtime/loop-turns.ts';
import { reportBrokenFeatures } from '../runtime/node-internals/features.ts';
import { testInternals } from '../runtime/node-internals/self-tests.ts';
import { loopBusyMs, systemWorld, type World } from '../runtime/world.ts';
import { VERSION } from '../shipped-files.ts';
import { Inbox } from '../store/shared/inbox.ts';
import { createLog, type Log, logBrokenFeature, logClock, logClockOff, logGone } from '../telemetry/log.ts';
import { countingStore, Metrics, messageCounters, showLoop } from '../telemetry/metrics.ts';
import { databaseDiskWatch } from '../upkeep/database-disk.ts';
import { type DiskWatch, diskWatch } from '../upkeep/disk.ts';
import { areFilesGone, filesWatch } from '../upkeep/files.ts';
import { ManualTime } from '../upkeep/manual-time.ts';
import type { NodeClock } from '../upkeep/node-clock.ts';
import { reserveFile } from '../upkeep/reserve.ts';
import { ServiceClock } from '../upkeep/service-clock.ts';
import { type SharedTime, sharedTime } from '../upkeep/shared-time.ts';
import { type LaneData, laneConfig } from './lanes.ts';
import { type OpenedStore, openStore, storeFiles } from './open-store.ts';
import type { Config } from './settings/config.ts';

export interface StartOptions {
  readonly world?: World;
  /** Name look-ups and outgoing connections. Default: those of the system; tests use their own. */
  readonly network?: Network;
  /** How long callers may take. Tests use shorter times. */
  readonly callerTimes?: Partial<CallerTimes>;
  /** How much longer than usual a database may take to reply. Tests use a longer time. */
  readonly morePatienceMs?: number;
  readonly log?: Log;
  /** The store is broken for good. The process can only end. */
  readonly onBroken?: (error: Error) => void;
  /** What a further lane was started with. Absent on the main thread. */
  readonly lane?: LaneData;
  /** Another program is about to change the store so that this one cannot serve it any more: close the node. */
  readonly onOutdated?: (why: string) => void;
}

export async function createNodeBase(whole: Config, options: StartOptions) {
  const { onBroken, onOutdated, morePatienceMs, lane = null } = options;
  const log = options.log ?? createLog(whole.logLevel);
  const tested = testThread(whole, lane, log);
  const lanes = lane?.lanes ?? (await lanesOf(whole, log));
  if (!lane) shareAmongLanes(lanes);
  const time = lane?.time ?? new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const manualTime = hasManualClock(whole) ? new ManualTime((options.world ?? systemWorld()).clock) : null;
  const clock: NodeClock = manualTime ?? createClock(options, log, lanes === 1 ? undefined : sharedTime(time));
  const world: World = { clock, random: (options.world ?? systemWorld()).random };
  const newId = idMaker(
    () => world.clock.now(),
    (length, into) => world.random.bytes(length, into),
  );
  const node = lane?.node ?? newId('nod');
  const config = lanes === 1 ? whole : laneConfig(whole, lanes, lane?.lane ?? 0);
  const channel = lane?.channel ?? node;

  const metrics = new Metrics();
  const turns = createTurns(config, metrics);
  const messages = messageCounters(metrics);
  const sizeLimits = requestSizeLimits(config.batchMax, config.requestBytesMax);
  const poolMemory = lane?.poolMemory ?? new SharedArrayBuffer(lanePoolBytes(lanes));
  const lanePools = new LanePools(poolMemory, lanes, lane?.lane ?? 0);
  const inbox = createInbox(sizeLimits, lanePools, metrics, lane === null);
  const about = { role: config.role, version: VERSION, address: `${config.host}:${config.port}` };
  const nodes = { node, about, channel: lanes === 1 ? null : channel, lane };
  const opened = await openStore(config, { ...nodes, world, log, inbox, onBroken, onOutdated, morePatienceMs });
  const disk = watchDisk(config, lane === null, opened, log, world.clock);
  const store = countingStore(opened.store, messages, disk.noteWrite);
  await Promise.all([clock.begin(store), tested]);
  const { filesGone, openFiles, files } = watchFiles(config, lane, log);
  const service = { isServing: true };
  const facts = () => nodeFacts(service, config, filesGone, disk, clock);
  const accounts = new Accounts(store, world, newId);
  const room = new StoredRoom({ store, tiers: config.tiers, clock: world.clock, mark: disk.mark });
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
    /** Null unless the service is `dev --clock manual`. */
    manualTime,
    world,
    newId,
    node,
    lanes,
    channel,
    time,
    isFirstLane: lane === null,
    connectLane: opened.connectLane,
    /** The settings of all lanes together. `config` is the part of this lane. */
    whole,
    metrics,
    turns,
    messages,
    about,
    disk,
    room,
    store,
    openFiles,
    files,
    filesGone,
    poolMemory,
    lanePools,
    service,
    facts,
    accounts,
    publications,
    onFault: faultLog(log, metrics, newId),
  };
}

/** Runs beside the opening of the store. Every lane tests its own thread; only the first lane logs. */
function testThread({ store }: Config, lane: LaneData | null, log: Log): Promise<void> {
  if (!lane) reportBrokenFeatures(logBrokenFeature(log));
  return testInternals(store !== null);
}

function createTurns({ metricsToken, metricsPort }: Config, metrics: Metrics): LoopTurns {
  const turns = new LoopTurns(systemWorld().clock, loopBusyMs);
  showLoop(metrics, turns, metricsToken !== null || metricsPort !== null);
  return turns;
}

function nodeFacts(
  { isServing }: { readonly isServing: boolean },
  { role }: Config,
  filesGone: SharedArrayBuffer,
  disk: DiskWatch,
  clock: NodeClock,
): NodeFacts {
  return {
    isServing,
    role,
    areFilesGone: areFilesGone(filesGone),
    diskMark: disk.mark(),
    wasDiskFull: disk.wasFull(),
    isClockOff: clock.isOff,
  };
}

/** In `dev` the data has no value, and no disk space is reserved for it. */
function watchDisk(
  config: Config,
  isFirstLane: boolean,
  { store, emptyLog, reserve: inDatabase }: Pick<OpenedStore, 'store' | 'emptyLog' | 'reserve'>,
  log: Log,
  clock: World['clock'],
): DiskWatch {
  const { command, data, minFreeDiskBytes: freeBytesMin } = config;
  const onChange = (isThere: boolean) => {
    if (isThere) log.debug({}, 'the reserve of disk space was created');
    else log.error({}, 'the disk is full: the reserve of disk space was released, so that deliveries can end');
  };
  const hasReserve = command === 'serve' && freeBytesMin > 0;
  if (hasReserve && inDatabase) {
    const onRefused = (err: unknown) =>
      log.warn(
        { err },
        'the database does not let this node create a reserve of disk space: on a full disk no delivery can end',
      );
    return databaseDiskWatch({
      reserve: inDatabase,
      bytes: databaseReserveBytes(freeBytesMin),
      clock,
      onChange,
      onRefused,
    });
  }
  const directory = config.store === null ? data : null;
  const reserve =
    hasReserve && directory !== null ? reserveFile(directory, reserveBytes(freeBytesMin), isFirstLane, onChange) : null;
  return diskWatch({ directory, freeBytesMin, clock, reserve, freeInside: store.freeInside, emptyLog });
}

/** Watches the store's files, once for all lanes. */
function watchFiles(config: Config, lane: LaneData | null, log: Log) {
  const filesGone = lane?.filesGone ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const openFiles = lane ? null : storeFiles(config);
  const files = openFiles && filesWatch(openFiles, filesGone, (gone) => logGone(log, gone));
  return { filesGone, openFiles, files };
}

/** The command is checked too: whatever the settings say, `serve` never has a clock that callers move. */
function hasManualClock({ command, clock }: Config): boolean {
  return command === 'dev' && clock === 'manual';
}

/** All lanes of a process use one clock. Only the first lane logs its changes. */
function createClock({ world, lane }: StartOptions, log: Log, shared: SharedTime | undefined): ServiceClock {
  return new ServiceClock({
    machine: (world ?? systemWorld()).clock,
    shared,
    joins: lane?.clock ?? undefined,
    usesStoreClock: world === undefined,
    onChange: lane ? () => {} : logClock(log),
    onOff: lane ? () => {} : logClockOff(log),
  });
}

/**
 * A node on a database has one lane, because more nodes do what more lanes would. `dev` has one lane, because the sink
 * is on the main thread.
 */
async function lanesOf(config: Config, log: Log): Promise<number> {
  const { command, store, concurrency, hostConcurrency, accountConcurrency } = config;
  if (command === 'dev' || store !== null) return 1;
  const limits = [concurrency, hostConcurrency, accountConcurrency];
  const count = laneCount(config.lanes, availableParallelism(), limits);
  // Checked before the limits are divided: a single lane must have all of them.
  if (count === 1 || (await canSharePorts())) return count;
  log.warn({}, 'this system does not let several threads listen on one port, so there is only one lane');
  return 1;
}

/** The base of the engine and the front. */
export type NodeBase = Awaited<ReturnType<typeof createNodeBase>>;

function createInbox(
  sizeLimits: RequestSizeLimits,
  lanePools: LanePools,
  metrics: Metrics,
  isFirstLane: boolean,
): Inbox {
  // One account alone gets half. The most messages that one request may make always fit into that.
  const messagesMax = Math.max(nodeMax('inboxMessages'), 2 * sizeLimits.messagesMax);
  const bytesMax = Math.max(nodeMax('inboxBytes'), 2 * sizeLimits.bytesMax);
  const inbox = new Inbox(
    new Pool(messagesMax, lanePools.elsewhere('inboxMessages')),
    new Pool(bytesMax, lanePools.elsewhere('inboxBytes')),
  );
  metrics.pool('inboxMessages', inbox.messages, isFirstLane);
  metrics.pool('inboxBytes', inbox.bytes, isFirstLane);
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
