// Decides by its name what a header of a publish is: a setting, a trace header, another header with our prefix, or
// unknown. Names are cached, so that most headers cost one look-up.

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

/** The headers of a trace. They are forwarded, so that the delivery belongs to the trace of the caller. */
export const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** What a header means for a publish. */
interface Meaning {
  /** For a setting or another header that is read: the name under which its values are stored. */
  readonly storedAs: string | null;
  readonly isTrace: boolean;
  /** For a header with our prefix whose `storedAs` is null: the name without the prefix, in lower case. Else null. */
  readonly otherName: string | null;
  /** Whether the header is a setting with the prefix of another service. */
  readonly isForeign: boolean;
}

/**
 * Limits for the cache of meanings: its entries, and the length of a name in it. Callers send the same few names
 * repeatedly. The entries are for `meaningsPrefix` only.
 */
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
