// An alert: a rule that is evaluated periodically, and a target that is notified when the rule begins to apply, while
// it does, and when it is over. alert-findings.ts evaluates the rules, alert-rules.ts has their format.

export const RULE_TYPES = [
  'messageFailed',
  'failureRate',
  'queueStalled',
  'hostFailing',
  'scheduleFailed',
  'quotaNear',
  'diskLow',
] as const;
export type RuleType = (typeof RULE_TYPES)[number];

/** Which messages a rule applies to. A field that is null does not restrict them. */
export interface AlertScope {
  /** With or without a port. */
  readonly host: string | null;
  readonly queue: string | null;
  readonly label: string | null;
}

export type AlertRule =
  | ({ readonly type: 'messageFailed'; readonly count: number; readonly windowMs: number } & AlertScope)
  | ({
      readonly type: 'failureRate';
      readonly share: number;
      readonly windowMs: number;
      /** With fewer ended messages in the window, the alert does not start: the share is not significant. */
      readonly minimum: number;
    } & AlertScope)
  | { readonly type: 'queueStalled'; readonly olderThanMs: number; readonly queue: string | null }
  | { readonly type: 'hostFailing'; readonly attempts: number; readonly host: string | null }
  | { readonly type: 'scheduleFailed'; readonly schedule: string | null }
  | { readonly type: 'quotaNear'; readonly share: number }
  | { readonly type: 'diskLow'; readonly freeBytes: number };

export const TARGET_FORMATS = ['json', 'slack'] as const;
export type TargetFormat = (typeof TARGET_FORMATS)[number];

export interface AlertTarget {
  readonly url: string;
  /** `slack`: only `{"text": …}`, which many chat services read. */
  readonly format: TargetFormat;
}

/** The part of an alert that a person sets. */
export interface AlertDefinition {
  readonly rule: AlertRule;
  readonly target: AlertTarget;
  /** Null: no reminders. */
  readonly remindEveryMs: number | null;
}

/** What the target was last notified of. */
export interface NotifiedState {
  readonly state: 'calm' | 'firing';
  /** Since when the alert is firing. Null when it is calm. */
  readonly sinceAt: number | null;
  readonly notifiedAt: number | null;
  /** The last message to the target. */
  readonly messageId: string | null;
  /** The text of the last message to the target. */
  readonly text: string | null;
}

export interface Alert extends AlertDefinition, NotifiedState {
  readonly id: string;
  readonly accountId: string;
  /** Why the last evaluation failed, or the notification that it required. Null if neither failed. */
  readonly problem: string | null;
  /**
   * The time up to which the alert was evaluated. This time does not advance while the target cannot be notified, so
   * that messages that fail meanwhile still count later. Null before the first evaluation.
   */
  readonly evaluatedAt: number | null;
  /** When the alert is evaluated next. */
  readonly nextAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Grows with every write. If several nodes evaluate the alert at once, only one of them can write its result. */
  readonly version: number;
}

/** Every message to a target has this label, and the id of its alert as a second label. */
export const ALERT_LABEL = 'alert';

export const NEVER_NOTIFIED: NotifiedState = {
  state: 'calm',
  sinceAt: null,
  notifiedAt: null,
  messageId: null,
  text: null,
};

/** The result of evaluating the rule of an alert. */
export interface Finding {
  /** Whether the rule applies now. */
  readonly isWrong: boolean;
  /** One sentence. */
  readonly text: string;
  /** What the text is based on, for programs: counts, limits and names. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Shown as the `problem` of an alert. */
export const OVER_QUOTA = 'the daily quota of the account is used up, so the target of the alert cannot be notified';

export type AlertEvent = 'begin' | 'remind' | 'over';

export const EVALUATED_EVERY_MS = 10_000;

/**
 * When an alert is evaluated next. All alerts of an account are evaluated at the same times, so that its facts are read
 * once for all of them, and no request can cause more reads. Accounts have different times, to spread the load.
 */
export function nextEvaluationAt(accountId: string, now: number, everyMs = EVALUATED_EVERY_MS): number {
  let sum = 0;
  for (const character of accountId) sum = (sum * 31 + character.codePointAt(0)!) % everyMs;
  return now + everyMs - ((now + sum) % everyMs);
}

/** A firing alert lasts at least this long, so that a rule at its limit does not send a message at every evaluation. */
export const FIRING_MS_MIN = 60_000;

/** The event of which the target must be notified, or null. A null finding means that nothing is known: no event. */
export function eventToReport(
  { state, sinceAt, notifiedAt, remindEveryMs }: NotifiedState & Pick<AlertDefinition, 'remindEveryMs'>,
  finding: Finding | null,
  now: number,
): AlertEvent | null {
  if (!finding) return null;
  if (state === 'calm') return finding.isWrong ? 'begin' : null;
  if (!finding.isWrong) return now - (sinceAt ?? now) >= FIRING_MS_MIN ? 'over' : null;
  return remindEveryMs !== null && now - (notifiedAt ?? now) >= remindEveryMs ? 'remind' : null;
}

/** Up to when an alert was evaluated, after an evaluation at `now`. An evaluation with a problem must be repeated. */
export function evaluatedUpTo(
  { evaluatedAt }: Pick<Alert, 'evaluatedAt'>,
  problem: string | null,
  now: number,
): number | null {
  return problem === null ? now : evaluatedAt;
}

/** What the target was last notified of, after the notification of `event`. */
export function notifiedStateAfter(
  event: AlertEvent,
  before: NotifiedState,
  notice: { readonly messageId: string; readonly text: string; readonly at: number },
): NotifiedState {
  return {
    state: event === 'over' ? 'calm' : 'firing',
    sinceAt: event === 'over' ? null : event === 'begin' ? notice.at : before.sinceAt,
    notifiedAt: notice.at,
    messageId: notice.messageId,
    text: notice.text,
  };
}

/** The body of the message to the target. */
export function alertBody(
  alert: Pick<Alert, 'id' | 'target' | 'sinceAt'>,
  shownRule: object,
  notice: {
    readonly event: AlertEvent | 'test';
    readonly text: string;
    readonly facts: Finding['facts'];
    readonly at: number;
  },
): string {
  if (alert.target.format === 'slack') return JSON.stringify({ text: slackText(`[${alert.id}] ${notice.text}`) });
  const sinceAt = notice.event === 'begin' ? notice.at : alert.sinceAt;
  return JSON.stringify({
    alertId: alert.id,
    event: notice.event,
    rule: shownRule,
    ...(sinceAt !== null && notice.event !== 'test' && { since: sinceAt }),
    at: notice.at,
    text: notice.text,
    facts: notice.facts,
  });
}

/** In Slack's markup these three characters begin links and mentions. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
