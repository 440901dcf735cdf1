// Takes settings out of the query of the destination. All other bytes of the destination stay unchanged, so no URL
// parser is used. The values are validated by the same rules as headers.

import type { HeaderList } from '../delivery/message.ts';
import { foreignSetting } from './foreign-settings.ts';

export interface SeparatedSettings {
  readonly destination: string;
  /** The names are decoded, and keep the prefix and the letter case of the caller. A name may occur more than once. */
  readonly settings: HeaderList;
  /** Parameters that look like settings of another service. They stay in the query: the destination may need them. */
  readonly foreign: readonly string[];
}

const NO_NAMES: readonly string[] = [];

/** `known`: the names of settings, without the prefix. One that ends in "-" matches all names that start with it. */
export function separateSettings(
  destination: string,
  headerPrefix: string,
  known: ReadonlySet<string>,
): SeparatedSettings {
  const queryStart = destination.indexOf('?');
  if (queryStart === -1) return { destination, settings: [], foreign: NO_NAMES };
  const prefix = headerPrefix.toLowerCase();
  const settings: [string, string][] = [];
  const foreign: string[] = [];
  const left = destination
    .slice(queryStart + 1)
    .split('&')
    .filter((parameter) => {
      const equals = parameter.indexOf('=');
      const name = decoded(equals === -1 ? parameter : parameter.slice(0, equals));
      if (!isSetting(name.toLowerCase(), prefix, known)) {
        if (foreignSetting(name, headerPrefix) !== null) foreign.push(name);
        return true;
      }
      settings.push([name, equals === -1 ? '' : decoded(parameter.slice(equals + 1))]);
      return false;
    });
  if (settings.length === 0) return { destination, settings, foreign };
  const path = destination.slice(0, queryStart);
  return { destination: left.length === 0 ? path : `${path}?${left.join('&')}`, settings, foreign };
}

/**
 * Whether a name is a setting: the prefix, then a name in `known` or a name of a family in `known`. `lowerName` and
 * `prefix` are in lower case.
 */
export function isSetting(lowerName: string, prefix: string, known: ReadonlySet<string>): boolean {
  if (!lowerName.startsWith(prefix)) return false;
  const bare = lowerName.slice(prefix.length);
  for (const each of known) {
    const lowerKnown = each.toLowerCase();
    if (lowerKnown.endsWith('-') ? bare.startsWith(lowerKnown) : bare === lowerKnown) return true;
  }
  return false;
}

/** Text that is not correctly encoded is returned unchanged. It is then checked like any other value. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
