// The command line. config.ts parses the flags of commands that run the service or work on a store; all other commands
// are in the table of commands. Each command loads only the code that it needs.

import {
  COMMANDS,
  type Command,
  type Config,
  environment,
  parseConfig,
} from '../../server/src/node/settings/config.ts';
import { EXIT } from './frame/exit-codes.ts';
import { reportFailure } from './service/report-failure.ts';

type RunSettings = (config: Config) => Promise<number>;

const LOAD: Readonly<Record<Command, () => Promise<RunSettings>>> = {
  dev: async () => (await import('./service/run.ts')).run,
  serve: async () => (await import('./service/run.ts')).run,
  backup: async () => (await import('./service/backup.ts')).runBackup,
  check: async () => (await import('./service/check.ts')).runCheck,
  'migrate-store': async () => (await import('./service/migrate-store.ts')).runMove,
  'token create': async () => (await import('./service/token-create.ts')).runTokenCreate,
};

async function main(given: readonly string[]): Promise<number> {
  const argv = given[0] === 'help' && given.length > 1 ? [...given.slice(1), '--help'] : given;
  const named = COMMANDS.find((each) => each === argv[0] || each === `${argv[0]} ${argv[1]}`);
  const isOverApi = named === 'token create' && (await isTokenOverApi(argv));
  const command = isOverApi ? undefined : named;
  return command === undefined ? runOther(argv) : runWithSettings(command, argv);
}

async function runOther(argv: readonly string[]): Promise<number> {
  // Other users of this machine can read the arguments of a process. The title replaces the arguments.
  if (argv.some((each) => each.startsWith('--token'))) process.title = 'postrider';
  const [{ runCommand }, { processIo }] = await Promise.all([
    import('./frame/command-line.ts'),
    import('./frame/process-io.ts'),
  ]);
  return runCommand(argv, processIo());
}

async function runWithSettings(command: Command, argv: readonly string[]): Promise<number> {
  const parsed = parseConfig(command, argv.slice(command.split(' ').length));
  if ('help' in parsed) {
    process.stdout.write(parsed.help);
    return EXIT.done;
  }
  if ('problems' in parsed) {
    const list = parsed.problems.map((each) => `\n  - ${each}`).join('');
    const failure = {
      text: `postrider ${command} cannot start:${list}`,
      message: parsed.problems.length === 1 ? parsed.problems[0]! : list,
      hint: `postrider ${command} --help shows how it is used.`,
      exit: EXIT.usage,
    };
    return reportFailure(failure, !isService(command) && isJsonAsked(argv));
  }
  if (command === 'serve') (await import('./service/node-output.ts')).holdWarnings();
  const run = await LOAD[command]();
  return run(parsed.config);
}

/**
 * Whether the command runs a service. Its errors go to the same place as its log, as text, because whatever starts a
 * service shows that output to people.
 */
const isService = (command: Command) => command === 'dev' || command === 'serve';

const isJsonAsked = (argv: readonly string[]) =>
  argv.includes('--json') || /^(?:1|true)$/.test(environment().POSTRIDER_JSON ?? '');

async function isTokenOverApi(argv: readonly string[]): Promise<boolean> {
  const { isTokenCreatedInStore } = await import('./frame/store-or-service.ts');
  return !isTokenCreatedInStore(argv, environment());
}

process.exitCode = await main(process.argv.slice(2));
