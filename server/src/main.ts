// The composition root: the only file that builds everything and knows which parts stand behind the ports. Which store
// it is, open-store.ts knows.

import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Accounts } from './accounts/accounts.ts';
import { admitDev, shutOutDev } from './accounts/well-known.ts';
import type { Config } from './config.ts';
import type { Network } from './delivery/dial.ts';
import type { EgressPolicy } from './delivery/egress.ts';
import { listenAddresses, parseAllowList } from './delivery/egress.ts';
import { Engine, type EngineEvent } from './delivery/engine.ts';
import { createUndiciSender } from './delivery/undici-sender.ts';
import { type NodeFacts, whyNothingIsAccepted, whyNothingIsMade, whyNotReady } from './domain/acceptance.ts';
import { nodeMax } from './domain/budgets.ts';
import { NO_DESCENT } from './domain/descent.ts';
import { idMaker } from './domain/id.ts';
import { Pool } from './domain/pool.ts';
import { isForQstashClients } from './domain/qstash.ts';
import { requestSizeLimits } from './domain/request-size.ts';
import { AccessWatch } from './http/access-watch.ts';
import { Api, type RouteContext, type RouteEntry } from './http/api.ts';
import { BodyReader } from './http/body.ts';
import { CALLER_TIMES, CallerConnections, type CallerTimes } from './http/caller-connections.ts';
import { Console } from './http/console.ts';
import { ApiError } from './http/errors.ts';
import { EventStreams } from './http/event-streams.ts';
import { createListener } from './http/listener.ts';
import { isLoopback, OwnHosts } from './http/own-hosts.ts';
import { PublishLane } from './http/publish-lane.ts';
import { ReadGate } from './http/read-gate.ts';
import { Requests } from './http/requests.ts';
import { accountRoutes } from './http/routes/account.ts';
import { adminRoutes } from './http/routes/admin.ts';
import { deadLetterRoutes } from './http/routes/dead-letters.ts';
import { docsRoutes } from './http/routes/docs.ts';
import { eventRoutes } from './http/routes/events.ts';
import { flowControlRoutes } from './http/routes/flow-control.ts';
import { healthRoutes } from './http/routes/health.ts';
import { jobRoutes } from './http/routes/jobs.ts';
import { messageRoutes } from './http/routes/messages.ts';
import { metricsRoutes } from './http/routes/metrics.ts';
import { queueRoutes } from './http/routes/queues.ts';
import { scheduleRoutes } from './http/routes/schedules.ts';
import { sinkRoutes } from './http/routes/sink.ts';
import { statisticsRoutes } from './http/routes/statistics.ts';
import { topicRoutes } from './http/routes/topics.ts';
import { ScheduleMaker } from './http/schedule-maker.ts';
import { Sink } from './http/sink.ts';
import { openStore, storeFiles, storePlace } from './open-store.ts';
import { Publications } from './publish/publications.ts';
import { Inbox } from './store/inbox.ts';
import type { Store } from './store/store.ts';
import { createLog, type Log, logClock, logClockOff, logEngine, logGone, logMisspelt } from './telemetry/log.ts';
import { countEngine, countingStore, Metrics, messageCounters, showClock } from './telemetry/metrics.ts';
import { diskWatch } from './upkeep/disk.ts';
import { filesWatch } from './upkeep/files.ts';
import { jobRunner } from './upkeep/jobs.ts';
import { heartbeat, orphans, strays } from './upkeep/leases.ts';
import { retention } from './upkeep/retention.ts';
import { scheduleTimes } from './upkeep/schedule-times.ts';
import { scheduleRunner } from './upkeep/schedules.ts';
import { ServiceClock } from './upkeep/service-clock.ts';
import { systemWorld, type World, withinMs } from './world.ts';

export { checkStore, migrateStore, openStoreBeside, startBackup, storePlace } from './open-store.ts';
export { type MoveProgress, type MoveReport, MoveStopped } from './store/move.ts';
export type { CheckReport } from './store/sqlite/check.ts';

