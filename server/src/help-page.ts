// Lays out the help text of a command. The settings themselves are defined in config.ts.

import type { Command } from './config.ts';

const WIDTH = 88;

const PURPOSES: Partial<Readonly<Record<Command, string>>> = {
  backup: `Makes a copy of the store while the service runs, reads all of it again, and only then gives it
its name. To restore it, stop the service, put the copy into an empty directory as postrider.db,
and start the service there.

`,
  check: `Looks at the whole store: the files, every page, and what the tables say of each other. It changes
nothing, unless --repair is given, and leaves with 1 when something is wrong.

`,
  'migrate-store': `Moves everything from a data directory into PostgreSQL: accounts, tokens, messages and all
else. Stop the service first. It can be killed at any time and run again: it goes on where it
was. At the end both sides are compared, and only then may a service start on the database.

`,
  'token create': `Makes a token straight in the store and prints it: the way back in when no token is left that
may administer. It needs no token, but must be able to read and write the store. The service may run
or be stopped.

`,
};

export function helpPage(
  command: Command,
  entries: readonly { readonly head: string; readonly about: string }[],
): string {
  const shown = entries.map(({ head, about }) => {
    const lines = wrap(about).map((line) => `      ${line}\n`);
    return `  ${head}\n${lines.join('')}`;
  });
  const usage = `Usage: postrider ${command} [settings]`;
  return `${usage}\n\n${PURPOSES[command] ?? ''}A flag wins over the environment.\n\n${shown.join('\n')}`;
}

function wrap(prose: string): string[] {
  const lines = [''];
  for (const word of prose.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
