// What a command is: its name, its arguments and flags as data, and the code that runs it, loaded only when it is
// called. Help, completion and docs/cli.md are made from this data.

import type { Command as SettingsCommand } from '../../../server/src/node/settings/config.ts';
import type { Scope } from '../../../server/src/rules/accounts/account.ts';
import type { Args, ArgumentSpec, FlagSpec } from './arguments.ts';
import type { Connection } from './connection.ts';
import type { Output } from './output.ts';
import type { Io } from './terminal.ts';

export interface Invocation {
  readonly given: Args;
  readonly out: Output;
  readonly io: Io;
  /** Connects to the service that the flags, the environment or the config file name. */
  connect(): Connection;
  /** All commands, for commands that describe them: a command cannot import the table, because the table imports it. */
  readonly commands: Commands;
}

export interface Commands {
  readonly specs: readonly CommandSpec[];
  /** The commands whose flags are settings of config.ts. */
  readonly ofSettings: readonly SettingsCommandSpec[];
}

export type Run = (invocation: Invocation) => Promise<number>;

export interface CommandSpec {
  /** The name is one word, or a group and a verb. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly about?: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly flags?: readonly FlagSpec[];
  readonly examples?: readonly string[];
  /** The scope that the token needs. Absent for a command that calls no API. */
  readonly scope?: Scope;
  /** Whether the name of the group alone runs this command. */
  readonly isDefault?: boolean;
  readonly load: () => Promise<Run>;
}

/** A command whose flags are settings of config.ts. */
export interface SettingsCommandSpec {
  readonly name: SettingsCommand;
  readonly summary: string;
}
