// Builds everything that faces callers: the API with all routes, the publish handler, the console and the listener.

import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { DEV_TOKEN } from '../accounts/well-known.ts';
import type { Engine } from '../delivery/engine/engine.ts';
import { Api, type RouteContext } from '../inbound/api/api.ts';
import { CrossOrigin } from '../inbound/api/cross-origin.ts';
import { ApiError } from '../inbound/api/errors.ts';
import { MetricsAccess } from '../inbound/api/metrics-access.ts';
import { ReadGate } from '../inbound/api/read-gate.ts';
import { readinessOf } from '../inbound/api/readiness.ts';
import { accountRoutes } from '../inbound/api/routes/account.ts';
import { ackRoutes } from '../inbound/api/routes/acks.ts';
import { adminRoutes } from '../inbound/api/routes/admin.ts';
import { alertRoutes } from '../inbound/api/routes/alerts.ts';
import { auditRoutes } from '../inbound/api/routes/audit.ts';
import { changeRoutes } from '../inbound/api/routes/change-message.ts';
import { deadLetterRoutes } from '../inbound/api/routes/dead-letters.ts';
import { clockRoutes, type MovableClock } from '../inbound/api/routes/dev/clock.ts';
import { sinkRoutes } from '../inbound/api/routes/dev/sink.ts';
import { docsRoutes } from '../inbound/api/routes/docs.ts';
import { eventRoutes } from '../inbound/api/routes/events.ts';
import { flowControlRoutes } from '../inbound/api/routes/flow-control.ts';
import { healthRoutes, metricsRoutes } from '../inbound/api/routes/health.ts';
import { hostRoutes } from '../inbound/api/routes/hosts.ts';
import { jobRoutes } from '../inbound/api/routes/jobs.ts';
import { messageRoutes } from '../inbound/api/routes/messages.ts';
import { queueRoutes } from '../inbound/api/routes/queues.ts';
import { rootRoutes } from '../inbound/api/routes/root.ts';
import { scheduleRoutes } from '../inbound/api/routes/schedules.ts';
import { statisticsRoutes } from '../inbound/api/routes/statistics.ts';
import { topicRoutes } from '../inbound/api/routes/topics.ts';
import { Console } from '../inbound/console/console.ts';
import { Sink } from '../inbound/console/sink.ts';
import { AccessWatch } from '../inbound/live/access-watch.ts';
import { EventStreams } from '../inbound/live/event-streams.ts';
import { BodyReader } from '../inbound/publish/body.ts';
import { PublishHandler } from '../inbound/publish/publish-handler.ts';
import { ScheduleMaker } from '../inbound/publish/schedule-maker.ts';
import { CallerAddresses } from '../inbound/server/caller.ts';
import { CALLER_TIMES, CallerConnections, type CallerTimes } from '../inbound/server/caller-connections.ts';
import { createListener } from '../inbound/server/listener.ts';
import { MetricsListener } from '../inbound/server/metrics-listener.ts';
import { OwnHosts } from '../inbound/server/own-hosts.ts';
import { RequestsInProgress } from '../inbound/server/requests.ts';
import type { StoredRoom } from '../publish/stored-room.ts';
import { whyNothingIsAccepted } from '../rules/limits/acceptance.ts';
import { nodeMax } from '../rules/limits/budgets.ts';
import { isForQstashClients } from '../rules/requests/qstash.ts';
import { requestIdMaker } from '../rules/requests/request-id.ts';
import { Pool } from '../runtime/collections/pool.ts';
import { systemWorld } from '../runtime/world.ts';
import { shippedFiles, VERSION } from '../shipped-files.ts';
import type { Store } from '../store/ports/store.ts';
import { runForCaller } from '../store/turns/current-caller.ts';
import { storeForApiCalls } from '../store/turns/in-turn.ts';
import { logMisspeltSetting } from '../telemetry/log.ts';
import { Metrics, metricsText, registerClockMetrics } from '../telemetry/metrics.ts';
import { requestCounter } from '../telemetry/request-metrics.ts';
import type { DiskWatch } from '../upkeep/disk.ts';
import type { LaneStats } from './lanes.ts';
import type { NodeBase } from './node-base.ts';

