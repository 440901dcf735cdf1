// Flags that several commands have.

import type { FlagSpec } from '../frame/arguments.ts';
import type { CommandSpec } from '../frame/command.ts';

/** Flags of every command that does not start a service or work on a store. */
export const OUTPUT_FLAGS: readonly FlagSpec[] = [
  { name: 'json', about: 'Print JSON: one document, or one line for each record of a stream. Errors are JSON too.' },
  { name: 'no-color', about: 'No colours, as with NO_COLOR.' },
  { name: 'quiet', short: 'q', about: 'Print only the result and errors.' },
];

/** Flags of every command that calls the API. */
export const CONNECTION_FLAGS: readonly FlagSpec[] = [
  {
    name: 'url',
    placeholder: '<url>',
    about: 'Address of the service. Default: POSTRIDER_URL, then the config file, then http://127.0.0.1:8411.',
  },
  {
    name: 'token-file',
    placeholder: '<file>',
    about:
      'File with the token; - reads standard input. Default: POSTRIDER_TOKEN, then POSTRIDER_TOKEN_FILE, then the config file, and for a service on this machine the token of postrider dev.',
  },
  {
    name: 'token',
    placeholder: '<token>',
    not: ['token-file'],
    about: 'The token itself. The shell history keeps it: a file or POSTRIDER_TOKEN is better.',
  },
  {
    name: 'profile',
    placeholder: '<name>',
    about: 'Profile of the config file; overrides POSTRIDER_URL and POSTRIDER_TOKEN. Default: POSTRIDER_PROFILE.',
  },
  {
    name: 'config',
    placeholder: '<file>',
    about:
      'Config file; its values override POSTRIDER_URL and POSTRIDER_TOKEN. Default: POSTRIDER_CONFIG, then postrider/config.json in XDG_CONFIG_HOME or ~/.config.',
  },
  {
    name: 'header-prefix',
    placeholder: '<prefix>',
    about:
      'Prefix of the headers of the service. Default: POSTRIDER_HEADER_PREFIX, then the config file, then Service-.',
  },
  {
    name: 'request-timeout',
    placeholder: '<duration>',
    kind: 'duration',
    about: 'How long a call of the API may take. Default: 60s.',
  },
];

/** The flags of a command that other commands have too. */
export function sharedFlags({ scope }: CommandSpec): readonly FlagSpec[] {
  return scope === undefined ? OUTPUT_FLAGS : [...OUTPUT_FLAGS, ...CONNECTION_FLAGS];
}

export const YES_FLAG: FlagSpec = {
  name: 'yes',
  short: 'y',
  about: 'Do not ask for confirmation. Required where there is no terminal.',
};

/** Flags that select messages, by the filters of the API. */
export const FILTER_FLAGS: readonly FlagSpec[] = [
  { name: 'state', placeholder: '<state>', isList: true, about: 'Only this state, such as FAILED or IN_PROGRESS.' },
  { name: 'queue', placeholder: '<name>', isList: true, about: 'Only messages in this queue.' },
  { name: 'topic', placeholder: '<name>', isList: true, about: 'Only messages to this topic.' },
  { name: 'schedule', placeholder: '<id>', isList: true, about: 'Only messages of this schedule.' },
  { name: 'label', placeholder: '<label>', isList: true, about: 'Only messages with this label.' },
  { name: 'flow-key', placeholder: '<key>', isList: true, about: 'Only messages with this flow key.' },
  { name: 'debounce-key', placeholder: '<key>', isList: true, about: 'Only messages with this debounce key.' },
  { name: 'to', placeholder: '<url>', isList: true, about: 'Only messages to exactly this URL.' },
  { name: 'host', placeholder: '<host>', isList: true, about: 'Only messages to this host; the port may be left out.' },
];

/** Filters for lists and changes of messages. `tail`, which shows live events, does not have these filters. */
export const NON_LIVE_FILTER_FLAGS: readonly FlagSpec[] = [
  {
    name: 'status',
    placeholder: '<number>',
    isList: true,
    kind: 'number',
    about: 'Only messages whose last response had this status; 0 means that there was no response.',
  },
  { name: 'failure', placeholder: '<text>', isList: true, about: 'Only messages that failed for exactly this reason.' },
  {
    name: 'from',
    placeholder: '<time>',
    kind: 'time',
    about: 'Only messages accepted at this time or later: a date, or how long ago, such as 1h.',
  },
  { name: 'until', placeholder: '<time>', kind: 'time', about: 'Only messages accepted at this time or earlier.' },
];

export const LIMIT_FLAG: FlagSpec = {
  name: 'limit',
  short: 'n',
  placeholder: '<number>',
  kind: 'number',
  about: 'Print at most this many entries; 0 prints all. Default: 50.',
};
