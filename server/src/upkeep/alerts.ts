// Evaluates due alerts, some of them in each run, and notifies their targets. However many nodes evaluate an alert, the
// store lets only one of them write the result, together with the message to the target.

import type { Account } from '../rules/accounts/account.ts';
import { type Alert, alertBody, eventToReport, nextEvaluationAt, notifiedStateAfter } from '../rules/alerts/alert.ts';
import { type AlertFacts, neededFacts } from '../rules/alerts/alert-facts.ts';
import { findingOf } from '../rules/alerts/alert-findings.ts';
import { shownRule } from '../rules/alerts/alert-rules.ts';
import type { NewMessage } from '../rules/delivery/message.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { Problem } from '../rules/requests/problem.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { EvaluatedAlert, UpkeepStore } from '../store/ports/upkeep-store.ts';

/** How often a node looks for an alert to evaluate. */
const IDLE_MS = 5000;
/**
 * How often alerts are evaluated with a manual clock. The clock stops each time, so this is rarer than in a service.
 */
const EVALUATED_BY_HAND_EVERY_MS = 60_000;
/**
 * How often to look for alerts with a manual clock. It is longer than the time between two stops, so that a look is not
 * a stop itself.
 */
const IDLE_BY_HAND_MS = 2 * EVALUATED_BY_HAND_EVERY_MS;
/** Shown as the `problem` of an alert. */
const UNREADABLE = 'the messages of the account could not be read';
const UNWRITTEN = 'the message to the target could not be stored';
/** The pause between two runs while there are more alerts to evaluate. It leaves time for other work. */
const PIECE_EVERY_MS = 20;

export type PlanAlert = (
  alert: Alert,
  account: Account,
  body: string,
) => Promise<{ readonly message: NewMessage } | { readonly problem: Problem }>;

export interface AlertKeeperOptions {
  readonly store: UpkeepStore & Pick<AccountStore, 'getAccount' | 'storedBytes'>;
  readonly tiers: Tiers;
  readonly plan: PlanAlert;
  /** Free space on the disk of the data; null if it is not known. */
  readonly freeBytes: () => number | null;
  /** Whether the clock is moved by hand. */
  readonly isByHand?: boolean;
  /** Called when a target should be notified and cannot be: once for each reason. */
  readonly onProblem: (alert: Alert, why: string) => void;
}

/** Evaluates alerts in a loop. With a manual clock, the loop must be woken when messages come or change. */
export function alertKeeper(options: AlertKeeperOptions) {
  const { store, isByHand = false } = options;
  const idleMs = isByHand ? IDLE_BY_HAND_MS : IDLE_MS;
  const stops = isByHand ? new AlertStops() : null;
  const againIn = (ms: number, now: number) => {
    stops?.plan(now + ms);
    return ms;
  };
  const restMs = (nextAt: number | null, now: number) => {
    if (nextAt === null || stops?.isNeededAt(nextAt) === false) return idleMs;
    return againIn(Math.min(idleMs, Math.max(1, nextAt - now)), now);
  };
  return {
    name: 'alerts',
    /** Alerts are evaluated by the time of the service. */
    dueBelowMs: idleMs,
    async run(now: number): Promise<number> {
      stops?.begin(now);
      const { due, nextAt } = await store.dueAlerts(now, eachMax('dueAlerts'));
      if (due.length === 0) return restMs(nextAt, now);
      const evaluated: EvaluatedAlert[] = [];
      for (const [accountId, own] of Map.groupBy(due, (alert) => alert.accountId)) {
        const look = await evaluateAccount(options, accountId, own, now);
        evaluated.push(...look.evaluated);
        if (look.mayChange) stops?.noteChange(now);
      }
      await notify(options, evaluated, now);
      return againIn(PIECE_EVERY_MS, now);
    },
  };
}

interface Look {
  readonly evaluated: readonly EvaluatedAlert[];
  /** Whether time alone may change the result. */
  readonly mayChange: boolean;
}

