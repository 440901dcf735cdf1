// Reads the flags of a command line. Reports all errors; parseArgs stops at the first one.

import { unknownFlag } from './near-misses.ts';
import type { Kind } from './setting-kind.ts';

/** `kinds` are the known flags. `given` has the texts of those that were given; the texts of a list are joined. */
export function readFlags(
  kinds: ReadonlyMap<string, Pick<Kind<unknown>, 'placeholder' | 'isList'>>,
  argv: readonly string[],
) {
  const given = new Map<string, string>();
  const problems: string[] = [];
  for (let i = 0; i < argv.length; i += 1) {
    const argument = argv[i]!;
    const [, flag, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    const next = argv[i + 1];
    const hasNext = inline === undefined && next !== undefined && !next.startsWith('--');
    const kind = flag === undefined ? undefined : kinds.get(flag);
    if (flag === undefined || kind === undefined) {
      problems.push(
        flag === undefined ? `unexpected argument ${quote(argument)}` : unknownFlag(flag, [...kinds.keys()]),
      );
      if (flag !== undefined && hasNext) i += 1; // most likely the value of the unknown flag: one mistake, one problem
      continue;
    }
    const isSwitch = kind.placeholder === null;
    const value = inline ?? (isSwitch ? 'true' : hasNext ? next : '');
    if (!isSwitch && hasNext) i += 1;
    const before = given.get(flag);
    if (value === '') problems.push(`--${flag} needs a value${isSwitch ? '' : `: --${flag} ${kind.placeholder}`}`);
    else if (before !== undefined && !kind.isList) problems.push(`--${flag} is given more than once`);
    else given.set(flag, before === undefined ? value : `${before},${value}`);
  }
  return { given, problems };
}

export function quote(given: string): string {
  return JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
}
