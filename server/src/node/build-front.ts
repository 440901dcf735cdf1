// Builds everything that faces callers: the API with all routes, the publish handler, the console and the listener.

import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { DEV_TOKEN } from './accounts/well-known.ts';
import type { Engine } from './delivery/engine.ts';
import { whyNothingIsAccepted } from './domain/acceptance.ts';
import { nodeMax } from './domain/budgets.ts';
import { Pool } from './domain/pool.ts';
import { isForQstashClients } from './domain/qstash.ts';
import { AccessWatch } from './http/access-watch.ts';
import { Api, type RouteContext } from './http/api.ts';
import { BodyReader } from './http/body.ts';
import { Callers } from './http/caller.ts';
import { CALLER_TIMES, CallerConnections, type CallerTimes } from './http/caller-connections.ts';
import { Console } from './http/console.ts';
import { CrossOrigin } from './http/cross-origin.ts';
import { ApiError } from './http/errors.ts';
import { EventStreams } from './http/event-streams.ts';
import { createListener } from './http/listener.ts';
import { MetricsAccess } from './http/metrics-access.ts';
import { MetricsListener } from './http/metrics-listener.ts';
import { OwnHosts } from './http/own-hosts.ts';
import { PublishHandler } from './http/publish-handler.ts';
import { ReadGate } from './http/read-gate.ts';
import { readinessOf } from './http/readiness.ts';
import { Requests } from './http/requests.ts';
import { accountRoutes } from './http/routes/account.ts';
import { adminRoutes } from './http/routes/admin.ts';
import { alertRoutes } from './http/routes/alerts.ts';
import { clockRoutes, type SteeredClock } from './http/routes/clock.ts';
import { deadLetterRoutes } from './http/routes/dead-letters.ts';
import { docsRoutes } from './http/routes/docs.ts';
import { eventRoutes } from './http/routes/events.ts';
import { flowControlRoutes } from './http/routes/flow-control.ts';
import { healthRoutes } from './http/routes/health.ts';
import { jobRoutes } from './http/routes/jobs.ts';
import { messageRoutes } from './http/routes/messages.ts';
import { metricsRoutes } from './http/routes/metrics.ts';
import { queueRoutes } from './http/routes/queues.ts';
import { rootRoutes } from './http/routes/root.ts';
import { scheduleRoutes } from './http/routes/schedules.ts';
import { sinkRoutes } from './http/routes/sink.ts';
import { statisticsRoutes } from './http/routes/statistics.ts';
import { topicRoutes } from './http/routes/topics.ts';
import { ScheduleMaker } from './http/schedule-maker.ts';
import { Sink } from './http/sink.ts';
import type { LaneFacts } from './lanes.ts';
import type { Ground } from './node-ground.ts';
import type { StoredRoom } from './publish/stored-room.ts';
import { shippedFiles } from './shipped-files.ts';
import { callOf } from './store/asker.ts';
import { forCalls } from './store/in-turn.ts';
import type { Store } from './store/store.ts';
import { logMisspelt } from './telemetry/log.ts';
import { Metrics, metricsText, showClock } from './telemetry/metrics.ts';
import type { DiskWatch } from './upkeep/disk.ts';
import { VERSION } from './version.ts';
import { systemWorld } from './world.ts';

const ROUTES = [
  healthRoutes,
  messageRoutes,
  queueRoutes,
  topicRoutes,
  scheduleRoutes,
  deadLetterRoutes,
  flowControlRoutes,
  jobRoutes,
  statisticsRoutes,
  accountRoutes,
  adminRoutes,
];

export interface FrontOptions {
  /** The numbers of all lanes of this process. */
  readonly allFacts: () => Promise<readonly LaneFacts[]>;
  readonly callerTimes?: Partial<CallerTimes> | undefined;
  /** Moves the clock, if it is a manual one. */
  readonly steering?: SteeredClock | null;
}

