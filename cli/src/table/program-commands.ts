// The commands about the program itself.

import type { CommandSpec } from '../frame/command.ts';
import { CONNECTION_FLAGS } from './flags.ts';

export const RESTORE: CommandSpec = {
  name: 'restore',
  summary: 'put a backup into an empty data directory',
  about:
    'Puts a backup into a directory that has no store, reads all of it again, and only then renames it to postrider.db. A directory with a store is refused, whether a service runs on it or not.',
  arguments: [{ name: 'backup', about: 'the file that postrider backup created' }],
  flags: [
    {
      name: 'data',
      placeholder: '<directory>',
      about: 'Directory to create the store in. Default: POSTRIDER_DATA, then postrider-data.',
    },
  ],
  examples: ['postrider restore postrider-backup.db --data /var/lib/postrider'],
  load: async () => (await import('../service/restore.ts')).restore,
};

export const PROGRAM_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'config set',
    summary: 'store an address and a token in the config file',
    about:
      'Stores an address and a token in the config file, which all later commands read. Only the owner of the file can read it. With --profile they are stored under that name.',
    flags: CONNECTION_FLAGS.filter(({ name }) => name !== 'request-timeout'),
    examples: [
      'postrider config set --url https://postrider.example.com --token-file -',
      'postrider config set --profile staging --url https://staging.example.com --token-file token.txt',
    ],
    load: async () => (await import('../commands/machine/config.ts')).setConfig,
  },
  {
    name: 'config show',
    summary: 'show the settings, and with --sources where each comes from',
    about:
      'Shows the address that commands use, and the settings that the service would start with here. No secret is shown. With --sources, also where each comes from: a flag, a variable, the config file or the default.',
    isDefault: true,
    flags: [
      { name: 'sources', about: 'Also show where each setting comes from.' },
      {
        name: 'for',
        placeholder: '<command>',
        values: ['serve', 'dev'],
        about: 'The command whose settings are shown. Default: serve.',
      },
      ...CONNECTION_FLAGS.filter(({ name }) => name !== 'request-timeout'),
    ],
    load: async () => (await import('../commands/machine/config.ts')).showConfig,
  },
  {
    name: 'doctor',
    summary: 'find what is wrong on this machine, and what to do',
    about:
      'Checks the settings, the disk, the store, the clock, the port, a running service and its token, and with --destination also DNS, the egress guard and the connection. Prints what is wrong and what to do. Exits with 1 when something is wrong. It changes nothing and calls only the service and that destination.',
    flags: [
      {
        name: 'destination',
        placeholder: '<url>',
        about: 'A destination to try: its name, the egress guard, the connection, the certificate. Nothing is sent.',
      },
      {
        name: 'data',
        placeholder: '<directory>',
        about:
          'Data directory. This flag, --store, --host, --port and --allow-cidr have the same meanings and defaults as for serve.',
      },
      { name: 'store', placeholder: '<url>', about: 'PostgreSQL instead of a data directory.' },
      {
        name: 'host',
        placeholder: '<address>',
        about: 'Address that serve would listen on. The command only checks that it is free.',
      },
      {
        name: 'port',
        placeholder: '<number>',
        kind: 'number',
        about: 'Port that serve would listen on. The command only checks that it is free.',
      },
      {
        name: 'allow-cidr',
        placeholder: '<cidr,…>',
        isList: true,
        about: 'Private ranges that destinations may resolve to.',
      },
      ...CONNECTION_FLAGS,
    ],
    examples: ['postrider doctor --data /var/lib/postrider --destination https://example.com/hook'],
    load: async () => (await import('../commands/machine/doctor.ts')).doctor,
  },
  {
    name: 'completion',
    summary: 'print the script that lets a shell complete commands and flags',
    arguments: [{ name: 'shell', about: 'bash, zsh or fish', values: ['bash', 'zsh', 'fish'] }],
    examples: [
      'source <(postrider completion bash)',
      'postrider completion zsh > ~/.zfunc/_postrider',
      'postrider completion fish > ~/.config/fish/completions/postrider.fish',
    ],
    load: async () => (await import('../commands/machine/completion.ts')).completion,
  },
  {
    name: 'version',
    summary: 'print the version of this program',
    load: async () => (await import('../commands/machine/version.ts')).version,
  },
];
