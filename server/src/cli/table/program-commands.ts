// The commands about the program itself.

import type { CommandSpec } from '../frame/command.ts';

export const PROGRAM_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'completion',
    summary: 'the script that lets a shell complete commands and flags',
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
    summary: 'the version of this program',
    load: async () => (await import('../commands/version.ts')).version,
  },
];
