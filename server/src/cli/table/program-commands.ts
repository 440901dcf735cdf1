// The commands about the program itself.

import type { CommandSpec } from '../frame/command.ts';
import { CONNECTION_FLAGS } from './flags.ts';

export const RESTORE: CommandSpec = {
  name: 'restore',
  summary: 'put a backup into an empty data directory',
  about:
    'Puts a backup into a directory that has no store, reads all of it again, and only then gives it its name. A directory with a store is refused, whether a service runs on it or not.',
  arguments: [{ name: 'backup', about: 'the file that postrider backup has made' }],
  flags: [
    {
      name: 'data',
      placeholder: '<directory>',
      about: 'Directory to make the store in. Else POSTRIDER_DATA. Default: postrider-data.',
    },
  ],
  examples: ['postrider restore postrider-backup.db --data /var/lib/postrider'],
  load: async () => (await import('../commands/restore.ts')).restore,
};

export const PROGRAM_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'config set',
    summary: 'keep an address and a token in the config file',
    about:
      'Keeps an address and a token in the config file, for all later calls. The file is for its owner alone. With --profile they are kept under that name.',
    flags: CONNECTION_FLAGS.filter(({ name }) => name !== 'request-timeout'),
    examples: [
      'postrider config set --url https://postrider.example.com --token-file -',
      'postrider config set --profile staging --url https://staging.example.com --token-file token.txt',
    ],
    load: async () => (await import('../commands/config.ts')).setConfig,
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
    load: async () => (await import('../commands/completion.ts')).completion,
  },
  {
    name: 'version',
    summary: 'print the version of this program',
    load: async () => (await import('../commands/version.ts')).version,
  },
];
