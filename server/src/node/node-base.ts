// The base of a node: its clock, its metrics, its store, and whether it may accept anything.

import { availableParallelism } from 'node:os';
import { Accounts } from '../accounts/accounts.ts';
import { AckSecrets } from '../acks/ack-secret.ts';
import { Acks } from '../acks/acks.ts';
import { Audit } from '../audit/audit.ts';
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
import { setLanesOfNode } from '../runtime/lane-part.ts';

import { LoopTurns } from '../runtime/loop-turns.ts';
import { reportBrokenFeatures } from '../runtime/node-internals/features.ts';
import { testInternals } from '../runtime/node-internals/self-tests.ts';
import { loopBusyMs, systemWorld, type World, watchLoopDelay } from '../runtime/world.ts';
import { VERSION } from '../shipped-files.ts';
import type { Store } from '../store/ports/store.ts';
import { Inbox } from '../store/shared/inbox.ts';
import { registerBacklogMetrics } from '../telemetry/backlog-metrics.ts';
import { createLog, type Log, logBrokenFeature, logClockOff, logClockTrust, logFilesGone } from '../telemetry/log.ts';
import { registerLoopDelay, registerLoopMetrics } from '../telemetry/loop-metrics.ts';
import { ackCounters, countingStore, type MessageCounters, messageCounters } from '../telemetry/message-metrics.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { commitMetrics } from '../telemetry/store-metrics.ts';
import { BacklogCounter } from '../upkeep/backlog.ts';
import { databaseDiskWatch } from '../upkeep/database-disk.ts';
import { type DiskWatch, diskWatch } from '../upkeep/disk.ts';
import { filesGoneReader, filesWatch } from '../upkeep/files.ts';
import { HostHealthMeter } from '../upkeep/host-health.ts';
import { ManualTime } from '../upkeep/manual-time.ts';
import type { NodeClock } from '../upkeep/node-clock.ts';
import { HostParking, type ParkingNotice } from '../upkeep/parking.ts';
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
  /** How much longer than usual a database may take to reply. Only tests set this. */
  readonly morePatienceMs?: number;
  readonly log?: Log;
  /** Called when the store is broken for good: the process can only end. */
  readonly onBroken?: (error: Error) => void;
  /** What a further lane was started with. Absent on the main thread. */
  readonly lane?: LaneData;
  /** Called when another program is about to change the store so that this one cannot serve it: close the node. */
  readonly onOutdated?: (why: string) => void;
}

export async function createNodeBase(whole: Config, options: StartOptions) {
  const { lane = null } = options;
  const log = options.log ?? createLog(whole.logLevel);
  const tested = testThread(whole, lane, log);
  const lanes = lane?.lanes ?? (await lanesOf(whole, log));
  if (!lane) setLanesOfNode(lanes);
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

  const metrics = new Metrics();
  const turns = createTurns(config, metrics);
  const messages = messageCounters(metrics);
  const sizeLimits = requestSizeLimits(config.batchMax, config.requestBytesMax);
  const poolMemory = lane?.poolMemory ?? new SharedArrayBuffer(lanePoolBytes(lanes));
  const lanePools = new LanePools(poolMemory, lanes, lane?.lane ?? 0);
  const inbox = createInbox(sizeLimits, lanePools, metrics, lane === null);
  const about = { role: config.role, version: VERSION, address: `${config.host}:${config.port}` };
  const nodes = { node, about, channel: lanes === 1 ? null : (lane?.channel ?? node), lane };
  const own = { world, log, inbox, onCommit: commitMetrics(metrics) };
  const opened = await openStore(config, { ...options, ...nodes, ...own });
  const disk = watchDisk(config, lane === null, opened, log, world.clock);
  const store = countingStore(opened.store, messages, disk.noteWrite);
  await Promise.all([clock.begin(store), tested]);
  const { filesGone, areFilesGone, openFiles, files } = watchFiles(config, lane, log);
  const service = { isServing: true };
  const facts = () => nodeFacts(service, config, areFilesGone, disk, clock);
  const accounts = new Accounts(store, world, newId);
  const room = new StoredRoom({ store, tiers: config.tiers, clock: world.clock, mark: disk.mark });
  const onFault = faultLog(log, metrics, newId);
  const { tiers, deduplicationWindowMs } = config;
  const made = { store, world, newId, tiers };
  const publications = new Publications({ ...made, rules: config, deduplicationWindowMs, sizeLimits });
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
    channel: lane?.channel ?? node,
    time,
    isFirstLane: lane === null,
    connectLane: opened.connectLane,
    /** The settings with the limits of all lanes together. `config` has this lane's part of the limits. */
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
    audit: createAudit(config, log, store, metrics, world, newId),
    ...watchStore(store, metrics, { config, node, world, isByHand: manualTime !== null, isFirstLane: lane === null }),
    publications,
    acks: await createAcks(store, metrics, messages, { config, world, newId, onFault }),
    onFault,
    stopLoopWatch: watchLoopDelay(registerLoopDelay(metrics, loopBusyMs)),
  };
}

