// Recognizes settings with the prefix of another service, such as `Upstash-Delay` where the prefix is `Service-`.
// Without this check, a client with the wrong prefix would lose all of its settings silently.

import { SETTING_NAMES } from './setting-table.ts';

/** The default prefix of this service, and the prefix of the public QStash clients. */
const PREFIXES = ['service-', 'upstash-'];

/** Settings that are not recognized: deliveries have headers with these names too, and a receiver may forward them. */
const OF_DELIVERIES: ReadonlySet<string> = new Set(['schedule-id', 'queue-name']);

const NAMES: readonly (readonly [lower: string, name: string])[] = SETTING_NAMES.map((name) => [
  name.toLowerCase(),
  name,
]);
const WHOLE: ReadonlyMap<string, string> = new Map(
  NAMES.filter(([lower]) => !lower.endsWith('-') && !OF_DELIVERIES.has(lower)),
);
const FAMILIES = NAMES.filter(([lower]) => lower.endsWith('-'));

/**
 * The setting, without a prefix, that a header with another prefix was probably meant to be. Null when the header does
 * not look like such a setting.
 */
export function foreignSetting(name: string, headerPrefix: string): string | null {
  const lower = name.toLowerCase();
  const prefix = PREFIXES.find((each) => lower.startsWith(each));
  if (prefix === undefined || prefix === headerPrefix.toLowerCase()) return null;
  const bare = lower.slice(prefix.length);
  const family = FAMILIES.find(([start]) => bare.startsWith(start) && bare.length > start.length);
  return WHOLE.get(bare) ?? (family ? family[1] + name.slice(prefix.length + family[1].length) : null);
}
