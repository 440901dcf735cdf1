// Reads the flags and words of a command line, for the settings and for all other commands. It reports all errors,
// while parseArgs stops at the first one. For an unknown flag or variable it says what was probably meant.

import { nearestName } from '../../rules/requests/nearest-name.ts';

export interface KnownFlag {
  /** One letter that stands for the name. */
  readonly short?: string;
  /** The placeholder of the value in help. A switch has none. */
  readonly placeholder?: string | null;
  /** Whether the flag may be repeated. */
  readonly isList?: boolean;
}

interface Found {
  readonly name: string;
  readonly flag: KnownFlag;
}

/** Reads the command line `argv`. `flags` has the known flags by their names. */
export function readFlags(flags: ReadonlyMap<string, KnownFlag>, argv: readonly string[]): FlagReader {
  const reader = new FlagReader(flags);
  const end = argv.indexOf('--');
  const [before, after] = end < 0 ? [argv, []] : [argv.slice(0, end), argv.slice(end + 1)];
  for (let at = 0; at < before.length; at += 1) if (reader.take(before[at]!, before[at + 1])) at += 1;
  reader.words.push(...after);
  return reader;
}

class FlagReader {
  /** The texts of each flag that was given, by its name: "true" for a switch without a text. */
  readonly values = new Map<string, string[]>();
  readonly words: string[] = [];
  readonly problems: string[] = [];
  isHelp = false;
  /** Whether there was an unknown flag. A word after such a flag may be its value, or not. */
  hasUnknown = false;
  readonly #names: readonly string[];
  /** The flags by their spelling on the command line: `--name` and `-n`. */
  readonly #found = new Map<string, Found>();

  constructor(flags: ReadonlyMap<string, KnownFlag>) {
    this.#names = [...flags.keys()];
    for (const [name, flag] of flags) {
      this.#found.set(`--${name}`, { name, flag });
      if (flag.short !== undefined) this.#found.set(`-${flag.short}`, { name, flag });
    }
  }

  /** Returns whether the next argument was consumed as well. */
  take(argument: string, next: string | undefined): boolean {
    if (isHelpFlag(argument)) this.isHelp = true;
    else if (isWord(argument)) this.words.push(argument);
    else return this.#takeFlag(argument, next !== undefined && !this.#isFlag(next) ? next : undefined);
    return false;
  }

  #takeFlag(argument: string, next: string | undefined): boolean {
    const [, written = argument, rest] = /^(--[^=]+|-[^-])=?(.*)$/s.exec(argument) ?? [];
    const inline = argument.length > written.length ? rest : undefined;
    const found = this.#found.get(written);
    const isOn = found !== undefined && isSwitch(found.flag);
    const isNextTaken = inline === undefined && next !== undefined && !isOn;
    if (found === undefined) this.#refuse(written);
    else this.#add(found, written, inline ?? (isOn ? 'true' : next));
    return isNextTaken;
  }

  /** The next argument is most likely the value of the refused flag, and is consumed too: one mistake, one problem. */
  #refuse(written: string): void {
    this.hasUnknown = true;
    const isLong = written.startsWith('--');
    this.problems.push(
      isLong ? unknownFlagText(written.slice(2), this.#names) : `unknown flag ${written}; --help lists all`,
    );
  }

  #add({ name, flag }: Found, written: string, value: string | undefined): void {
    const before = this.values.get(name);
    if (value === undefined) this.problems.push(missingValueText(written, flag));
    else if (before !== undefined && !flag.isList) this.problems.push(`${written} is given more than once`);
    else this.values.set(name, [...(before ?? []), value]);
  }

  #isFlag(text: string): boolean {
    return text.startsWith('--') || isHelpFlag(text) || this.#found.has(text);
  }
}

export const isSwitch = ({ placeholder }: KnownFlag) => (placeholder ?? null) === null;

const isHelpFlag = (text: string) => text === '--help' || text === '-h';

/** Whether an argument is not a flag. A dash alone means standard input, and a number may be negative. */
const isWord = (text: string) => !text.startsWith('-') || text === '-' || /^-\d/.test(text);

export function missingValueText(written: string, flag: KnownFlag): string {
  return `${written} needs a value${isSwitch(flag) ? '' : `: ${written} ${flag.placeholder}`}`;
}

export function quote(given: string): string {
  return JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given);
}

export function unknownFlagText(flag: string, known: readonly string[]): string {
  const wanted = flag.toLowerCase().replaceAll('_', '-');
  const guess =
    nearestName(wanted, known) ?? known.find((one) => one.startsWith(wanted) || wanted.startsWith(`${one}-`));
  return `unknown flag --${flag}${guess === undefined ? '; --help lists all' : `; did you mean --${guess}?`}`;
}

/** The problems with misspelt names. Only near misses count: others may set variables with our prefix (Kubernetes). */
export function misspeltVariables(names: readonly string[], known: readonly string[], prefix: string): string[] {
  const bare = known.map((one) => one.slice(prefix.length));
  return names
    .filter((name) => name.startsWith(prefix) && !known.includes(name))
    .flatMap((name) => {
      const guess = nearestName(name.slice(prefix.length), bare);
      return guess === undefined ? [] : [`unknown variable ${name}; did you mean ${prefix}${guess}?`];
    });
}