/** The first lane counts for all lanes. */
function countBacklog(store: Store, metrics: Metrics, config: Config, { clock }: World): BacklogCounter {
  const backlog = new BacklogCounter(store, systemWorld().clock);
  registerBacklogMetrics(metrics, { read: () => backlog.read(), now: () => clock.now() }, areMetricsHidden(config));
  return backlog;
}

/** Whether not everybody who reaches the service can read the metrics. */
function areMetricsHidden({ metricsToken, metricsPort }: Config): boolean {
  return metricsToken !== null || metricsPort !== null;
}

interface WatchOptions {
  readonly config: Config;
  readonly node: string;
  readonly world: World;
  readonly isByHand: boolean;
  readonly isFirstLane: boolean;
}

function watchStore(store: Store, metrics: Metrics, options: WatchOptions) {
  const { config, world, isFirstLane } = options;
  return {
    backlog: isFirstLane ? countBacklog(store, metrics, config, world) : null,
    hosts: measureHosts(store, metrics),
    parking: parkHosts(store, metrics, options),
  };
}

async function createAcks(
  store: Store,
  metrics: Metrics,
  counters: MessageCounters,
  {
    config,
    world,
    newId,
    onFault,
  }: { config: Config; world: World; newId: NewId; onFault: (error: unknown) => string },
): Promise<Acks> {
  const made = Buffer.from(world.random.bytes(32, new Uint8Array(32))).toString('base64url');
  const { tiers, headerPrefix } = config;
  return new Acks({
    store,
    tiers,
    headerPrefix,
    newId,
    now: () => world.clock.now(),
    secrets: new AckSecrets(await store.serviceKey('acks', made)),
    ...ackCounters(metrics, counters),
    onFault,
  });
}

function measureHosts(store: Store, metrics: Metrics): HostHealthMeter {
  const hosts = new HostHealthMeter(store);
  metrics.counted(
    'postrider_host_attempts_unmeasured_total',
    'Attempts that the health of hosts leaves out, because their accounts have too many hosts.',
    () => hosts.unmeasured,
  );
  return hosts;
}

function parkHosts(store: Store, metrics: Metrics, { config, node, world, isByHand }: WatchOptions): HostParking {
  const { clock } = world;
  const isSending = config.role !== 'api';
  const parking = new HostParking({
    store,
    node,
    isSending,
    now: () => clock.now(),
    isByHand,
    observe: countParking(metrics),
  });
  metrics.gauge(
    'postrider_parked_hosts',
    'Hosts that are parked, by account and host: messages that park wait until they are back.',
    () => parking.counts.parked,
  );
  metrics.gauge(
    'postrider_opening_hosts',
    'Hosts that were parked and open again in steps, by account and host.',
    () => parking.counts.opening,
  );
  return parking;
}

