// Runs one command line: finds the command in the table, parses its arguments, runs it, and turns the result into text
// and an exit code. Tests call it in their own process.

import { nearestName } from '../../../server/src/rules/requests/nearest-name.ts';
import { VERSION } from '../../../server/src/shipped-files.ts';
import { sharedFlags } from '../table/flags.ts';
import { COMMAND_TABLE, SECTIONS, SETTINGS_COMMANDS } from '../table/table.ts';
import { type Args, parseArguments } from './arguments.ts';
import type { CommandSpec } from './command.ts';
import { type Connection, connectTo } from './connection.ts';
import { EXIT, interruptedExit } from './exit-codes.ts';
import { Failure, failureOf, usageFailure } from './failure.ts';
import { commandHelp, overview } from './help.ts';
import { Output } from './output.ts';
import { printable } from './printable.ts';
import type { Io } from './terminal.ts';

export async function runCommand(argv: readonly string[], io: Io): Promise<number> {
  const [first] = argv;
  if (first === '--version' || first === '-V') return runCommand(['version', ...argv.slice(1)], io);
  if (first === 'help' && argv.length > 1) return runCommand([...argv.slice(1), '--help'], io);
  if (first === undefined || first === 'help' || isHelpFlag(first)) {
    io.stdout.write(overview(VERSION, SECTIONS));
    return first === undefined ? EXIT.usage : EXIT.done;
  }
  const found = findCommand(argv);
  return found ? runSpec(found.spec, found.rest, io) : unknownCommand(argv, io);
}

async function runSpec(spec: CommandSpec, argv: readonly string[], io: Io): Promise<number> {
  const shared = sharedFlags(spec);
  const flags = [...(spec.flags ?? []), ...shared];
  const parsed = parseArguments({ arguments: spec.arguments ?? [], flags }, argv, io.world.clock.now());
  if ('help' in parsed) {
    io.stdout.write(commandHelp(spec, shared));
    return EXIT.done;
  }
  const isGiven = (flag: string) => ('given' in parsed ? parsed.given.has(flag) : argv.includes(`--${flag}`));
  const out = new Output(io, {
    isJson: isGiven('json') || isJsonByVariable(io),
    isPlain: isGiven('no-color'),
    isQuiet: isGiven('quiet'),
  });
  const problems = 'problems' in parsed ? parsed.problems : standardInputTwice(parsed.given, spec);
  if ('given' in parsed && problems.length === 0) return run(spec, parsed.given, io, out);
  const failure = usageFailure(problems, spec.name);
  out.fail(spec.name, failure);
  return failure.exit;
}

const isHelpFlag = (text: string) => text === '--help' || text === '-h';

const isJsonByVariable = ({ env }: Io) => /^(?:1|true)$/.test(env.POSTRIDER_JSON ?? '');

/** The problem if two flags read standard input: it can be read only once, so the second flag would get nothing. */
function standardInputTwice(given: Args, { name }: CommandSpec): string[] {
  const readers = ['token-file', 'data', 'file']
    .filter((flag) => given.text(flag) === '-')
    .map((flag) => `--${flag} -`);
  if (name === 'batch' && given.words[0] === '-') readers.push('the file -');
  return readers.length < 2 ? [] : [`standard input can be read only once, not for both ${readers.join(' and ')}`];
}

async function run(spec: CommandSpec, given: Args, io: Io, out: Output): Promise<number> {
  let connection: Connection | null = null;
  const connect = () => {
    connection ??= connectTo(given, io, out);
    return connection;
  };
  try {
    const command = await spec.load();
    return await command({
      given,
      out,
      io,
      connect,
      commands: { specs: COMMAND_TABLE, ofSettings: SETTINGS_COMMANDS },
    });
  } catch (error) {
    if (io.interrupted.aborted) return interruptedExit(io.interrupted);
    const where = connection as Connection | null;
    const failure =
      failureOf(error, { url: where?.url ?? '', hasToken: where?.hasToken ?? false }) ??
      (where === null ? null : oddAnswer(error, where.url));
    if (failure === null) throw error;
    out.fail(spec.name, failure);
    return failure.exit;
  }
}

/** The failure for a response whose values have other types than the code that read them expects, else null. */
function oddAnswer(error: unknown, url: string): Failure | null {
  const isOdd = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
  if (!isOdd) return null;
  const place = /\n\s+at (.*)/.exec(error.stack ?? '')?.[1] ?? 'an unknown place';
  return new Failure(`${url} returned a response that this command does not understand: ${error.message}`, {
    exit: EXIT.unreachable,
    hint: `Something else may listen there: check --url. If it is Postrider ${VERSION}, this is a bug in the command, at ${place}.`,
  });
}

/** Finds the command, whose name is one word or two. The name of a group alone means its default verb, if any. */
function findCommand(argv: readonly string[]): { readonly spec: CommandSpec; readonly rest: readonly string[] } | null {
  const [first, second] = argv;
  const named = (name: string) => COMMAND_TABLE.find((spec) => spec.name === name);
  const pair = second === undefined ? undefined : named(`${first} ${second}`);
  if (pair) return { spec: pair, rest: argv.slice(2) };
  const alone = named(first!);
  if (alone) return { spec: alone, rest: argv.slice(1) };
  const isGroupAlone = second === undefined || (second.startsWith('-') && !isHelpFlag(second));
  const byDefault = COMMAND_TABLE.find((spec) => spec.isDefault && spec.name.startsWith(`${first} `));
  return isGroupAlone && byDefault ? { spec: byDefault, rest: argv.slice(1) } : null;
}

function unknownCommand(argv: readonly string[], io: Io): number {
  const [first, second] = argv;
  const names = [...COMMAND_TABLE, ...SETTINGS_COMMANDS].map(({ name }) => name);
  const isGroup = names.some((name) => name.startsWith(`${first} `));
  if (isGroup && second === undefined) {
    io.stderr.write(overview(VERSION, SECTIONS, first));
    return EXIT.usage;
  }
  if (isGroup && isHelpFlag(second!)) {
    io.stdout.write(overview(VERSION, SECTIONS, first));
    return EXIT.done;
  }
  const name = isGroup ? `${first} ${second}` : first!;
  const guess = nearestName(name, names) ?? nearestName(name, [...new Set(names.map((each) => each.split(' ')[0]!))]);
  const out = new Output(io, {
    isJson: argv.includes('--json') || isJsonByVariable(io),
    isPlain: true,
    isQuiet: false,
  });
  const meant = guess ? `; did you mean "${guess}"?` : '';
  const list = isGroup ? `postrider ${first} --help` : 'postrider help';
  out.fail(
    '',
    new Failure(`there is no command "${printable(name)}"${meant}`, {
      exit: EXIT.usage,
      hint: `${list} lists all commands.`,
    }),
  );
  return EXIT.usage;
}
