// Filters of lists and bulk calls, from the query string or a JSON body: the same names in both, one value or several.
// An unknown name is refused: an ignored filter would cancel messages that the caller did not want to cancel.

import { messageIdOf } from '../../../rules/delivery/callback.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { type MessageFilter, SHOWN_STATES, type ShownState } from '../../../rules/reads/message-filter.ts';
import { parseInstant } from '../../../rules/time/written-time.ts';
import type { PageRequest } from '../../../store/ports/message-store.ts';
import { ApiError } from '../errors.ts';
import Type from '../shapes/schema.ts';
import { cursorMarkOf, ORDER_BY_NAME, parseNumberCursor, toNumberCursor } from './cursors.ts';

const OneOrMore = Type.Union([Type.String(), Type.Array(Type.String())]);

/** The parameters of every list, besides its filters. */
export const PAGE_PARAMETERS = ['count', 'cursor', 'order'] as const;

type Given = Readonly<Record<string, unknown>>;

/** The filters of each kind of list. Bulk calls, events and counts accept most of them too. */
export const FILTER_NAMES = {
  messages: [
    'messageId',
    'messageIds',
    'state',
    'url',
    'host',
    'path',
    'topicName',
    'queueName',
    'scheduleId',
    'sourceMessageId',
    'label',
    'flowControlKey',
    'debounceKey',
    'callerIp',
    'responseStatus',
    'failure',
    'retried',
    'fromDate',
    'toDate',
    'text',
  ],
  deadLetters: [
    'messageId',
    'dlqIds',
    'url',
    'host',
    'topicName',
    'queueName',
    'scheduleId',
    'label',
    'flowControlKey',
    'debounceKey',
    'callerIp',
    'responseStatus',
    'failure',
    'retried',
    'fromDate',
    'toDate',
  ],
} as const;

export type FilterName = (typeof FILTER_NAMES)['messages' | 'deadLetters'][number];

/** A query schema with these names, for one string or several. It allows other names: `requestValues` refuses them. */
export function querySchema(names: readonly string[]) {
  return Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(OneOrMore)])));
}

/** The values of the query and, for calls that take one, of the body. Null and "" count as absent. */
export function requestValues(
  query: unknown,
  body: unknown,
  names: readonly string[],
  isForQstashClients: boolean = false,
): Given {
  const merged: Record<string, unknown> = Object.create(null);
  const sources = [query, body].map((source) => (source ?? {}) as Given);
  const filters = isForQstashClients ? sources.map(qstashFilters) : sources;
  for (const [name, value] of filters.flatMap((each) => Object.entries(each))) {
    if (!names.includes(name)) throw new ApiError('bad_filter', `${shortened(name)}: this call has no such filter`);
    if (value !== null && value !== '' && value !== undefined) merged[name] = value;
  }
  return merged;
}

function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

/**
 * Renames the filters of the public clients: `urlGroup` is a topic, and one text may hold several labels. This service
 * has no destination `api`, so that filter is dropped and a list shows everything. `refuseEmptyFilters` prevents a bulk
 * call with only `api` from selecting all.
 */
function qstashFilters({ urlGroup, topicName, api: _api, label, ...rest }: Given): Given {
  const topicNames = [topicName ?? [], urlGroup ?? []].flat().filter((each) => each !== '');
  const labels = [label ?? []].flat().flatMap(commaList);
  return {
    ...rest,
    ...(topicNames.length > 0 && { topicName: topicNames }),
    ...(labels.length > 0 && { label: labels }),
  };
}

function commaList(value: unknown): unknown[] {
  if (typeof value !== 'string') return [value];
  return value.split(',').flatMap((each) => (each.trim() === '' ? [] : each.trim()));
}

/**
 * Refuses a filter that is present but empty, such as an empty list of ids, which Go sends as null. Also refuses an
 * `all` that is not true. Neither may select all: only a call without any filter does.
 */
export function refuseEmptyFilters(...sources: readonly unknown[]): void {
  const first = sources
    .flatMap((source) => Object.entries((source ?? {}) as Given))
    .find(([name]) => !NOT_FILTERS.has(name));
  if (!first) return;
  const [name, value] = first;
  if (name === 'all') throw new ApiError('bad_filter', 'all: must be true; otherwise give a filter');
  if (name === 'retried' && value !== null && value !== '') {
    throw new ApiError('bad_filter', 'retried: cannot be the only filter; to select all, use all=true');
  }
  throw new ApiError('bad_filter', `${name}: is empty; give it a value, or leave it out to select all`);
}

/** Whether a bulk call explicitly selects all. A query says so as text, a body as text or a boolean. */
export function selectsAll(value: unknown): boolean {
  return (
    value === true || (typeof value !== 'boolean' && value !== undefined && parseSingleText('all', value) === 'true')
  );
}

const NOT_FILTERS: ReadonlySet<string> = new Set(PAGE_PARAMETERS);

const ID_NAMES: readonly FilterName[] = ['messageId', 'messageIds', 'dlqIds'];

