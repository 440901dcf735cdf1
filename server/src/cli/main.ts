// The command line: `postrider dev`, `postrider serve` and the commands that work on a store. Reads the arguments and
// calls the command.

import { COMMANDS, type Command, type Config, parseConfig } from '../config.ts';
import { nearestName } from '../domain/nearest-name.ts';
import { VERSION } from '../main.ts';
import { runBackup } from './backup.ts';
import { runCheck } from './check.ts';
import { runMove } from './migrate-store.ts';
import { run } from './run.ts';
import { runTokenCreate } from './token-create.ts';

const USAGE = `postrider ${VERSION}: accepts messages over HTTP and delivers each one later, as an HTTP request

  postrider dev             run on this machine, to try it out and to develop
  postrider serve           run in production
  postrider backup          copy the store of a data directory, also while the service runs
  postrider check           check the whole store for damage
  postrider migrate-store   move everything from a data directory into PostgreSQL
  postrider token create    create a token directly in the store, when no token is left
  postrider help            show this page; postrider dev --help lists the settings
`;

const RUN: Readonly<Record<Command, (config: Config) => Promise<number>>> = {
  dev: run,
  serve: run,
  backup: runBackup,
  check: runCheck,
  'migrate-store': runMove,
  'token create': runTokenCreate,
};

async function main(argv: readonly string[]): Promise<number> {
  const { name, rest } = readCommand(argv);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(USAGE);
    return name === undefined ? 1 : 0;
  }
  if (name === 'version' || name === '--version') {
    process.stdout.write(`${VERSION}\n`);
    return 0;
  }
  const command = COMMANDS.find((each) => each === name);
  if (!command) {
    const nearest = nearestName(name, COMMANDS);
    process.stderr.write(
      `postrider: there is no command "${name}"${nearest ? `; did you mean "${nearest}"?` : ''}\n\n${USAGE}`,
    );
    return 1;
  }
  const parsed = parseConfig(command, rest);
  if ('help' in parsed) {
    process.stdout.write(parsed.help);
    return 0;
  }
  if ('problems' in parsed) {
    process.stderr.write(
      `postrider ${command} cannot start:\n${parsed.problems.map((each) => `  - ${each}\n`).join('')}`,
    );
    return 1;
  }
  return RUN[command](parsed.config);
}

/** A command name is one word, or two where the first alone means nothing. */
function readCommand([first, second, ...others]: readonly string[]) {
  const isPair =
    second !== undefined && !second.startsWith('-') && COMMANDS.some((each) => each.startsWith(`${first} `));
  if (isPair) return { name: `${first} ${second}`, rest: others };
  return { name: first, rest: second === undefined ? [] : [second, ...others] };
}

process.exitCode = await main(process.argv.slice(2));