/** Evaluates all due alerts of one account, with one read of its facts. */
async function evaluateAccount(
  options: AlertKeeperOptions,
  accountId: string,
  alerts: readonly Alert[],
  now: number,
): Promise<Look> {
  const { store, tiers } = options;
  const account = await store.getAccount(accountId);
  // The alerts of a suspended account do not change.
  if (!account || account.suspendedAt !== undefined)
    return { evaluated: alerts.map((alert) => withoutNotification(options, alert, null, now)), mayChange: false };
  let facts: AlertFacts;
  let storedBytes = 0;
  try {
    if (alerts.some(({ rule }) => rule.type === 'quotaNear')) storedBytes = await store.storedBytes(accountId);
    facts = await store.alertFacts(accountId, neededFacts(alerts, now), now, eachMax('alertRows'));
  } catch (error) {
    // If the store is unavailable, writing will fail as well. If it is available, the alerts of the other accounts must
    // not wait for this account.
    return {
      evaluated: alerts.map((alert) => withoutNotification(options, alert, UNREADABLE, now, error)),
      mayChange: true,
    };
  }
  const { messagesPerDayMax: dayMax, storedBytesMax } = tiers[account.tier];
  const evaluated: EvaluatedAlert[] = [];
  for (const alert of alerts)
    evaluated.push(await evaluateOne(options, alert, { account, facts, dayMax, storedBytes, storedBytesMax, now }));
  // Time alone changes the age of messages in queues, may end a firing alert, and lets a failed notification succeed.
  const isCalm = evaluated.every(
    ({ alert, problem, notification }) => alert.state === 'calm' && !problem && !notification,
  );
  return { evaluated, mayChange: !isCalm || facts.queues.length > 0 };
}

interface Known {
  readonly account: Account;
  readonly facts: AlertFacts;
  readonly dayMax: number | null;
  readonly storedBytes: number;
  readonly storedBytesMax: number | null;
  readonly now: number;
}

async function evaluateOne(options: AlertKeeperOptions, alert: Alert, known: Known): Promise<EvaluatedAlert> {
  const { account, facts, dayMax, storedBytes, storedBytesMax, now } = known;
  const sight = { dayMax, storedBytes, storedBytesMax, freeBytes: options.freeBytes() };
  const finding = findingOf(alert, facts, sight, now);
  const event = eventToReport(alert, finding, now);
  if (!finding || !event) return withoutNotification(options, alert, null, now);
  const notice = { event, text: finding.text, facts: finding.facts, at: now };
  const planned = await options.plan(alert, account, alertBody(alert, shownRule(alert.rule), notice));
  if ('problem' in planned) return withoutNotification(options, alert, planned.problem.message, now);
  const { message } = planned;
  const notified = notifiedStateAfter(event, alert, { messageId: message.id, text: finding.text, at: now });
  return { ...withoutNotification(options, alert, null, now), notification: { message, notified }, dayMax };
}

/** The account sees only the problem. The error behind it is logged. */
function withoutNotification(
  options: AlertKeeperOptions,
  alert: Alert,
  problem: string | null,
  now: number,
  error?: unknown,
): EvaluatedAlert {
  if (problem !== null && problem !== alert.problem) {
    const detail = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`;
    options.onProblem(alert, `${problem}${detail}`);
  }
  const nextAt = nextEvaluationAt(alert.accountId, now, options.isByHand ? EVALUATED_BY_HAND_EVERY_MS : undefined);
  return { alert, nextAt, problem, notification: null, dayMax: null };
}

/** If writing all results together fails, each is tried alone, so that a bad one does not block the others. */
async function notify(options: AlertKeeperOptions, evaluated: readonly EvaluatedAlert[], now: number): Promise<void> {
  const { store, onProblem } = options;
  try {
    const results = await store.notifyAlerts(evaluated, now);
    results.forEach((each, index) => {
      const { alert } = evaluated[index]!;
      if (each === 'overQuota' && alert.problem === null) onProblem(alert, 'the daily quota of the account is used up');
    });
    return;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    if (evaluated.length === 1) {
      const [{ alert, notification }] = evaluated as [EvaluatedAlert];
      if (!notification) throw error;
      return notify(options, [withoutNotification(options, alert, UNWRITTEN, now, error)], now);
    }
  }
  for (const each of evaluated) await notify(options, [each], now);
}

/**
 * When a manual clock stops to evaluate alerts. Each stop costs time, and without alerts there would be none, so it
 * stops only where the result may differ from the last one.
 */
class AlertStops {
  #plannedAt: number | null = null;
  /** A manual clock stops for alerts that are due until this time. */
  #changingUntil = Number.NEGATIVE_INFINITY;

  /** A run before the planned time was woken: something has happened, and more may still happen at this moment. */
  begin(now: number): void {
    if (this.#plannedAt === null || now < this.#plannedAt) this.noteChange(now);
    this.#plannedAt = null;
  }

  /** From now on every alert is evaluated at least once more. */
  noteChange(now: number): void {
    this.#changingUntil = now + EVALUATED_BY_HAND_EVERY_MS;
  }

  /** Notes when the next run is wanted. */
  plan(at: number): void {
    this.#plannedAt = at;
  }

  isNeededAt(at: number): boolean {
    return at <= this.#changingUntil;
  }
}
