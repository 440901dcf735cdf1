// What a command is: its name, its arguments and flags as data, and the code that runs it, loaded only when it is
// called. Help, completion and docs/cli.md are made from this data.

import type { Command as SettingsCommand } from '../../node/settings/config.ts';
import type { Scope } from '../../rules/accounts/account.ts';
import type { Given } from './arguments.ts';
import type { Connection } from './connection.ts';
import type { Output } from './output.ts';
import type { Io } from './terminal.ts';

/** How the value of a flag is read. */
export type FlagKind = 'text' | 'number' | 'duration' | 'time';

export interface FlagSpec {
  readonly name: string;
  readonly short?: string;
  /** What stands for the value in help. Absent for a switch. */
  readonly placeholder?: string;
  readonly about: string;
  readonly kind?: FlagKind;
  /** Whether it may be repeated. */
  readonly isList?: boolean;
  /** The only values it takes. */
  readonly values?: readonly string[];
  /** Has no effect without this flag, and is refused then. */
  readonly needs?: string;
  /** Cannot be given beside any of these flags. */
  readonly not?: readonly string[];
  /** Of a command that takes ids or filters: belongs to only one of the two. */
  readonly by?: 'id' | 'filter';
}

export interface ArgumentSpec {
  readonly name: string;
  readonly about: string;
  readonly isOptional?: boolean;
  /** Takes all that follow. */
  readonly isRepeated?: boolean;
  readonly values?: readonly string[];
}

export interface Invocation {
  readonly given: Given;
  readonly out: Output;
  readonly io: Io;
  /** The service that the flags, the environment or the config file name. */
  connect(): Connection;
}

export type Run = (invocation: Invocation) => Promise<number>;

export interface CommandSpec {
  /** One word, or a group and a verb. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly about?: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly flags?: readonly FlagSpec[];
  readonly examples?: readonly string[];
  /** What the token must allow. Absent for a command that calls no API. */
  readonly scope?: Scope;
  /** Whether it is what the group alone means. */
  readonly isDefault?: boolean;
  readonly load: () => Promise<Run>;
}

/** A command whose flags are settings of config.ts. */
export interface SettingsCommandSpec {
  readonly name: SettingsCommand;
  readonly summary: string;
}
