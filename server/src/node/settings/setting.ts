// What a setting is, and short functions that define one: which commands have it, its defaults, and what it means
// there. Also reads the value of a setting from the text of its flag or variable.

import { missingValueText, quote } from './read-flags.ts';
import type { Kind } from './setting-kind.ts';

/** The commands that run the service. `COMMANDS` also has those that work on its store. */
export type ServiceCommand = 'dev' | 'serve';
export const COMMANDS = ['dev', 'serve', 'backup', 'check', 'migrate-store', 'token create'] as const;
export type Command = (typeof COMMANDS)[number];

export interface Setting<T> {
  readonly flag: string;
  readonly kind: Kind<T>;
  readonly defaults: Readonly<Record<ServiceCommand, T>>;
  readonly description: string;
  readonly commands: readonly Command[];
  /** For commands where the setting means something else than `description` says. */
  readonly meanings?: Partial<Readonly<Record<Command, string>>>;
  /** Whether the value must never be printed: not in the summary, not in an error. */
  readonly isSecret: boolean;
}

export function setting<T>(
  flag: string,
  kind: Kind<T>,
  defaults: Readonly<Record<ServiceCommand, T>>,
  description: string,
): Setting<T> {
  return { flag, kind, defaults, description, commands: ['dev', 'serve'], isSecret: false };
}

export function both<T>(value: T): Readonly<Record<ServiceCommand, T>> {
  return { dev: value, serve: value };
}

/** A setting that other commands have too, with another meaning. */
export function alsoIn<T>(meanings: NonNullable<Setting<T>['meanings']>, of: Setting<T>): Setting<T> {
  return {
    ...of,
    commands: COMMANDS.filter((each) => of.commands.includes(each) || Object.hasOwn(meanings, each)),
    meanings,
  };
}

export function onlyIn<T>(command: Command, of: Setting<T>): Setting<T> {
  return { ...of, commands: [command] };
}

/** The default for a command. Commands other than `dev` use the default of `serve`. */
export function defaultOf<T>({ defaults }: Setting<T>, command: Command): T {
  return defaults[command === 'dev' ? 'dev' : 'serve'];
}

/** The text that a caller gave for a setting, and the name of the flag or variable it was given with. */
export interface Source {
  readonly name: string;
  readonly text: string;
}

/** The value of a setting from its source. Without a source, its default. */
export function readSetting<T>(
  setting: Setting<T>,
  command: Command,
  source: Source | null,
): { readonly value: T } | { readonly problems: readonly string[] } {
  if (source === null) return { value: defaultOf(setting, command) };
  const { kind, isSecret } = setting;
  const { name, text } = source;
  if (text === '') return { problems: [missingValueText(name, kind)] };
  const parsed = kind.parse(text);
  if ('value' in parsed) return parsed;
  if ('rule' in parsed) return { problems: [`${name} ${parsed.rule}${isSecret ? '' : `, not ${quote(text)}`}`] };
  return { problems: parsed.problems.map((problem) => `${name}: ${problem}`) };
}
