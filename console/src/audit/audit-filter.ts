// The filter of the audit. It has three forms: the page's address, the text in the box, and the API query.

import { listOf, type Search, textOf } from '../base/search.ts';
import type { FilterChip } from '../parts/filter.ts';

const LISTS = ['token', 'call', 'target', 'result', 'address', 'account'] as const;
const TEXTS = ['fromDate', 'toDate'] as const;

export function auditQuery(search: Search) {
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

/** The prefixes of filters as people type them in the box: `by:ci target:orders`. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['by', 'token'],
  ['target', 'target'],
  ['result', 'result'],
  ['from', 'address'],
  ['account', 'account'],
  ['since', 'fromDate'],
  ['until', 'toDate'],
]);

/** The filters in the typed text. A word without a prefix is a target; behind `call:` everything is the call. */
export function parseAuditBox(typed: string): Search {
  const [words = '', call] = typed.split(/(?:^|\s)call:/, 2);
  const found: Record<string, string[]> = Object.create(null);
  const add = (name: string, value: string) => {
    found[name] = [...(found[name] ?? []), value];
  };
  for (const word of words.trim().split(/\s+/).filter(Boolean)) {
    const [, prefix = '', value] = /^(\w+):(.+)$/.exec(word) ?? [];
    const name = PREFIXES.get(prefix.toLowerCase());
    if (name !== undefined && value !== undefined) add(name, value);
    else add('target', word);
  }
  if (call?.trim()) add('call', call.trim());
  return { ...found };
}

const CHIP_LABELS: ReadonlyMap<string, string> = new Map([
  ['token', 'by'],
  ['address', 'from'],
  ['fromDate', 'since'],
  ['toDate', 'until'],
]);

export function auditChips(search: Search): FilterChip[] {
  return [...LISTS, ...TEXTS].flatMap((name) =>
    listOf(search[name]).map((value) => ({ name, value, label: CHIP_LABELS.get(name) ?? name })),
  );
}

/** The search with one more value of a filter. */
export function withFilterValue(search: Search, name: string, value: string): Search {
  return { ...search, [name]: [...listOf(search[name]).filter((each) => each !== value), value] };
}
