// The table of all commands, in the sections in which help shows them. The table contains only data: the code of a
// command is loaded when the command is called.

import type { CommandSpec, SettingsCommandSpec } from '../frame/command.ts';
import type { Section } from '../frame/help.ts';
import { ACCOUNT_COMMANDS } from './account-commands.ts';
import { ALERT_COMMANDS } from './alert-commands.ts';
import { MESSAGE_COMMANDS } from './message-commands.ts';
import { PROGRAM_COMMANDS, RESTORE } from './program-commands.ts';
import { RESOURCE_COMMANDS } from './resource-commands.ts';

/** Commands whose flags are the settings of config.ts. */
export const SETTINGS_COMMANDS: readonly SettingsCommandSpec[] = [
  { name: 'dev', summary: 'run a service on this machine, to try it out and to develop' },
  { name: 'serve', summary: 'run in production' },
  { name: 'backup', summary: 'copy the store of a data directory, also while the service runs' },
  { name: 'check', summary: 'check the whole store for damage' },
  { name: 'migrate-store', summary: 'move everything from a data directory into PostgreSQL' },
];

const settingsCommands = (...names: readonly string[]) => SETTINGS_COMMANDS.filter(({ name }) => names.includes(name));

export const SECTIONS: readonly Section[] = [
  { title: 'The service', commands: settingsCommands('dev', 'serve') },
  { title: 'Messages', commands: MESSAGE_COMMANDS },
  { title: 'Queues, topics, schedules, flow control', commands: RESOURCE_COMMANDS },
  { title: 'Alerts', commands: ALERT_COMMANDS },
  { title: 'Accounts', commands: ACCOUNT_COMMANDS },
  { title: 'The store', commands: [...settingsCommands('backup', 'check', 'migrate-store'), RESTORE] },
  { title: 'This program', commands: PROGRAM_COMMANDS },
];

const isSettingsCommand = (spec: CommandSpec | SettingsCommandSpec): spec is SettingsCommandSpec =>
  (SETTINGS_COMMANDS as readonly unknown[]).includes(spec);

export const COMMAND_TABLE: readonly CommandSpec[] = SECTIONS.flatMap(({ commands }) =>
  commands.flatMap((spec) => (isSettingsCommand(spec) ? [] : [spec])),
);
