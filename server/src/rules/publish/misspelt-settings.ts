// Finds headers with our prefix that are not settings but look like misspelt ones, settings with the prefix of another
// service, and unknown fields in elements of a batch. Without these checks, `Service-Retires: 9` and `"delay": "1h"`
// would be accepted silently and have no effect.

import { withEntry } from '../../runtime/collections/short-list.ts';
import { nearestName } from '../requests/nearest-name.ts';
import { type Problem, problem } from '../requests/problem.ts';
import { foreignSetting } from './foreign-settings.ts';
import { CALLBACK_NAMES, SETTING_NAMES } from './setting-table.ts';

export interface MisspeltSetting {
  /** The name as the caller wrote it, without our prefix. The prefix of another service is a part of the name. */
  readonly name: string;
  /** The setting that was probably meant, or the setting that this one needs to have an effect. */
  readonly meant: string;
  /** The name is a setting, but has no effect because `meant` is missing. */
  readonly isAlone?: true;
  /** The name has the prefix of another service. */
  readonly isForeign?: true;
}

/** How many unknown names of one message are checked, each up to this length: the search for a near name costs time. */
const LOOKED_AT_MAX = 4;
const NAME_LENGTH_MAX = 64;

const LOWER_NAMES = new Map(SETTING_NAMES.map((name) => [name.toLowerCase(), name]));
const WHOLE_NAMES = [...LOWER_NAMES.keys()].filter((name) => !name.endsWith('-'));
const FAMILIES = [...LOWER_NAMES.keys()].filter((name) => name.endsWith('-'));

/** Headers of our deliveries, without the prefix. A receiver that forwards its headers sends these back to us. */
const DELIVERED_NAMES: ReadonlySet<string> = new Set([
  'message-id',
  'retried',
  'topic-name',
  'caller-ip',
  'signature',
  'hops',
  'descendants-left',
]);

/** The misspelt settings of a publish. `unknown`: its `unknownNames`, see ParsedPublishRequest. */
export function misspeltSettings(unknown: readonly string[], headerPrefix: string): MisspeltSetting[] {
  return unknown.slice(0, LOOKED_AT_MAX).flatMap((name): MisspeltSetting[] => {
    const foreign = foreignSetting(name, headerPrefix);
    if (foreign !== null) {
      return [{ name: name.slice(0, NAME_LENGTH_MAX), meant: foreign.slice(0, NAME_LENGTH_MAX), isForeign: true }];
    }
    const callback = callbackOf(name.toLowerCase());
    if (callback !== undefined) return [{ name: name.slice(0, NAME_LENGTH_MAX), meant: callback, isAlone: true }];
    const meant = settingMeant(name.toLowerCase());
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** The callback that a setting belongs to. If a setting of a callback has no effect, this callback is missing. */
function callbackOf(lowerName: string): string | undefined {
  const isSetting = LOWER_NAMES.has(lowerName) || FAMILIES.some((family) => lowerName.startsWith(family));
  return isSetting ? CALLBACK_NAMES.find((callback) => lowerName.startsWith(`${callback.toLowerCase()}-`)) : undefined;
}

function settingMeant(lowerName: string): string | undefined {
  if (lowerName.length > NAME_LENGTH_MAX || DELIVERED_NAMES.has(lowerName)) return undefined;
  const whole = nearestName(lowerName, WHOLE_NAMES);
  if (whole !== undefined) return LOWER_NAMES.get(whole);
  const parts = lowerName.split('-');
  for (const family of FAMILIES) {
    // Of the name, only as many parts as the family has are compared: the caller chooses the rest.
    const length = family.split('-').length - 1;
    if (parts.length <= length) continue;
    const start = `${parts.slice(0, length).join('-')}-`;
    if (nearestName(start, [family]) === undefined) continue;
    return LOWER_NAMES.get(family)! + parts.slice(length).join('-');
  }
  return undefined;
}

/** Why a publish with these names is refused when settings are strict, or null. */
export function misspeltProblem(
  unknown: readonly string[],
  headerPrefix: string,
): { readonly problem: Problem } | null {
  const [first] = unknown.length === 0 ? [] : misspeltSettings(unknown, headerPrefix);
  if (!first) return null;
  const meant = shown(first.meant, headerPrefix);
  if (first.isForeign) {
    const why = `settings of this service start with ${headerPrefix}; did you mean ${meant}?`;
    return problem('bad_header', `${visible(first.name)}: ${why}`);
  }
  const why = first.isAlone ? `has no effect without ${meant}` : `is not known; did you mean ${meant}?`;
  return problem('bad_header', `${shown(first.name, headerPrefix)}: ${why}`);
}

export function misspeltWarning({ name, meant, isAlone, isForeign }: MisspeltSetting, headerPrefix: string): string {
  const known = shown(meant, headerPrefix);
  if (isForeign) {
    return `${visible(name)} was ignored, because settings of this service start with ${headerPrefix}; did you mean ${known}?`;
  }
  const unknown = shown(name, headerPrefix);
  if (isAlone) return `${unknown} was ignored: it has no effect without ${known}`;
  return `${unknown} is not known and was ignored; did you mean ${known}?`;
}

/** The fields of an element of a batch. */
const FIELDS = ['destination', 'queue', 'headers', 'body', 'bodyBase64'];
const LOWER_FIELDS = new Map(FIELDS.map((name) => [name.toLowerCase(), name]));
const KNOWN_FIELDS: ReadonlySet<string> = new Set(FIELDS);
const NO_FIELDS: readonly string[] = [];

/** The first few unknown fields of an element. */
export function unknownFields(element: object): readonly string[] {
  let unknown: string[] | null = null;
  for (const name of Object.keys(element)) {
    if (KNOWN_FIELDS.has(name)) continue;
    unknown = withEntry(unknown, name.slice(0, NAME_LENGTH_MAX));
    if (unknown.length === LOOKED_AT_MAX) break;
  }
  return unknown ?? NO_FIELDS;
}

/** Why an element with this unknown field is refused when settings are strict. */
export function unknownFieldProblem(name: string, headerPrefix: string): { readonly problem: Problem } {
  return problem('bad_body', `${fieldShown(name)} is not known${fieldMeant(name, headerPrefix)}`);
}

export function unknownFieldWarning(name: string, headerPrefix: string): string {
  return `${fieldShown(name)} is not known and was ignored${fieldMeant(name, headerPrefix)}`;
}

function fieldShown(name: string): string {
  return `the field "${visible(name)}" of an element`;
}

function fieldMeant(name: string, headerPrefix: string): string {
  const lowerName = name.toLowerCase();
  const field = nearestName(lowerName, [...LOWER_FIELDS.keys()]);
  if (field !== undefined) return `; did you mean "${LOWER_FIELDS.get(field)}"?`;
  // `retryDelay` and `retry_delay` are the usual spellings in JSON.
  const setting = settingMeant(name.replaceAll(/(?<=[a-z])(?=[A-Z])|_/g, '-').toLowerCase());
  return setting === undefined ? '' : `; did you mean the header ${headerPrefix}${setting}?`;
}

/** The name as visible ASCII, which a header can carry. A name from JSON may have other characters. */
function visible(name: string): string {
  return name.replaceAll(/[^\x21-\x7e]/g, '?');
}

function shown(name: string, headerPrefix: string): string {
  return headerPrefix + visible(name);
}