const PACKAGE = new URL('../package.json', import.meta.url);
/** What `npm run build` makes of the console. */
const CONSOLE = join(import.meta.dirname, '..', '..', 'console', 'dist');
export const VERSION = (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version;

/** How long a stopping node waits for callers who are still sending their request. */
const SENDING_MS_MAX = 5000;
/** A store that does not answer is left as it is: nothing that was acknowledged depends on it. */
const STORE_CLOSING_MS_MAX = 3000;

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

const LOOPBACK = '127.0.0.0/8,::1/128';

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

export interface StartOptions {
  readonly world?: World;
  /** Name servers and connections of the outside; those of the system unless a test has its own. */
  readonly network?: Network;
  /** How long callers may take for things; a test has shorter times than people. */
  readonly callerTimes?: Partial<CallerTimes>;
  readonly log?: Log;
  /** The store is gone for good: there is nothing left to do but end the process. */
  readonly onBroken?: (error: Error) => void;
  /** Another program is about to change the store so that this one cannot serve it any more: it is to be closed. */
  readonly onOutdated?: (why: string) => void;
}

export async function startPostrider(config: Config, options: StartOptions = {}): Promise<Postrider> {
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
  const isDev = config.command === 'dev';
  const newId = idMaker(
    () => world.clock.now(),
    (length) => world.random.bytes(length),
  );
  const node = newId('nod');
  const { headerPrefix, tiers } = config;
  const isForQstash = isForQstashClients(headerPrefix);

  const metrics = new Metrics();
  const messages = messageCounters(metrics);
  const sizeLimits = requestSizeLimits(config.batchMax, config.requestBytesMax);
  // An account alone gets half: what one request may make always fits into that.
  const inbox = new Inbox(
    Math.max(nodeMax('inboxMessages'), 2 * sizeLimits.messagesMax),
    Math.max(nodeMax('inboxBytes'), 2 * sizeLimits.bytesMax),
  );
  metrics.pool('inboxMessages', inbox.messages);
  metrics.pool('inboxBytes', inbox.bytes);
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
  let isServing = true;
  const facts = (): NodeFacts => ({
    isServing,
    role: config.role,
    areFilesGone: files.areGone(),
    isDiskLow: disk.isLow(),
    wasDiskFull: disk.wasFull(),
    isClockOff: clock.isOff,
  });
  const refusal = () => {
    const why = whyNothingIsAccepted(facts());
    return why && new ApiError(why.code, why.message);
  };
  const accounts = new Accounts(store, world, newId);
  const policy = egressPolicy(config);
  const publications = new Publications({
    store,
    world,
    newId,
    tiers,
    rules: config,
    deduplicationWindowMs: config.deduplicationWindowMs,
    sizeLimits,
  });
  const observers = [logEngine(log), countEngine(metrics, messages)];
  const observe = (event: EngineEvent) => {
    for (const each of observers) each(event);
  };
  const sender = createUndiciSender({
    world,
    policy,
    hostConnectionsMax: config.hostConcurrency,
    headerPrefix,
    ...(options.network && { network: options.network }),
  });
  for (const [name, pool] of Object.entries(sender.pools)) metrics.pool(name, pool);
  // Without a slot nothing is claimed, and nothing leased at acceptance; the upkeep goes on.
  const slots = config.role === 'api' ? 0 : config.concurrency;
  const engine = new Engine({
    node,
    store,
    sender,
    world,
    newId,
    tiers,
    style: { headerPrefix, userAgent: `postrider/${VERSION}` },
    limits: {
      concurrency: slots,
      accountConcurrency: config.accountConcurrency,
      hostConcurrency: config.hostConcurrency,
      bodyBytes: nodeMax('inFlightBytes'),
    },
    heartbeat: heartbeat(store, node, clock),
    upkeep: (recovery, isUnderWay) => [
      orphans(store, node, recovery),
      strays({ store, slots, isUnderWay, onGivenBack: (count) => observe({ kind: 'strays', count }) }),
      retention(store, tiers, () => clock.isProven),
      scheduleTimes(store, clock),
      jobRunner({ store, tiers, newId, mayAccept: () => whyNothingIsMade(facts()) === null }),
      disk,
      files,
    ],
    fireSchedules: scheduleRunner({
      store,
      now: () => clock.now(),
      tiers,
      plan: async (schedule, account) => {
        const why = whyNothingIsMade(facts());
        return why
          ? { problem: why }
          : publications.plan({ ...schedule, scheduleId: schedule.id, descent: NO_DESCENT }, account);
      },
      onSkipped: (schedule, why) =>
        log.warn({ account: schedule.accountId, schedule: schedule.id, why }, 'a tick made no message'),
    }),
    observe,
  });

  const countFault = metrics.counter('postrider_faults_total', 'Faults of the server that were met and logged.');
  const onFault = (error: unknown): string => {
    const fault = newId('err');
    countFault();
    log.error({ err: error instanceof Error ? error : new Error(String(error)), fault }, 'a fault of the server');
    return fault;
  };
  const uploads = new Pool(Math.max(nodeMax('uploads'), 2 * config.requestBytesMax));
  metrics.pool('uploads', uploads);
  const bodies = new BodyReader(uploads, world.clock);
  const gate = new ReadGate(systemWorld().clock);
  const requests = new Requests();
  metrics.pool('requests', requests.pool);
  const context: RouteContext<Store> = {
    requests,
    store,
    accounts,
    world,
    newId,
    tiers,
    publications,
    bodies,
    rules: config,
    isForQstashClients: isForQstash,
    service: { version: VERSION, headerPrefix, isDev },
    concurrency: { max: config.concurrency, inFlight: () => engine.attemptsInFlight },
    facts,
    refusal,
    isServing: () => isServing,
    onFault,
    gate,
  };
  metrics.pool('reads', gate.reads);
  metrics.pool('answerBytes', gate.answers);
  const api = new Api(context);
  const streams = new EventStreams(store, world.clock);
  metrics.pool('streams', streams.pool);
  for (const routes of ROUTES) routes(api, context);
  eventRoutes(api, context, streams, new AccessWatch(accounts, world.clock));
  docsRoutes(api, VERSION, headerPrefix);
  metrics.gauge('postrider_attempts_in_flight', 'Attempts under way on this node.', () => engine.attemptsInFlight);
  for (const [name, pool] of Object.entries(engine.pools)) metrics.pool(name, pool);
  metrics.gauge(
    'postrider_messages_held',
    'Messages of all accounts that wait for a person, because they may have brought the server down; counted every 5 seconds.',
    () => engine.messagesHeld,
  );
  showClock(metrics, clock);
  metrics.gauge('postrider_ready', '1 while the node accepts what is published, as far as it knows; else 0.', () =>
    whyNotReady(facts(), true) ? 0 : 1,
  );
  metrics.gauge('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
  metricsRoutes(api, () => metrics.text());
  const lane = new PublishLane({
    ...context,
    schedules: new ScheduleMaker({ ...context, headerPrefix, strictSettings: config.strictSettings }),
    headerPrefix,
    strictSettings: config.strictSettings,
    requestBytesMax: config.requestBytesMax,
    batchMax: config.batchMax,
    onMisspelt: logMisspelt(log),
  });
  const sink = isDev ? new Sink(world.clock, headerPrefix) : null;
  if (sink) sinkRoutes(api, sink);
  const hosts = { host: config.host, machine: hostname(), allowed: config.allowHost };
  const ownHosts = isDev ? new OwnHosts(hosts) : null;
  const times = { ...CALLER_TIMES, ...options.callerTimes };
  const connections = new CallerConnections(systemWorld().clock, times);
  metrics.pool('connections', connections);
  const listener = await createListener({
    connections,
    times,
    lane,
    api,
    webConsole: new Console(accounts, CONSOLE),
    sink,
    ownHosts,
    isForQstashClients: isForQstash,
    onFault,
  });
  let bound: Awaited<ReturnType<typeof listener.listen>>;
  let token: string | null = null;
  try {
    const place = storePlace(config);
    const takeOver = { place, isTakeOver: config.takeOverDev, now: world.clock.now() };
    const takenOver = isDev ? null : await shutOutDev(store, accounts, takeOver);
    if (isDev) token = await admitDev(store, accounts, place, isForQstash);
    bound = await listener.listen(config.host, config.port);
    if (ownHosts) ownHosts.boundTo = bound.address;
    // Only now: made before a start that fails, the first token would never be shown to anybody.
    token ??= await accounts.createFirst('default', takenOver);
  } catch (error) {
    await listener.close();
    bodies.close();
    await store.close();
    openFiles.close();
    throw error;
  }
  // Before the first sign of life, which says it to others.
  about.address = `${bound.address}:${bound.port}`;
  policy.own = listenAddresses({ ip: bound.address, port: bound.port }, networkInterfaces());
  engine.start();

  let closing: Promise<Farewell> | null = null;
  const close = async () => {
    isServing = false;
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
  };
  return {
    url: `http://${reachable(bound.address)}:${bound.port}`,
    listensBeyond: !isLoopback(bound.address),
    token,
    store,
    routes: api.routes,
    onFault,
    isAsleep: () => engine.isAsleep,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function egressPolicy(config: Config): EgressPolicy {
  const allowed = parseAllowList([...config.allowCidr, ...(config.command === 'dev' ? [LOOPBACK] : [])].join(','));
  if ('problem' in allowed) throw new Error(allowed.problem);
  return { allowed, own: [] };
}

/** An address to call, for one that is listened on. */
function reachable(address: string): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1';
  return address.includes(':') ? `[${address}]` : address;
}
