// Finds unknown flags and variables, and suggests what was probably meant.

import { nearestName } from '../../rules/requests/nearest-name.ts';

export function unknownFlag(flag: string, known: readonly string[]): string {
  const wanted = flag.toLowerCase().replaceAll('_', '-');
  const guess =
    nearestName(wanted, known) ?? known.find((one) => one.startsWith(wanted) || wanted.startsWith(`${one}-`));
  return `unknown flag --${flag}${guess === undefined ? '; --help lists all' : `; did you mean --${guess}?`}`;
}

/** Only near misses: other programs and Kubernetes may set their own variables with our prefix. */
export function misspeltVariables(names: readonly string[], known: readonly string[], prefix: string): string[] {
  const bare = known.map((one) => one.slice(prefix.length));
  return names
    .filter((name) => name.startsWith(prefix) && !known.includes(name))
    .flatMap((name) => {
      const guess = nearestName(name.slice(prefix.length), bare);
      return guess === undefined ? [] : [`unknown variable ${name}; did you mean ${prefix}${guess}?`];
    });
}