const ROUTES = [
  healthRoutes,
  messageRoutes,
  changeRoutes,
  queueRoutes,
  topicRoutes,
  scheduleRoutes,
  deadLetterRoutes,
  flowControlRoutes,
  jobRoutes,
  statisticsRoutes,
  accountRoutes,
  adminRoutes,
  auditRoutes,
];

export interface FrontOptions {
  /** The statistics of all lanes of this process. */
  readonly allLaneStats: () => Promise<readonly LaneStats[]>;
  readonly callerTimes?: Partial<CallerTimes> | undefined;
  /** Moves a manual clock. Null for every other clock. */
  readonly clockControl?: MovableClock | null;
}

export async function buildFront(
  base: NodeBase,
  engine: Engine,
  { allLaneStats, callerTimes, clockControl = null }: FrontOptions,
) {
  const { config, world, metrics, onFault } = base;
  const { headerPrefix } = config;
  const isDev = config.command === 'dev';
  const times = { ...CALLER_TIMES, ...callerTimes };
  const { clock } = systemWorld();
  const callers = new CallerAddresses(config.trustedProxy);
  const hasProxies = config.trustedProxy.length > 0;
  const connections = new CallerConnections(clock, times, {
    ipOf: hasProxies ? (request) => callers.ipOf(request) : null,
  });
  metrics.pool('connections', connections);
  metrics.pool('unknownCallers', connections.unknown);
  const context = createContext(base, allLaneStats, connections, callers);
  const api = new Api(context);
  const consoleFiles = shippedFiles('console');
  const streams = addRoutes(api, context, base);
  const hasConsole = consoleFiles.size > 0;
  const hasMetrics = config.metricsPort === null;
  rootRoutes(api, { version: VERSION, headerPrefix }, { hasConsole, hasMetrics });
  docsRoutes(api, VERSION, { headerPrefix, token: isDev ? DEV_TOKEN : null, hasConsole });
  showNode(base, engine);
  const access = new MetricsAccess(config.metricsToken);
  const readMetrics = async () => {
    const [why, lanes] = await Promise.all([context.whyNotReady(), allLaneStats()]);
    return metricsText(lanes.map((lane) => lane.metrics)) + metricsText([readyMetric(why === null).values()]);
  };
  if (hasMetrics) metricsRoutes(api, access, readMetrics);
  const sink = isDev ? new Sink(world.clock, headerPrefix) : null;
  if (sink) sinkRoutes(api, sink);
  if (isDev) clockRoutes(api, context, clockControl);
  const hosts = { host: config.host, machine: hostname(), allowed: config.allowHost };
  const ownHosts = isDev ? new OwnHosts(hosts) : null;
  const ownerOf = ({ socket }: IncomingMessage) => connections.of(socket)?.owner.key ?? '';
  const listener = await createListener({
    connections,
    turns: base.turns,
    clock,
    times,
    publishing: createPublishHandler(context, base),
    api,
    webConsole: new Console(context, ownerOf, consoleFiles),
    sink,
    ownHosts,
    crossOrigin: config.allowOrigin.length > 0 ? new CrossOrigin(config.allowOrigin, headerPrefix) : null,
    isForQstashClients: context.isForQstashClients,
    reader: config.httpReader,
    newRequestId: requestIdMaker(`${base.node.slice(-10).toLowerCase()}-`, base.world.random.bytes(8)),
    onFault,
  });
  // Only the first lane opens this listener: it has the statistics of all lanes.
  const metricsListener = hasMetrics ? null : new MetricsListener({ read: readMetrics, access, ownHosts, onFault });
  return { api, listener, metricsListener, streams, ownHosts };
}

export type Front = Awaited<ReturnType<typeof buildFront>>;

