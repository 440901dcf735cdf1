// Lays out the help text of a command. The settings themselves are defined in config.ts.

import type { Command } from './setting.ts';

const WIDTH = 88;

const PURPOSES: Partial<Readonly<Record<Command, string>>> = {
  backup: `Copies the store while the service runs. It reads the whole copy again before it gives the copy
its final name. To put it back, stop the service, and run postrider restore <backup> --data <an
empty directory>. A database in PostgreSQL is copied with its own tools, such as pg_dump.

`,
  check: `Checks the whole store: the files, every page, and the references between tables. It changes
nothing, unless --repair is given. The exit code is 1 when something is wrong.

`,
  'migrate-store': `Moves everything from a data directory into PostgreSQL: accounts, tokens, messages and all the
rest. Stop the service first. You can kill this command at any time and run it again: it continues
where it stopped. At the end it compares both stores. Only then can a service start on the database,
and no service starts on the directory any more.

`,
  'token create': `Creates a token directly in the store and prints it. Use it when no token with the scope admin
is left. It needs no token, but it must be able to read and write the store. The service may run
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
