// The filter of the message list. It has three forms: the page's address, the text in the box, and the API query.

import type { MessageFilter } from 'postrider-sdk';
import { listOf, type Search, textOf } from '../base/search.ts';
import { serviceNow } from '../base/service-time.ts';

const LISTS = [
  'state',
  'queueName',
  'topicName',
  'host',
  'url',
  'path',
  'label',
  'scheduleId',
  'flowControlKey',
  'debounceKey',
  'sourceMessageId',
  'callerIp',
  'responseStatus',
  'failure',
  'messageIds',
] as const;
const TEXTS = ['retried', 'fromDate', 'toDate', 'text'] as const;

export const FILTER_NAMES: readonly string[] = [...LISTS, ...TEXTS];

export function filterFromSearch(search: Search): MessageFilter {
  const filter: Record<string, string | string[]> = Object.create(null);
  for (const name of LISTS) {
    const values = listOf(search[name]);
    if (values.length > 0) filter[name] = values;
  }
  for (const name of TEXTS) {
    const value = textOf(search[name]);
    if (value !== '') filter[name] = value;
  }
  return { ...filter };
}

/** The prefixes of filters as people type them in the box: `queue:orders status:503`. */
const PREFIXES: ReadonlyMap<string, (typeof LISTS)[number]> = new Map<string, (typeof LISTS)[number]>([
  ['queue', 'queueName'],
  ['topic', 'topicName'],
  ['host', 'host'],
  ['url', 'url'],
  ['path', 'path'],
  ['label', 'label'],
  ['schedule', 'scheduleId'],
  ['flow', 'flowControlKey'],
  ['debounce', 'debounceKey'],
  ['source', 'sourceMessageId'],
  ['status', 'responseStatus'],
  ['ip', 'callerIp'],
]);

/** The filters in the typed text, and the text that remains without them. */
export function parseBox(typed: string): Search {
  const found: Record<string, string[]> = Object.create(null);
  const words: string[] = [];
  for (const word of typed.trim().split(/\s+/).filter(Boolean)) {
    const [, prefix, value] = /^(\w+):(?!\/\/)(.+)$/.exec(word) ?? [];
    const name = prefix === undefined ? undefined : PREFIXES.get(prefix.toLowerCase());
    if ((prefix === 'since' || prefix === 'until') && value !== undefined) {
      found[prefix === 'since' ? 'fromDate' : 'toDate'] = [instantOf(value)];
    } else if (name && value !== undefined) found[name] = [...(found[name] ?? []), value];
    else if (/^msg_[0-9A-Z]{26}$/i.test(word)) found.messageIds = [...(found.messageIds ?? []), word];
    else words.push(word);
  }
  return { ...found, ...(words.length > 0 && { text: words.join(' ') }) };
}

const UNITS_MS: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Reads a time. `15m` means 15 minutes ago; any other text is a date that the API reads. */
function instantOf(value: string): string {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(value) ?? [];
  return count && unit ? new Date(serviceNow() - Number(count) * UNITS_MS.get(unit)!).toISOString() : value;
}

export interface FilterChip {
  readonly name: string;
  readonly value: string;
  readonly label: string;
}

/** The chips of all filters except `state`, which has chips of its own, and `text`, which is in the search box. */
export function chipsOf(search: Search): FilterChip[] {
  return FILTER_NAMES.filter((name) => name !== 'state' && name !== 'text').flatMap((name) =>
    listOf(search[name]).map((value) => ({ name, value, label: CHIP_LABELS.get(name) ?? name })),
  );
}

const CHIP_LABELS: ReadonlyMap<string, string> = new Map([
  ['queueName', 'queue'],
  ['topicName', 'topic'],
  ['scheduleId', 'schedule'],
  ['flowControlKey', 'flow key'],
  ['debounceKey', 'debounce key'],
  ['sourceMessageId', 'caused by'],
  ['responseStatus', 'status'],
  ['callerIp', 'caller'],
  ['messageIds', 'id'],
  ['retried', 'sent again'],
  ['fromDate', 'from'],
  ['toDate', 'until'],
]);

export function withoutFilterValue(search: Search, name: string, value: string): Search {
  const rest = listOf(search[name]).filter((each) => each !== value);
  const { [name]: _gone, ...others } = search;
  return rest.length > 0 ? { ...others, [name]: rest } : others;
}

/**
 * The filters that the live stream of a list can use: their results never change during the life of a message. In the
 * stream, `state`, `fromDate` and `toDate` would select events, not messages; it has no `text` and `responseStatus`.
 */
export function streamFilter(filter: MessageFilter): MessageFilter {
  const {
    state: _state,
    text: _text,
    responseStatus: _status,
    fromDate: _from,
    toDate: _to,
    failure: _failure,
    retried: _retried,
    ...rest
  } = filter;
  return rest;
}