export function parseMessageFilter(values: Given): MessageFilter {
  let characters = 0;
  const list = (name: FilterName) => {
    if (values[name] === undefined) return undefined;
    const parsed = parseTexts(name, values[name], eachMax(ID_NAMES.includes(name) ? 'filterIds' : 'filterValues'));
    characters = parsed.reduce((sum, { length }) => sum + length, characters);
    if (characters > eachMax('filterCharacters')) {
      throw new ApiError('bad_filter', `${name}: the filter is longer than ${eachMax('filterCharacters')} characters`);
    }
    return parsed;
  };
  const ids = [...(list('messageId') ?? []), ...(list('messageIds') ?? []), ...(list('dlqIds') ?? []).map(messageIdOf)];
  if (ids.length > eachMax('filterIds')) {
    throw new ApiError('bad_filter', `messageIds, dlqIds: at most ${eachMax('filterIds')} together in one call`);
  }
  const filter: { -readonly [K in keyof MessageFilter]: MessageFilter[K] | undefined } = {
    messageIds: ID_NAMES.some((name) => values[name] !== undefined) ? ids : undefined,
    states: list('state')?.flatMap(statesOf),
    urls: list('url'),
    hosts: list('host')?.map((host) => host.toLowerCase()),
    paths: list('path'),
    topicNames: list('topicName'),
    queueNames: list('queueName'),
    scheduleIds: list('scheduleId'),
    sourceMessageIds: list('sourceMessageId'),
    labels: list('label'),
    flowKeys: list('flowControlKey'),
    debounceKeys: list('debounceKey'),
    callerIps: list('callerIp'),
    statuses: list('responseStatus')?.map((text) => parseWholeNumber('responseStatus', text)),
    failures: list('failure'),
    isRetried: values.retried === undefined ? undefined : isRetried(parseSingleText('retried', values.retried)),
    fromAt: values.fromDate === undefined ? undefined : parseTimeValue('fromDate', values.fromDate),
    toAt: values.toDate === undefined ? undefined : parseTimeValue('toDate', values.toDate),
    text: searched(list('text')?.[0]),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Whether a list includes dead letters that were retried: true for only these, false for none, `any` for both. */
function isRetried(text: string): boolean | 'any' {
  if (text === 'any') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ApiError('bad_filter', 'retried: must be true, false or any');
}

/**
 * Whether a bulk call has no filter that narrows it down. `retried=false` alone does not: it matches nearly every
 * message.
 */
export function isEmptyFilter({ isRetried, ...filter }: MessageFilter): boolean {
  return isRetried !== true && Object.keys(filter).length === 0;
}

function searched(text: string | undefined): string | undefined {
  const max = eachMax('searchCharacters');
  if (text !== undefined && text.length > max) {
    throw new ApiError('bad_filter', `text: too long; the limit is ${max} characters`);
  }
  return text;
}

/** Reads the size and the order of a page. Its cursor is null here, because each list reads its own kind of cursor. */
export function parsePage(values: Given, countDefault: number, countMax: number, withBodies: boolean): PageRequest {
  const count =
    values.count === undefined ? countDefault : parseWholeNumber('count', parseSingleText('count', values.count));
  if (count < 1 || count > countMax) throw new ApiError('bad_parameter', `count: must be from 1 to ${countMax}`);
  const order = values.order === undefined ? 'newestFirst' : ORDER_BY_NAME.get(parseSingleText('order', values.order));
  if (!order) throw new ApiError('bad_parameter', `order: must be one of ${[...ORDER_BY_NAME.keys()].join(', ')}`);
  return { limit: count, cursor: null, order, withBodies };
}

/** Reads the cursor of a list of messages, and writes its next one. */
export function messageCursors(list: string, values: Given) {
  const mark = cursorMarkOf(list, values);
  return {
    from:
      values.cursor === undefined ? null : parseNumberCursor(parseSingleText('cursor', values.cursor), mark).position,
    /** The cursor field of the response. The last page has none. */
    next: (cursor: number | null) =>
      cursor === null ? {} : { cursor: toNumberCursor({ position: cursor, seen: 0 }, mark) },
  };
}

function statesOf(text: string): readonly ShownState[] {
  const state = parseStateName(text);
  if (state === 'IN_PROGRESS') return ['ACTIVE', 'RETRY'];
  if (state === 'ERROR') return ['RETRY'];
  const known = SHOWN_STATES.find((each) => each === state);
  if (known) return [known];
  throw new ApiError('bad_filter', `state: must be one of ${SHOWN_STATES.join(', ')}, IN_PROGRESS`);
}

/** The state name of this service, for any letter case. The public clients write CANCELED. */
export function parseStateName(text: string): string {
  const name = text.toUpperCase();
  return name === 'CANCELED' ? 'CANCELLED' : name;
}

export function parseTexts(name: string, value: unknown, countMax = eachMax('filterValues')): string[] {
  const all = Array.isArray(value) ? value : [value];
  if (all.length > countMax) throw new ApiError('bad_filter', `${name}: at most ${countMax} values in one call`);
  return all.map((each) => {
    if (typeof each === 'string' || typeof each === 'number') return String(each);
    throw new ApiError('bad_filter', `${name}: must be a string or a list of strings`);
  });
}

export function parseSingleText(name: string, value: unknown): string {
  const all = parseTexts(name, value);
  if (all.length !== 1) throw new ApiError('bad_parameter', `${name}: must be given only once`);
  return all[0]!;
}

export function parseWholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(number)) {
    throw new ApiError('bad_parameter', `${name}: must be a whole number, 0 or more`);
  }
  return number;
}

/** Parses a time: milliseconds since 1970, or an ISO date. */
export function parseTimeValue(name: string, value: unknown): number {
  const at = parseInstant(parseSingleText(name, value));
  if (typeof at === 'number') return at;
  throw new ApiError('bad_filter', `${name}: ${at.problem}`);
}