function countParking(metrics: Metrics): (notice: ParkingNotice) => void {
  const probes = metrics.counter(
    'postrider_probes_total',
    'Attempts to parked hosts that find out whether the host is back, by result.',
  );
  const changes = metrics.counter(
    'postrider_parking_changes_total',
    'Times that the attempts of this node have parked a host, or resumed it.',
  );
  const counts: Readonly<Record<ParkingNotice, () => void>> = {
    probeAnswered: () => probes('result="answered"'),
    probeFailed: () => probes('result="failed"'),
    parked: () => changes('to="parked"'),
    resumed: () => changes('to="resumed"'),
  };
  return (notice) => counts[notice]();
}

/** The self-tests run while the store is opened. Every lane tests its own thread; only the first lane logs. */
function testThread({ store }: Config, lane: LaneData | null, log: Log): Promise<void> {
  if (!lane) reportBrokenFeatures(logBrokenFeature(log));
  return testInternals(store !== null);
}

function createTurns(config: Config, metrics: Metrics): LoopTurns {
  const turns = new LoopTurns(systemWorld().clock, loopBusyMs);
  registerLoopMetrics(metrics, turns, areMetricsHidden(config));
  return turns;
}

function nodeFacts(
  { isServing }: { readonly isServing: boolean },
  { role }: Config,
  areFilesGone: () => boolean,
  disk: DiskWatch,
  clock: NodeClock,
): NodeFacts {
  return {
    isServing,
    role,
    areFilesGone: areFilesGone(),
    diskMark: disk.mark(),
    wasDiskFull: disk.wasFull(),
    isClockOff: clock.isOff,
  };
}

/** Watches the free disk space. In `dev` the data has no value, so no disk space is reserved for it. */
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
        'this node may not create a reserve of disk space in the database: when its disk is full, no delivery can end',
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
  return diskWatch({ directory, freeBytesMin, clock, reserve, freeBytesInside: store.freeBytesInside, emptyLog });
}

/** The first lane watches the store's files, for all lanes. */
function watchFiles(config: Config, lane: LaneData | null, log: Log) {
  const filesGone = lane?.filesGone ?? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const openFiles = lane ? null : storeFiles(config);
  const files = openFiles && filesWatch(openFiles, filesGone, (gone) => logFilesGone(log, gone));
  return { filesGone, areFilesGone: filesGoneReader(filesGone), openFiles, files };
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
    onChange: lane ? () => {} : logClockTrust(log),
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
  // Checked before the limits are divided among lanes: a single lane must have the whole limits.
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
  // One account alone gets half of a pool. So each pool has at least twice the most that one request may make.
  const messagesMax = Math.max(nodeMax('inboxMessages'), 2 * sizeLimits.messagesMax);
  const bytesMax = Math.max(nodeMax('inboxBytes'), 2 * sizeLimits.bytesMax);
  const inbox = new Inbox(
    new Pool(messagesMax, lanePools.heldByOtherLanes('inboxMessages')),
    new Pool(bytesMax, lanePools.heldByOtherLanes('inboxBytes')),
  );
  metrics.pool('inboxMessages', inbox.messages, isFirstLane);
  metrics.pool('inboxBytes', inbox.bytes, isFirstLane);
  return inbox;
}

function createAudit(
  { auditDays }: Config,
  log: Log,
  store: Store,
  metrics: Metrics,
  { clock }: World,
  newId: NewId,
): Audit {
  const countLost = metrics.counter(
    'postrider_audit_rows_lost_total',
    'Rows of the audit that could not be written. The log has their lines.',
  );
  return new Audit({
    store,
    now: () => clock.now(),
    newId,
    isKept: auditDays > 0,
    log,
    onLost: (rows) => countLost('', rows),
  });
}

/** Logs an error with its stack trace, and returns the id it is logged under. `request`: the id of its request. */
function faultLog(log: Log, metrics: Metrics, newId: NewId): (error: unknown, request?: string) => string {
  const countFault = metrics.counter(
    'postrider_faults_total',
    'Internal errors of the server that were caught and logged.',
  );
  return (error, request) => {
    const fault = newId('err');
    countFault();
    log.error(
      { err: error instanceof Error ? error : new Error(String(error)), fault, request },
      'internal error of the server',
    );
    return fault;
  };
}
