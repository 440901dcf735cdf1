// Builds the engine of a node with its sender and all of its upkeep.

import { accountDeleter } from '../accounts/account-deletion.ts';
import { ackKeeper } from '../acks/ack-keeper.ts';
import type { Network } from '../delivery/egress/dial.ts';
import type { EgressPolicy } from '../delivery/egress/egress.ts';
import { parseAllowList, whyAddressRefused } from '../delivery/egress/egress.ts';
import { Engine, type EngineEvent } from '../delivery/engine/engine.ts';
import type { UpkeepTask } from '../delivery/engine/engine-options.ts';
import { createNetworkSender } from '../delivery/http/network-sender.ts';
import { planAlertMessage } from '../publish/alert-messages.ts';
import { NO_DESCENT } from '../rules/delivery/descent.ts';
import { whyNothingIsMade } from '../rules/limits/acceptance.ts';
import { problem } from '../rules/requests/problem.ts';
import { laneMax } from '../runtime/lane-part.ts';
import { VERSION } from '../shipped-files.ts';
import { logEngine } from '../telemetry/log.ts';
import { countEngine } from '../telemetry/message-metrics.ts';
import { alertKeeper } from '../upkeep/alerts.ts';
import { expiryKeeper } from '../upkeep/expiry.ts';
import { jobRunner } from '../upkeep/jobs.ts';
import { heartbeat, orphans, strays } from '../upkeep/leases.ts';
import { ManualClockControl } from '../upkeep/manual-clock-control.ts';
import { retention } from '../upkeep/retention.ts';
import { scheduleTimeCorrector } from '../upkeep/schedule-times.ts';
import { scheduleRunner } from '../upkeep/schedules.ts';
import type { NodeBase } from './node-base.ts';
import type { Config } from './settings/config.ts';

const SUSPENDED = problem('account_suspended', 'the account of the schedule is suspended');
const LOOPBACK = '127.0.0.0/8,::1/128';

/** The engine, and its egress policy, which gets our own addresses later. */
export function buildEngine(base: NodeBase, network: Network | undefined): { engine: Engine; policy: EgressPolicy } {
  const { config, log, clock, world, newId, node, metrics, messages, store, room, hosts, parking, isFirstLane } = base;
  const { headerPrefix, tiers } = config;
  const policy = egressPolicy(config);
  const logEvent = logEngine(log, () => clock.machineNow(), config.logSuccesses);
  const countEvent = countEngine(metrics, messages);
  const observe = (event: EngineEvent) => {
    if (event.kind === 'attempt') {
      hosts.note(event.claim.message, event.settlement.attempt);
      parking.note(event.claim, event.settlement.attempt);
    }
    logEvent(event);
    countEvent(event);
  };
  const sender = createNetworkSender({
    world,
    policy,
    hostConnectionsMax: config.hostConcurrency,
    headerPrefix,
    ...(network && { network }),
  });
  for (const [name, pool] of Object.entries(sender.pools)) metrics.pool(name, pool);
  // Without slots nothing is claimed, and nothing is leased at accept. The upkeep still runs.
  const slots = config.role === 'api' ? 0 : config.concurrency;
  const engine = new Engine({
    node,
    store,
    sender,
    world,
    dueTimers: base.manualTime?.dueTimers,
    turns: base.turns,
    newId,
    tiers,
    keepsAnswers: (account, bytes) => room.takes(account, bytes),
    style: { headerPrefix, userAgent: `postrider/${VERSION}`, ackUrlOf: base.acks.urlOf },
    limits: {
      concurrency: slots,
      accountConcurrency: config.accountConcurrency,
      hostConcurrency: config.hostConcurrency,
      bodyBytes: laneMax('inFlightBytes'),
    },
    parking,
    heartbeat: heartbeat(store, node, clock),
    upkeep: (recovery, isUnderWay) => [
      orphans(store, node, recovery, world.clock),
      strays({ store, slots, isUnderWay, onGivenBack: (count) => observe({ kind: 'strays', count }) }),
      ...(isFirstLane ? tasksOfFirstLane(base) : []),
      hosts.task,
      parking.task,
      base.audit.task,
      base.disk,
      room,
      ...(base.files ? [base.files] : []),
      ...(base.backlog ? [base.backlog] : []),
    ],
    fireSchedules: isFirstLane ? runSchedules(base) : async () => null,
    observe,
  });
  for (const [name, pool] of Object.entries(engine.pools)) metrics.pool(name, pool);
  // A manual clock stops only for upkeep work that the engine knows of, so the engine looks for work after each change.
  if (base.manualTime) store.onJournal(() => engine.lookAhead());
  return { engine, policy };
}