export async function buildFront(
  ground: Ground,
  engine: Engine,
  { allFacts, callerTimes, steering = null }: FrontOptions,
) {
  const { config, world, metrics, accounts, onFault } = ground;
  const { headerPrefix } = config;
  const isDev = config.command === 'dev';
  const times = { ...CALLER_TIMES, ...callerTimes };
  const { clock } = systemWorld();
  const callers = new Callers(config.trustedProxy);
  const hasProxies = config.trustedProxy.length > 0;
  const connections = new CallerConnections(clock, times, {
    ipOf: hasProxies ? (request) => callers.ipOf(request) : null,
  });
  metrics.pool('connections', connections);
  metrics.pool('unknownCallers', connections.unknown);
  const context = createContext(ground, allFacts, connections);
  const api = new Api(context);
  const consoleFiles = shippedFiles('console');
  const streams = addRoutes(api, context, ground);
  const hasConsole = consoleFiles.size > 0;
  const hasMetrics = config.metricsPort === null;
  rootRoutes(api, { version: VERSION, headerPrefix }, { hasConsole, hasMetrics });
  docsRoutes(api, VERSION, { headerPrefix, token: isDev ? DEV_TOKEN : null, hasConsole });
  showNode(ground, engine);
  const access = new MetricsAccess(config.metricsToken);
  const readMetrics = async () => {
    const [why, lanes] = await Promise.all([context.whyNotReady(), allFacts()]);
    return metricsText(lanes.map((lane) => lane.metrics)) + metricsText([readyMetric(why === null).values()]);
  };
  if (hasMetrics) metricsRoutes(api, access, readMetrics);
  const sink = isDev ? new Sink(world.clock, headerPrefix) : null;
  if (sink) sinkRoutes(api, sink);
  if (isDev) clockRoutes(api, context, steering);
  const hosts = { host: config.host, machine: hostname(), allowed: config.allowHost };
  const ownHosts = isDev ? new OwnHosts(hosts) : null;
  const { bodies } = context;
  const ownerOf = ({ socket }: IncomingMessage) => connections.of(socket)?.owner.key ?? '';
  const listener = await createListener({
    connections,
    turns: ground.turns,
    clock,
    times,
    publishing: createPublishHandler(context, ground, callers),
    api,
    webConsole: new Console(accounts, bodies, ownerOf, consoleFiles),
    sink,
    ownHosts,
    crossOrigin: config.allowOrigin.length > 0 ? new CrossOrigin(config.allowOrigin, headerPrefix) : null,
    isForQstashClients: context.isForQstashClients,
    onFault,
  });
  // Opened by the first lane alone: it has the numbers of all of them.
  const metricsListener = hasMetrics ? null : new MetricsListener({ read: readMetrics, access, ownHosts, onFault });
  return { api, listener, metricsListener, streams, ownHosts };
}

export type Front = Awaited<ReturnType<typeof buildFront>>;

function createContext(
  ground: Ground,
  allFacts: FrontOptions['allFacts'],
  connections: CallerConnections,
): RouteContext<Store> {
  const { config, world, newId, metrics, store, accounts, publications, room, facts, service, onFault } = ground;
  const { headerPrefix, tiers } = config;
  const uploadBytesMax = Math.max(nodeMax('uploads'), 2 * config.requestBytesMax);
  const uploads = new Pool(uploadBytesMax, ground.lanePools.elsewhere('uploads'));
  metrics.pool('uploads', uploads, ground.isFirstLane);
  const bodies = new BodyReader(uploads);
  const gate = new ReadGate(systemWorld().clock);
  const requests = new Requests(connections);
  metrics.pool('requests', requests.pool);
  metrics.pool('reads', gate.reads);
  metrics.pool('answerBytes', gate.answers);
  return {
    requests,
    store: forCalls(store),
    accounts,
    world,
    newId,
    tiers,
    publications,
    room,
    bodies,
    rules: config,
    strictSettings: config.strictSettings,
    isForQstashClients: isForQstashClients(headerPrefix),
    service: { version: VERSION, headerPrefix, isDev: config.command === 'dev' },
    concurrency: {
      max: ground.whole.concurrency,
      inFlight: async () => (await allFacts()).reduce((sum, { attemptsInFlight }) => sum + attemptsInFlight, 0),
    },
    facts,
    whyNotReady: readinessOf(store, facts),
    refusal: () => {
      const why = whyNothingIsAccepted(facts());
      return why && new ApiError(why.code, why.message);
    },
    isServing: () => service.isServing,
    onFault,
    audit: (facts, text) => ground.log.warn(facts, text),
    gate,
    callOf,
    turns: ground.turns,
  };
}

function addRoutes(
  api: Api,
  context: RouteContext<Store>,
  { config, world, metrics, store, accounts }: Ground,
): EventStreams {
  const streams = new EventStreams(store, world.clock);
  metrics.pool('streams', streams.pool);
  for (const routes of ROUTES) routes(api, context);
  // Earlier than publishing stops, so that there is time to act.
  const freeBytes = config.store === null ? Math.max(1, 2 * config.minFreeDiskBytes) : null;
  alertRoutes(api, context, { freeBytes });
  eventRoutes(api, context, streams, new AccessWatch(accounts, world.clock));
  return streams;
}

function createPublishHandler(context: RouteContext<Store>, { config, log }: Ground, callers: Callers): PublishHandler {
  const { headerPrefix } = config;
  return new PublishHandler({
    ...context,
    schedules: new ScheduleMaker({ ...context, headerPrefix }),
    headerPrefix,
    callers,
    requestBytesMax: config.requestBytesMax,
    batchMax: config.batchMax,
    onMisspelt: logMisspelt(log),
  });
}

/** Not registered with the others: the store is asked for it. */
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
function showNode({ metrics, clock, room, disk, config }: Ground, engine: Engine): void {
  metrics.gauge('postrider_attempts_in_flight', 'Attempts under way on this node.', () => engine.attemptsInFlight);
  metrics.gauge(
    'postrider_messages_held',
    'Messages of all accounts that are held, because they may have crashed the server. A person must release or cancel them. Counted every 5 seconds.',
    () => engine.recovery.held,
    'ofProcess',
  );
  showClock(metrics, clock);
  showStored(metrics, room, config.store === null ? disk : null);
  const residentBytes = () => process.memoryUsage.rss();
  metrics.gauge('process_resident_memory_bytes', 'Memory of the process.', residentBytes, 'ofProcess');
}
