// Parses the arguments of a command by its table. Reports all problems at once, each with a suggestion.

import { isSwitch, type KnownFlag, quote, readFlags } from '../../../server/src/node/settings/read-flags.ts';
import { parseDurationMs } from '../../../server/src/rules/time/duration.ts';
import { printable } from './printable.ts';
import { readTime } from './time-text.ts';

/** How the value of a flag is read. */
export type FlagKind = 'text' | 'number' | 'duration' | 'time';

export interface FlagSpec extends KnownFlag {
  readonly name: string;
  readonly about: string;
  readonly kind?: FlagKind;
  /** The only values that the flag takes. */
  readonly values?: readonly string[];
  /** The flag has no effect without this other flag, so it is refused without it. */
  readonly needs?: string;
  /** The flag cannot be given together with any of these flags. */
  readonly not?: readonly string[];
  /** For a command that takes ids or filters: the flag applies to only one of the two. */
  readonly by?: 'id' | 'filter';
}

export interface ArgumentSpec {
  readonly name: string;
  readonly about: string;
  readonly isOptional?: boolean;
  /** Whether the argument takes all words that follow. */
  readonly isRepeated?: boolean;
  readonly values?: readonly string[];
}

/** The arguments and flags of a call. Their names are those of the table; the parser has checked their values. */
export interface Args {
  /** The arguments in order, without flags. */
  readonly words: readonly string[];
  has(flag: string): boolean;
  text(flag: string): string | undefined;
  list(flag: string): readonly string[];
  number(flag: string): number | undefined;
  /** The value of a flag in milliseconds. */
  duration(flag: string): number | undefined;
  /**
   * The value of a flag in milliseconds since 1970. A value such as `1h` counts back from `now`, by default the time of
   * this machine.
   */
  time(flag: string, now?: number): number | undefined;
  /** The flags that the caller gave and that no code has read yet, except for those that are allowed without effect. */
  unread(): readonly string[];
}

export interface Shape {
  readonly arguments: readonly ArgumentSpec[];
  readonly flags: readonly FlagSpec[];
}

export type Parsed = { readonly given: Args } | { readonly problems: readonly string[] } | { readonly help: true };

const NUMBER = /^\d{1,15}$/;
/** Flags that are allowed even where they change nothing: the output format, and --yes where no question is asked. */
const ALWAYS_FINE: readonly string[] = ['json', 'no-color', 'quiet', 'yes'];

export function parseArguments(shape: Shape, argv: readonly string[], now: number): Parsed {
  const line = readFlags(new Map(shape.flags.map((flag) => [flag.name, flag])), argv);
  const { values, words, hasUnknown } = line;
  if (line.isHelp) return { help: true };
  const problems = line.problems.map(printable);
  const flagProblems = shape.flags.flatMap((flag) =>
    (values.get(flag.name) ?? []).flatMap((value) => valueProblems(flag, value, now) ?? []),
  );
  const all = [...problems, ...flagProblems, ...(hasUnknown ? [] : wrongWords(shape.arguments, words))];
  const isOff = (flag: FlagSpec) => isSwitch(flag) && values.get(flag.name)?.[0] === 'false';
  for (const { name } of shape.flags.filter(isOff)) values.delete(name);
  const wrong = all.length > 0 ? all : wrongTogether(shape.flags, values, words);
  return wrong.length > 0 ? { problems: wrong } : { given: givenOf(values, words, now) };
}

/** The problems with flags that have no effect together with the other flags or arguments. */
function wrongTogether(
  flags: readonly FlagSpec[],
  values: ReadonlyMap<string, unknown>,
  words: readonly string[],
): string[] {
  return flags
    .filter(({ name }) => values.has(name))
    .flatMap(({ name, needs, not = [], by }) => {
      const rivals = not.filter((other) => values.has(other));
      return [
        ...(needs !== undefined && !values.has(needs) ? [`--${name} has no effect without --${needs}`] : []),
        ...rivals.map((other) => `give --${other} or --${name}, not both`),
        ...(by === 'filter' && words.length > 0 ? [`--${name} works only with filters, not with ids`] : []),
        ...(by === 'id' && words.length === 0 ? [`--${name} works only with ids`] : []),
      ];
    });
}

function valueProblems(flag: FlagSpec, value: string, now: number): string | null {
  if (isSwitch(flag)) {
    return value === 'true' || value === 'false' ? null : `--${flag.name} is a switch and takes no value`;
  }
  const isListed = flag.values?.includes(value) ?? true;
  const must = isListed ? whyUnreadable(flag.kind ?? 'text', value, now) : `one of ${flag.values!.join(', ')}`;
  return must === null ? null : `--${flag.name} must be ${must}, not ${quoted(value)}`;
}

/** Returns what the value must be if it is not valid for its kind. Null if it is valid. */
function whyUnreadable(kind: FlagKind, value: string, now: number): string | null {
  switch (kind) {
    case 'text':
      return null;
    case 'number':
      return NUMBER.test(value) ? null : 'a whole number';
    case 'duration':
      return parseDurationMs(value) === null ? 'a duration such as 30s, 1h30m or 250ms' : null;
    case 'time':
      return readTime(value, now) === null ? 'a time such as 2026-01-31T12:00:00Z, or how long ago, such as 1h' : null;
  }
}

function wrongWords(wanted: readonly ArgumentSpec[], words: readonly string[]): string[] {
  const missing = wanted
    .filter((each, index) => !each.isOptional && words[index] === undefined)
    .map(({ name, about }) => `<${name}> is missing: ${about}`);
  const takesAll = wanted.at(-1)?.isRepeated ?? false;
  const extra = takesAll ? [] : words.slice(wanted.length).map((word) => `unexpected argument ${quoted(word)}`);
  const empty = words.some((word) => word === '') ? ['an argument is empty: is a shell variable not set?'] : [];
  const notListed = wanted.flatMap(({ name, values }, index) => {
    const word = words[index];
    if (!values || word === undefined || values.includes(word)) return [];
    return [`<${name}> must be one of ${values.join(', ')}, not ${quoted(word)}`];
  });
  return [...missing, ...extra, ...empty, ...notListed];
}

function givenOf(values: ReadonlyMap<string, readonly string[]>, words: readonly string[], now: number): Args {
  const read = new Set(ALWAYS_FINE);
  const list = (flag: string) => {
    read.add(flag);
    return values.get(flag) ?? [];
  };
  const text = (flag: string) => list(flag)[0];
  const as =
    <T>(parse: (value: string) => T) =>
    (flag: string) => {
      const value = text(flag);
      return value === undefined ? undefined : parse(value);
    };
  return {
    words,
    has: (flag) => text(flag) !== undefined,
    text,
    list,
    number: as(Number),
    duration: as((value) => parseDurationMs(value)!),
    time: (flag, from = now) => as((value) => readTime(value, from)!)(flag),
    unread: () => [...values.keys()].filter((flag) => !read.has(flag)),
  };
}

export function quoted(given: string): string {
  return printable(quote(given));
}
