// Reads the JSON of an alert that a person wrote, and shows an alert as such JSON. All problems are reported at once.

import { parseTargetUrl } from '../publish/destination.ts';
import { LABEL_LENGTH_MAX, parseLabels } from '../publish/labels.ts';
import { isName, NAME_RULE } from '../requests/name.ts';
import { nearestName } from '../requests/nearest-name.ts';
import { formatDurationMs, parseDurationMs } from '../time/duration.ts';
import {
  type AlertDefinition,
  type AlertRule,
  type AlertTarget,
  RULE_TYPES,
  type RuleType,
  TARGET_FORMATS,
  type TargetFormat,
} from './alert.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type Value = string | number;
type Read = { readonly value: Value } | { readonly problem: string };

/** A field of a rule: how it is read, and how it is shown. */
interface Field {
  /** Its name in `AlertRule`. */
  readonly key: string;
  readonly read: (value: unknown) => Read;
  readonly show: (value: Value) => Value;
}

const asIs = (value: Value) => value;

function whole(key: string, min: number, max: number): Field {
  const isWithin = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
  const rule = `must be a whole number from ${min} to ${max}`;
  return { key, read: (value) => (isWithin(value) ? { value: Number(value) } : { problem: rule }), show: asIs };
}

/** A duration, given as text such as `5m`, or as a number of seconds. */
function duration(key: string, minMs: number, maxMs: number): Field {
  const rule = `must be a duration from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}, such as "5m"`;
  return {
    key,
    read: (value) => {
      const ms = durationOf(value);
      return ms === null || ms < minMs || ms > maxMs ? { problem: rule } : { value: ms };
    },
    show: (value) => formatDurationMs(Number(value)),
  };
}

function durationOf(value: unknown): number | null {
  return typeof value === 'string' || typeof value === 'number' ? parseDurationMs(String(value)) : null;
}

function text(key: string, isRight: (text: string) => boolean, rule: string): Field {
  return {
    key,
    read: (value) => (typeof value === 'string' && isRight(value) ? { value } : { problem: `must be ${rule}` }),
    show: asIs,
  };
}

function isLabel(given: string): boolean {
  const labels = parseLabels(given);
  return Array.isArray(labels) && labels.length === 1 && labels[0] === given;
}

function share(isRight: (value: number) => boolean, rule: string): Field {
  return {
    key: 'share',
    read: (value) => (typeof value === 'number' && value > 0 && isRight(value) ? { value } : { problem: rule }),
    show: asIs,
  };
}

const FAILED_SHARE = share((value) => value <= 1, 'must be a number above 0 and up to 1: 0.1 means 10 %');
/** The message to the target counts towards the quota too, so at 100 % of the quota no target could be notified. */
const QUOTA_SHARE = share(
  (value) => value < 1,
  'must be a number above 0 and below 1: 0.8 means 80 %. When the quota is used up, no message can be sent',
);

const HOST: Field = {
  key: 'host',
  read: (value) => {
    const host = typeof value === 'string' ? hostAsSent(value) : null;
    return host === null
      ? { problem: 'must be the name of a host, with or without its port, such as "api.example.com"' }
      : { value: host };
  },
  show: asIs,
};

