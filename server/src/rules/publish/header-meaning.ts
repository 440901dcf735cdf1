// What a header of a publish is, by its name: a setting, a trace header, another header with our prefix, or unknown.
// Names are cached, so that most headers cost one look-up.

import { foreignSetting } from './foreign-settings.ts';
import { SETTING_NAMES } from './setting-table.ts';

/**
 * Headers with our prefix, as a map: from the lower-case name without the prefix to the name under which its values are
 * stored.
 */
const OWN_NAMES: ReadonlyMap<string, string> = new Map(
  [...SETTING_NAMES, 'Hops', 'Descendants-Left']
    .filter((name) => !name.endsWith('-'))
    .map((name) => [name.toLowerCase(), name]),
);
/** Headers without our prefix, as a map: from the lower-case name to the name under which its values are stored. */
const READ_NAMES: ReadonlyMap<string, string> = new Map([
  ['content-type', 'Content-Type'],
  ['idempotency-key', 'Idempotency-Key'],
]);

/** Forwarded when the caller traces, so that the delivery belongs to the same trace. */
export const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** What a header is to a publish, by its name. */
interface Meaning {
  /** A setting, or another header that is read: the name under which its values are stored. */
  readonly storedAs: string | null;
  readonly isTrace: boolean;
  /** With our prefix but not a plain setting: the name without the prefix, in lower case. */
  readonly otherName: string | null;
  /** A setting with the prefix of another service. */
  readonly isForeign: boolean;
}

/** Callers send the same few names repeatedly. All entries have one prefix. */
const MEANINGS_MAX = 1000;
const MEANING_LENGTH_MAX = 64;
const meanings = new Map<string, Meaning>();
let meaningsPrefix = '';

export function meaningOf(name: string, headerPrefix: string): Meaning {
  if (headerPrefix !== meaningsPrefix || meanings.size >= MEANINGS_MAX) {
    meanings.clear();
    meaningsPrefix = headerPrefix;
  }
  const known = meanings.get(name);
  if (known !== undefined) return known;
  const meaning = readMeaning(name.toLowerCase(), headerPrefix.toLowerCase());
  if (name.length <= MEANING_LENGTH_MAX) meanings.set(name, meaning);
  return meaning;
}

function readMeaning(lowerName: string, prefix: string): Meaning {
  const bare = lowerName.startsWith(prefix) ? lowerName.slice(prefix.length) : null;
  const storedAs = READ_NAMES.get(lowerName) ?? (bare === null ? undefined : OWN_NAMES.get(bare)) ?? null;
  return {
    storedAs,
    isTrace: TRACE_HEADERS.has(lowerName),
    otherName: storedAs === null ? bare : null,
    isForeign: bare === null && foreignSetting(lowerName, prefix) !== null,
  };
}