function createContext(
  base: NodeBase,
  allLaneStats: FrontOptions['allLaneStats'],
  connections: CallerConnections,
  callers: CallerAddresses,
): RouteContext<Store> {
  const { config, world, newId, metrics, store, accounts, publications, room, facts, service, onFault } = base;
  const { headerPrefix, tiers } = config;
  const uploadBytesMax = Math.max(nodeMax('uploads'), 2 * config.requestBytesMax);
  const uploads = new Pool(uploadBytesMax, base.lanePools.heldByOtherLanes('uploads'));
  metrics.pool('uploads', uploads, base.isFirstLane);
  const bodies = new BodyReader(uploads);
  const gate = new ReadGate(systemWorld().clock);
  const requests = new RequestsInProgress(connections);
  metrics.pool('requests', requests.pool);
  metrics.pool('reads', gate.reads);
  metrics.pool('answerBytes', gate.answers);
  return {
    requests,
    store: storeForApiCalls(store),
    accounts,
    world,
    newId,
    tiers,
    publications,
    room,
    bodies,
    requestBytesMax: config.requestBytesMax,
    rules: config,
    strictSettings: config.strictSettings,
    isForQstashClients: isForQstashClients(headerPrefix),
    service: { version: VERSION, headerPrefix, isDev: config.command === 'dev' },
    concurrency: {
      max: base.whole.concurrency,
      inFlight: async () => (await allLaneStats()).reduce((sum, { attemptsInFlight }) => sum + attemptsInFlight, 0),
    },
    facts,
    whyNotReady: readinessOf(store, facts),
    refusal: () => {
      const why = whyNothingIsAccepted(facts());
      return why && new ApiError(why.code, why.message);
    },
    isServing: () => service.isServing,
    onFault,
    audit: base.audit,
    callers,
    gate,
    runForCaller,
    turns: base.turns,
    countRequest: requestCounter(metrics),
  };
}

function addRoutes(
  api: Api,
  context: RouteContext<Store>,
  { config, world, metrics, store, accounts, hosts, parking, acks }: NodeBase,
): EventStreams {
  const streams = new EventStreams(store, world.clock);
  metrics.pool('streams', streams.pool);
  for (const routes of ROUTES) routes(api, context);
  // By default, an alert about the disk begins before publishing stops, so that there is time to react.
  const freeBytes = config.store === null ? Math.max(1, 2 * config.minFreeDiskBytes) : null;
  alertRoutes(api, context, { freeBytes });
  hostRoutes(api, context, hosts, parking);
  ackRoutes(api, acks);
  eventRoutes(api, context, streams, new AccessWatch(accounts, world.clock));
  return streams;
}

function createPublishHandler(context: RouteContext<Store>, { config, log }: NodeBase): PublishHandler {
  const { headerPrefix } = config;
  return new PublishHandler({
    ...context,
    schedules: new ScheduleMaker({ ...context, headerPrefix }),
    headerPrefix,
    batchMax: config.batchMax,
    onMisspelt: logMisspeltSetting(log),
  });
}

/** This metric is not registered with the others, because it must query the store. */
function readyMetric(isReady: boolean): Metrics {
  const metrics = new Metrics();
  metrics.gauge('postrider_ready', '1 while /readyz returns 200, else 0.', () => (isReady ? 1 : 0));
  return metrics;
}

function showStored(metrics: Metrics, room: StoredRoom, disk: DiskWatch | null): void {
  const stored = (name: string, help: string, read: () => number) => metrics.gauge(name, help, read, 'ofProcess');
  stored('postrider_stored_bytes', 'Bytes that all accounts store.', () => room.all.bytes);
  stored('postrider_stored_bytes_largest', 'Bytes that the largest account stores.', () => room.all.largest);
  stored('postrider_stored_accounts', 'Accounts that store something.', () => room.all.accounts);
  if (!disk) return;
  const help = 'Bytes that can still be written: free on the disk of the data, and free inside the file of the store.';
  stored('postrider_free_bytes', help, () => disk.freeBytes() ?? 0);
}

/** Registers the metrics of the node's current state. */
function showNode({ metrics, clock, room, disk, config }: NodeBase, engine: Engine): void {
  metrics.gauge('postrider_attempts_in_flight', 'Attempts in flight on this node.', () => engine.attemptsInFlight);
  metrics.gauge(
    'postrider_messages_held',
    'Messages of all accounts that are held, because they may have crashed the server. A person must release or cancel them. Counted every 5 seconds.',
    () => engine.recovery.held,
    'ofProcess',
  );
  registerClockMetrics(metrics, clock);
  showStored(metrics, room, config.store === null ? disk : null);
  const residentBytes = () => process.memoryUsage.rss();
  metrics.gauge('process_resident_memory_bytes', 'Memory of the process.', residentBytes, 'ofProcess');
}