/** The host in the form that messages have, because an address has many spellings. Null if the text is not a host. */
function hostAsSent(given: string): string | null {
  const target = /[/?#]/.test(given) ? null : parseTargetUrl(`http://${given}`);
  if (target === null || 'problem' in target) return null;
  const hasPort = /:\d+$/.test(given);
  return hasPort ? target.host : target.host.slice(0, target.host.lastIndexOf(':'));
}

const QUEUE = text('queue', isName, `the name of a queue: ${NAME_RULE}`);
const LABEL = text('label', isLabel, `a label: 1 to ${LABEL_LENGTH_MAX} printable ASCII characters without a comma`);
const SCHEDULE = text('schedule', isName, `the id of a schedule: ${NAME_RULE}`);

/** `byDefault` null: the field has no default, and is left out if it is not given. */
type Given = readonly [field: Field, byDefault: Value | null];

const SCOPE = { host: [HOST, null], queue: [QUEUE, null], label: [LABEL, null] } as const;

/** The fields of each rule, with their defaults. The default of `diskLow` depends on the service. */
const RULES: Readonly<Record<RuleType, Readonly<Record<string, Given>>>> = {
  messageFailed: {
    count: [whole('count', 1, 1000), 1],
    window: [duration('windowMs', MINUTE_MS, DAY_MS), '5m'],
    ...SCOPE,
  },
  failureRate: {
    share: [FAILED_SHARE, 0.1],
    window: [duration('windowMs', MINUTE_MS, HOUR_MS), '5m'],
    minimum: [whole('minimum', 1, 1_000_000), 10],
    ...SCOPE,
  },
  queueStalled: { olderThan: [duration('olderThanMs', 10 * SECOND_MS, 7 * DAY_MS), '5m'], queue: [QUEUE, null] },
  hostFailing: { attempts: [whole('attempts', 2, 100), 10], host: [HOST, null] },
  scheduleFailed: { schedule: [SCHEDULE, null] },
  quotaNear: { share: [QUOTA_SHARE, 0.8] },
  diskLow: { freeBytes: [whole('freeBytes', 1, 2 ** 50), null] },
};

/** How many unknown fields an error names at most, and how many characters of each name. */
const UNKNOWN_SAID_MAX = 5;
const NAME_SAID_MAX = 40;

const REMIND_EVERY = duration('remindEveryMs', MINUTE_MS, 30 * DAY_MS);
const TOP = ['alertId', 'rule', 'target', 'remindEvery'];

export interface AlertDefaults {
  /**
   * The limit of a `diskLow` rule that names none, in free bytes. Null if the data is in a database: the service has no
   * disk to watch then.
   */
  readonly freeBytes: number | null;
}

export type ParsedAlert =
  | { readonly definition: AlertDefinition }
  /** One line for each problem. */
  | { readonly problems: readonly string[] };

export function readAlert(given: unknown, defaults: AlertDefaults): ParsedAlert {
  const problems: string[] = [];
  const body = isRecord(given) ? given : {};
  unknownFields(body, TOP, '', problems);
  const rule = readRule(body.rule, defaults, problems);
  const target = readTarget(body.target, problems);
  const remindEveryMs = readRemindEvery(body.remindEvery, problems);
  if (problems.length > 0 || !rule || !target) return { problems };
  return { definition: { rule, target, remindEveryMs } };
}

function readRule(given: unknown, defaults: AlertDefaults, problems: string[]): AlertRule | null {
  if (!isRecord(given)) {
    problems.push('rule: must be an object with a "type"');
    return null;
  }
  const type = RULE_TYPES.find((each) => each === given.type);
  if (type === undefined) {
    problems.push(`rule.type: must be one of ${RULE_TYPES.join(', ')}`);
    return null;
  }
  if (type === 'diskLow' && defaults.freeBytes === null) {
    problems.push('rule.type: diskLow is not available: the data is in a database, whose disk the service cannot see');
    return null;
  }
  const fields = RULES[type];
  unknownFields(given, ['type', ...Object.keys(fields)], 'rule.', problems);
  const values = Object.entries(fields).map(([name, [{ key, read }, byDefault]]) => {
    const ownDefault = name === 'freeBytes' ? defaults.freeBytes : byDefault;
    const value = isAbsent(given[name]) ? ownDefault : given[name];
    const found = isAbsent(value) ? { value: null } : read(value);
    if ('problem' in found) problems.push(`rule.${name}: ${found.problem}`);
    return [key, 'value' in found ? found.value : null];
  });
  // The cast is safe: RULES has exactly the fields of each type.
  return { type, ...Object.fromEntries(values) } as AlertRule;
}

function readTarget(given: unknown, problems: string[]): AlertTarget | null {
  if (!isRecord(given)) {
    problems.push('target: must be an object with a "url"');
    return null;
  }
  unknownFields(given, ['url', 'format'], 'target.', problems);
  const format = isAbsent(given.format) ? 'json' : TARGET_FORMATS.find((each) => each === given.format);
  if (format === undefined) problems.push(`target.format: must be one of ${TARGET_FORMATS.join(', ')}`);
  const { url } = given;
  const parsed = typeof url === 'string' ? parseTargetUrl(url) : { problem: 'must be a URL' };
  if ('problem' in parsed) problems.push(`target.url: ${parsed.problem}`);
  return 'problem' in parsed || format === undefined ? null : { url: parsed.url, format };
}

function readRemindEvery(given: unknown, problems: string[]): number | null {
  if (isAbsent(given)) return null;
  const found = REMIND_EVERY.read(given);
  if ('value' in found) return Number(found.value);
  problems.push(`remindEvery: ${found.problem}`);
  return null;
}

export interface ShownDefinition {
  readonly rule: Readonly<Record<string, Value>> & { readonly type: RuleType };
  readonly target: { readonly url: string; readonly format: TargetFormat };
  readonly remindEvery?: string;
}

/** The alert as `readAlert` reads it: a person can change it and send it again. */
export function shownDefinition({ rule, target, remindEveryMs }: AlertDefinition): ShownDefinition {
  return {
    rule: shownRule(rule),
    target: { url: target.url, format: target.format },
    ...(remindEveryMs !== null && { remindEvery: formatDurationMs(remindEveryMs) }),
  };
}

export function shownRule(rule: AlertRule): ShownDefinition['rule'] {
  const values = new Map<string, Value | null>(Object.entries(rule));
  const shown = Object.entries(RULES[rule.type]).flatMap(([name, [{ key, show }]]) => {
    const value = values.get(key) ?? null;
    return value === null ? [] : [[name, show(value)]];
  });
  return { type: rule.type, ...Object.fromEntries(shown) };
}

function unknownFields(given: object, known: readonly string[], prefix: string, problems: string[]): void {
  const unknown = Object.keys(given).filter((each) => !known.includes(each));
  for (const name of unknown.slice(0, UNKNOWN_SAID_MAX).map((each) => each.slice(0, NAME_SAID_MAX))) {
    const meant = nearestName(name, known);
    const advice = meant === undefined ? `the fields are ${known.join(', ')}` : `did you mean "${meant}"?`;
    problems.push(`${prefix}${name}: there is no such field, ${advice}`);
  }
}

function isAbsent(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