/** The tasks that one lane does for all lanes of the process. */
function tasksOfFirstLane(base: NodeBase): UpkeepTask[] {
  const {
    config: { tiers, auditDays },
    log,
    clock,
    newId,
    store,
    facts,
    room,
  } = base;
  return [
    retention(store, tiers, () => clock.isProven, auditDays),
    expiryKeeper({
      store,
      tiers,
      newId,
      isTimeRight: () => !clock.isOff,
      isByHand: base.manualTime !== null,
      onFault: (message, err) => log.error({ message, err }, 'a message that has expired could not be ended'),
    }),
    ackKeeper({ acks: base.acks, isTimeRight: () => !clock.isOff, isByHand: base.manualTime !== null }),
    scheduleTimeCorrector(store, clock),
    jobRunner({
      store,
      tiers,
      newId,
      mayAccept: (account) =>
        account.suspendedAt === undefined && whyNothingIsMade(facts()) === null && room.takes(account, 0),
      cancelledUntil: (account, now) => room.cancelledUntil(account, now),
    }),
    keepAlerts(base),
    accountDeleter(store),
  ];
}

/** Moves a manual clock. Null for every other clock. */
export function createClockControl(
  { manualTime, node, config, store, service }: NodeBase,
  engine: Engine,
): ManualClockControl | null {
  if (!manualTime) return null;
  const expired = retention(store, config.tiers, () => true, config.auditDays);
  return new ManualClockControl({
    time: manualTime,
    engine,
    sweep: (now) => expired.runThrough(now),
    keep: heartbeat(store, node, manualTime).run,
    isServing: () => service.isServing,
  });
}

function runSchedules({ config: { tiers }, log, clock, store, facts, publications, room, turns }: NodeBase) {
  return scheduleRunner({
    store,
    now: () => clock.now(),
    tiers,
    turns,
    plan: async (schedule, account, timed) => {
      const why = whyNothingIsMade(facts());
      if (why) return { problem: why };
      if (account.suspendedAt !== undefined) return SUSPENDED;
      const publication = { ...schedule, scheduleId: schedule.id, descent: NO_DESCENT };
      const draft = await timed(() => publications.read(publication, account));
      const planned = timed(() => publications.planDraft(draft, account));
      const tooMuch = 'problem' in planned ? null : await room.problem(account, planned.messages);
      return tooMuch ? { problem: tooMuch } : planned;
    },
    onSkipped: ({ accountId, id }, why, ticks) =>
      log.warn({ account: accountId, schedule: id, why, ticks }, 'a schedule ran, but created no message'),
  });
}

function keepAlerts({ config, log, store, disk, facts, publications, manualTime }: NodeBase) {
  return alertKeeper({
    store,
    tiers: config.tiers,
    plan: async (alert, account, body) => {
      // The alert `diskLow` must be able to report a full disk. Its messages are small and few.
      const diskMark = alert.rule.type === 'diskLow' ? 'none' : facts().diskMark;
      const why = whyNothingIsMade({ ...facts(), diskMark });
      return why ? { problem: why } : planAlertMessage(publications, config.headerPrefix, alert, account, body);
    },
    freeBytes: () => disk.freeBytes(),
    isByHand: manualTime !== null,
    onProblem: ({ accountId, id }, why) =>
      log.warn({ account: accountId, alert: id, why }, 'the target of an alert could not be notified'),
  });
}

function egressPolicy(config: Config): EgressPolicy {
  const allowed = parseAllowList([...config.allowCidr, ...(config.command === 'dev' ? [LOOPBACK] : [])].join(','));
  if ('problem' in allowed) throw new Error(allowed.problem);
  return { allowed, own: [] };
}

/** Why a node with these settings refuses to send to an address, as text. Null when it sends. */
export function whyEgressRefused(config: Config, ip: string, port: number): string | null {
  return whyAddressRefused(ip, port, egressPolicy(config));
}
