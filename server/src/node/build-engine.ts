// Builds the engine of a node with its sender and all of its upkeep.

import type { Network } from '../delivery/egress/dial.ts';
import type { EgressPolicy } from '../delivery/egress/egress.ts';
import { checkAddress, parseAllowList } from '../delivery/egress/egress.ts';
import { Engine, type EngineEvent } from '../delivery/engine/engine.ts';
import { createNetworkSender } from '../delivery/http/network-sender.ts';
import { planAlertMessage } from '../publish/alert-messages.ts';
import { NO_DESCENT } from '../rules/delivery/descent.ts';
import { whyNothingIsMade } from '../rules/limits/acceptance.ts';
import { problem } from '../rules/requests/problem.ts';
import { laneMax } from '../runtime/lane-part.ts';
import { VERSION } from '../shipped-files.ts';
import { logEngine } from '../telemetry/log.ts';
import { countEngine } from '../telemetry/metrics.ts';
import { alertKeeper } from '../upkeep/alerts.ts';
import { jobRunner } from '../upkeep/jobs.ts';
import { heartbeat, orphans, strays } from '../upkeep/leases.ts';
import { retention } from '../upkeep/retention.ts';
import { scheduleTimes } from '../upkeep/schedule-times.ts';
import { scheduleRunner } from '../upkeep/schedules.ts';
import { Steering } from '../upkeep/steering.ts';
import type { NodeBase } from './node-base.ts';
import type { Config } from './settings/config.ts';

const SUSPENDED = problem('account_suspended', 'its account is suspended');
const LOOPBACK = '127.0.0.0/8,::1/128';

/** The engine, and its egress policy, which gets our own addresses later. */
export function buildEngine(base: NodeBase, network: Network | undefined): { engine: Engine; policy: EgressPolicy } {
  const { config, log, clock, world, newId, node, metrics, messages, store, disk, files, facts, room, isFirstLane } =
    base;
  const { headerPrefix, tiers } = config;
  const policy = egressPolicy(config);
  const observers = [logEngine(log, () => clock.machineNow()), countEngine(metrics, messages)];
  const observe = (event: EngineEvent) => {
    for (const each of observers) each(event);
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
    style: { headerPrefix, userAgent: `postrider/${VERSION}` },
    limits: {
      concurrency: slots,
      accountConcurrency: config.accountConcurrency,
      hostConcurrency: config.hostConcurrency,
      bodyBytes: laneMax('inFlightBytes'),
    },
    heartbeat: heartbeat(store, node, clock),
    upkeep: (recovery, isUnderWay) => [
      orphans(store, node, recovery, world.clock),
      strays({ store, slots, isUnderWay, onGivenBack: (count) => observe({ kind: 'strays', count }) }),
      ...(isFirstLane
        ? [
            retention(store, tiers, () => clock.isProven),
            scheduleTimes(store, clock),
            jobRunner({
              store,
              tiers,
              newId,
              mayAccept: (account) =>
                account.suspendedAt === undefined && whyNothingIsMade(facts()) === null && room.takes(account, 0),
              cancelledUntil: (account, now) => room.cancelledUntil(account, now),
            }),
            keepAlerts(base),
          ]
        : []),
      disk,
      room,
      ...(files ? [files] : []),
    ],
    fireSchedules: isFirstLane ? runSchedules(base) : async () => null,
    observe,
  });
  for (const [name, pool] of Object.entries(engine.pools)) metrics.pool(name, pool);
  // A manual clock stops only for upkeep work that the engine knows of, so the engine looks for work after each change.
  if (base.manualTime) store.onJournal(() => engine.lookAhead());
  return { engine, policy };
}

/** Moves a manual clock. Null for every other clock. */
export function steerClock({ manualTime, node, config, store, service }: NodeBase, engine: Engine): Steering | null {
  if (!manualTime) return null;
  const expired = retention(store, config.tiers);
  return new Steering({
    time: manualTime,
    engine,
    sweep: (now) => expired.runThrough(now),
    keep: heartbeat(store, node, manualTime).run,
    isServing: () => service.isServing,
  });
}

function runSchedules({ config: { tiers }, log, clock, store, facts, publications, room }: NodeBase) {
  return scheduleRunner({
    store,
    now: () => clock.now(),
    tiers,
    plan: async (schedule, account) => {
      const why = whyNothingIsMade(facts());
      if (why) return { problem: why };
      if (account.suspendedAt !== undefined) return SUSPENDED;
      const planned = await publications.plan({ ...schedule, scheduleId: schedule.id, descent: NO_DESCENT }, account);
      const tooMuch = 'problem' in planned ? null : await room.problem(account, planned.messages);
      return tooMuch ? { problem: tooMuch } : planned;
    },
    onSkipped: (schedule, why) =>
      log.warn({ account: schedule.accountId, schedule: schedule.id, why }, 'a schedule ran, but created no message'),
  });
}

function keepAlerts({ config, log, store, disk, facts, publications, manualTime }: NodeBase) {
  return alertKeeper({
    store,
    tiers: config.tiers,
    plan: async (alert, account, body) => {
      // This alert is about the disk, so a full disk must not prevent its message. Such messages are small and few.
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

/** Why a node with these settings sends nothing to an address, as text. Null when it does. */
export function checkEgress(config: Config, ip: string, port: number): string | null {
  return checkAddress(ip, port, egressPolicy(config));
}
