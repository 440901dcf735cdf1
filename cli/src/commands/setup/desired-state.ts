// The file of `apply` and `export`: its format, and how it differs from what a service has. The functions are pure:
// they get text and lists, and return problems and changes.

import { createHash } from 'node:crypto';
import { nearestName } from '../../../../server/src/rules/requests/nearest-name.ts';
import { formatDurationMs, parseAnyDurationMs } from '../../../../server/src/rules/time/duration.ts';
import { type AlertState, alertProblems, withAlertDefaults } from './desired-alerts.ts';
import { valueProblems } from './state-values.ts';

export interface QueueState {
  readonly name: string;
  readonly parallelism?: number;
  readonly paused?: boolean;
  /** A duration, as the service writes it: `10m`. */
  readonly expires?: string;
  readonly priority?: number;
  readonly outage?: 'retry' | 'park';
}

export interface TopicState {
  readonly name: string;
  readonly endpoints: readonly { readonly url: string; readonly name?: string }[];
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export interface ScheduleState {
  readonly id: string;
  readonly cron: string;
  readonly destination: string;
  readonly queue?: string;
  readonly paused?: boolean;
  readonly overlap?: string;
  readonly jitter?: string;
  readonly method?: string;
  /** Headers for the destination, including Content-Type. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly bodyBase64?: string;
  /** Settings of its messages by the names of the API, without the prefix. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface State {
  readonly queues?: readonly QueueState[];
  readonly topics?: readonly TopicState[];
  readonly schedules?: readonly ScheduleState[];
  readonly alerts?: readonly AlertState[];
}

export type Kind = 'queue' | 'topic' | 'schedule' | 'alert';

export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: Kind;
  readonly name: string;
  /** The fields that differ, with the text before and after. */
  readonly fields: readonly { readonly field: string; readonly before: string | null; readonly after: string | null }[];
}

/** `checked` means that the field is checked together with the rest of its entry. */
type Shape = 'text' | 'number' | 'count' | 'switch' | 'endpoints' | 'texts' | 'lists' | 'checked';

const FIELDS: Readonly<Record<Kind, ReadonlyMap<string, Shape>>> = {
  queue: new Map<string, Shape>([
    ['name', 'text'],
    ['parallelism', 'number'],
    ['paused', 'switch'],
    ['expires', 'text'],
    ['priority', 'count'],
    ['outage', 'text'],
  ]),
  topic: new Map<string, Shape>([
    ['name', 'text'],
    ['endpoints', 'endpoints'],
    ['headers', 'lists'],
  ]),
  schedule: new Map<string, Shape>([
    ['id', 'text'],
    ['cron', 'text'],
    ['destination', 'text'],
    ['queue', 'text'],
    ['paused', 'switch'],
    ['overlap', 'text'],
    ['jitter', 'text'],
    ['method', 'text'],
    ['headers', 'texts'],
    ['body', 'text'],
    ['bodyBase64', 'text'],
    ['settings', 'texts'],
  ]),
  alert: new Map<string, Shape>([
    ['id', 'text'],
    ['rule', 'checked'],
    ['target', 'checked'],
    ['remindEvery', 'checked'],
  ]),
};
const REQUIRED: Readonly<Record<Kind, readonly string[]>> = {
  queue: ['name'],
  topic: ['name', 'endpoints'],
  schedule: ['id', 'cron', 'destination'],
  alert: ['id', 'rule', 'target'],
};
const SECTIONS: ReadonlyMap<string, Kind> = new Map([
  ['queues', 'queue'],
  ['topics', 'topic'],
  ['schedules', 'schedule'],
  ['alerts', 'alert'],
]);

const nameOf = (kind: Kind, entry: object): string => {
  const { name, id } = entry as { name?: unknown; id?: unknown };
  return String((kind === 'schedule' || kind === 'alert' ? id : name) ?? '');
};

/** The state that a file describes, or all problems of the file. */
export function readState(value: unknown): { readonly state: State } | { readonly problems: readonly string[] } {
  // An empty file is most likely the output of something that failed. With --prune it must not delete everything.
  if (value === null || value === undefined || (isRecord(value) && Object.keys(value).length === 0)) {
    return { problems: ['it is empty: give it a section, such as queues: []'] };
  }
  if (!isRecord(value)) return { problems: ['the file must have sections: queues, topics, schedules, alerts'] };
  const problems: string[] = [];
  for (const [section, entries] of Object.entries(value)) {
    const kind = SECTIONS.get(section);
    if (kind === undefined) problems.push(unknownSection(section));
    else problems.push(...wrongEntries(kind, entries, section));
  }
  return problems.length > 0 ? { problems } : { state: withTexts(value) };
}

function wrongEntries(kind: Kind, entries: unknown, section: string): string[] {
  if (!Array.isArray(entries)) return [`${section} must be a list`];
  const names = entries.filter(isRecord).map((entry) => nameOf(kind, entry));
  const twice = names.filter((name, index) => name !== '' && names.indexOf(name) !== index);
  return [
    ...entries.flatMap((entry, index) => wrongEntry(kind, entry, `${section}[${index}]`)),
    ...new Set(twice.map((name) => `${section} has "${name}" more than once`)),
  ];
}

function unknownSection(section: string): string {
  const guess = nearestName(section, [...SECTIONS.keys()]);
  return `unknown section "${section}"${guess ? `; did you mean "${guess}"?` : `; there are ${[...SECTIONS.keys()].join(', ')}`}`;
}

function wrongEntry(kind: Kind, entry: unknown, at: string): string[] {
  if (!isRecord(entry)) return [`${at} must have fields such as ${REQUIRED[kind].join(', ')}`];
  const fields = FIELDS[kind];
  const missing = REQUIRED[kind]
    .filter((field) => !Object.hasOwn(entry, field))
    .map((field) => `${at}: ${field} is missing`);
  const wrong = Object.entries(entry).flatMap(([field, value]) => {
    const shape = fields.get(field);
    if (shape !== undefined) {
      const ofShape = wrongShape(shape, value, `${at}.${field}`);
      return ofShape.length > 0 ? ofShape : valueProblems(kind, field, value, `${at}.${field}`);
    }
    const guess = nearestName(field, [...fields.keys()]);
    return [
      `${at}: unknown field "${field}"${guess ? `; did you mean "${guess}"?` : `; there are ${[...fields.keys()].join(', ')}`}`,
    ];
  });
  const both = kind === 'schedule' && Object.hasOwn(entry, 'body') && Object.hasOwn(entry, 'bodyBase64');
  const known = Object.fromEntries(Object.entries(entry).filter(([field]) => fields.has(field)));
  const ofAlert = kind === 'alert' && missing.length === 0 ? alertProblems(known, at) : [];
  return [...missing, ...wrong, ...ofAlert, ...(both ? [`${at}: give body or bodyBase64, not both`] : [])];
}

const isScalar = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const isText = (value: unknown) => typeof value === 'string';
const isEndpoint = (value: unknown) =>
  isRecord(value) && isText(value.url) && (value.name === undefined || isText(value.name));

const PLAIN: ReadonlyMap<Shape, readonly [isRight: (value: unknown) => boolean, must: string]> = new Map([
  ['checked', [() => true, '']],
  ['text', [isText, 'must be a text: put it in quotes']],
  ['number', [(value) => Number.isInteger(value) && (value as number) > 0, 'must be a whole number, 1 or more']],
  ['count', [(value) => Number.isInteger(value) && (value as number) >= 0, 'must be a whole number']],
  ['switch', [(value) => typeof value === 'boolean', 'must be true or false']],
]);

function wrongShape(shape: Shape, value: unknown, at: string): string[] {
  const [isRight, must] = PLAIN.get(shape) ?? [];
  if (isRight) return isRight(value) ? [] : [`${at} ${must}`];
  if (shape === 'endpoints') {
    if (!Array.isArray(value) || value.length === 0) return [`${at} must be a list with at least one endpoint`];
    return value.flatMap((each, index) =>
      isEndpoint(each) ? [] : [`${at}[${index}] must have a url, and may have a name`],
    );
  }
  if (!isRecord(value)) return [`${at} must have names and values`];
  return Object.entries(value).flatMap(([name, each]) => {
    const isList = shape === 'lists' && Array.isArray(each) && each.every(isScalar);
    return isScalar(each) || isList ? [] : [`${at}.${name} must be a text`];
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Turns numbers and booleans among headers and settings into text, because they are sent as text. */
function withTexts(value: Readonly<Record<string, unknown>>): State {
  const texts = (map: object | undefined) =>
    map &&
    Object.fromEntries(
      Object.entries(map).map(([name, each]) => [name, Array.isArray(each) ? each.map(String) : String(each)]),
    );
  const state = value as State;
  return {
    ...(state.queues && { queues: state.queues.map(withShownExpiry) }),
    ...(state.alerts && { alerts: state.alerts }),
    ...(state.topics && {
      topics: state.topics.map((topic) => ({ ...topic, ...(topic.headers && { headers: texts(topic.headers)! }) })),
    }),
    ...(state.schedules && {
      // The service does not return the default method of a schedule.
      schedules: state.schedules.map(({ method, overlap, jitter, ...schedule }) => ({
        ...schedule,
        // Nor does it return `allow`, and it returns a jitter as a number.
        ...(overlap !== undefined && overlap.toLowerCase() !== 'allow' && { overlap: overlap.toLowerCase() }),
        ...jitterState(parseAnyDurationMs(jitter ?? '0') ?? 0),
        ...(method !== undefined && method !== 'POST' && { method }),
        ...(schedule.headers && { headers: texts(schedule.headers) as Record<string, string> }),
        ...(schedule.settings && { settings: texts(schedule.settings) as Record<string, string> }),
      })),
    }),
  };
}

/** A jitter in one notation, so that `60s` and `1m` are the same. None is left out. */
export function jitterState(ms: number): { readonly jitter?: string } {
  return ms === 0 ? {} : { jitter: formatDurationMs(ms) };
}

/** The service returns a duration in one form, whatever the file says. */
function withShownExpiry({ expires, ...queue }: QueueState): QueueState {
  const ms = expires === undefined ? null : parseAnyDurationMs(expires);
  return { ...queue, ...(ms !== null && { expires: formatDurationMs(ms) }) };
}

/** The changes after which `actual` is like `desired`. Without `isPruned`, what the file does not name stays. */
export function diffStates(desired: State, actual: State, isPruned: boolean): Change[] {
  const alerts = desired.alerts?.map((alert) =>
    withAlertDefaults(
      alert,
      actual.alerts?.find(({ id }) => id === alert.id),
    ),
  );
  return [
    ...diffList('queue', desired.queues, actual.queues ?? [], isPruned),
    ...diffList('topic', desired.topics, actual.topics ?? [], isPruned),
    ...diffList('schedule', desired.schedules, actual.schedules ?? [], isPruned),
    ...diffList('alert', alerts, actual.alerts ?? [], isPruned),
  ];
}

function diffList(
  kind: Kind,
  desired: readonly object[] | undefined,
  actual: readonly object[],
  isPruned: boolean,
): Change[] {
  if (desired === undefined) return [];
  const before = new Map(actual.map((entry) => [nameOf(kind, entry), entry]));
  const changes = desired.flatMap((entry): Change[] => {
    const name = nameOf(kind, entry);
    const old = before.get(name);
    const fields = diffFields(kind, old ?? {}, entry);
    if (old === undefined) return [{ action: 'create', kind, name, fields }];
    return fields.length === 0 ? [] : [{ action: 'update', kind, name, fields }];
  });
  const wanted = new Set(desired.map((entry) => nameOf(kind, entry)));
  const surplus = [...before.keys()].filter((name) => isPruned && !wanted.has(name));
  return [...changes, ...surplus.map((name): Change => ({ action: 'delete', kind, name, fields: [] }))];
}

function diffFields(kind: Kind, before: object, after: object): Change['fields'] {
  const [old, wanted] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...FIELDS[kind].keys()].flatMap((field) => {
    if (field === 'name' || field === 'id') return [];
    // A schedule or an alert is replaced completely. For all other kinds, what the file does not mention stays
    // unchanged.
    const isWhole = kind === 'schedule' || kind === 'alert';
    const isLeft = !wanted.has(field) && (!isWhole || field === 'paused');
    if (isLeft) return [];
    const [from, to] = [textOf(old.get(field)), textOf(wanted.get(field))];
    return isSame(old.get(field), wanted.get(field)) ? [] : [{ field, before: from, after: to }];
  });
}

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Compares two values. A redacted value is compared by its hash. */
function isSame(actual: unknown, desired: unknown): boolean {
  if (actual === desired) return true;
  if (actual === undefined || desired === undefined) return isEmpty(actual) && isEmpty(desired);
  if (typeof actual === 'string' && typeof desired === 'string') {
    return actual === `REDACTED:${createHash('sha256').update(desired).digest('hex')}`;
  }
  if (Array.isArray(actual) && Array.isArray(desired)) {
    return actual.length === desired.length && actual.every((each, index) => isSame(each, desired[index]));
  }
  if (!isRecord(actual) || !isRecord(desired)) return String(actual) === String(desired);
  const [old, wanted] = [lowered(actual), lowered(desired)];
  return [...new Set([...old.keys(), ...wanted.keys()])].every((name) => isSame(old.get(name), wanted.get(name)));
}

const isEmpty = (value: unknown) =>
  value === undefined || value === false || (isRecord(value) && Object.keys(value).length === 0);

/** The record with its names in lower case, because names of headers and settings ignore case. */
function lowered(record: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value]));
}
