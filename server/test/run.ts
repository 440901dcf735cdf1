// What `npm test` and `npm run test:all` run: the test files of the command, by the table in commands.ts, beside one
// PostgreSQL server for all that need one. With arguments, only the test files they name, on both stores. The last lines
// name what failed, what was skipped, where the time went, and how many tests passed and failed.
//
//   --repeat N   the same N times; the end lists the failed tests by how often they failed
//   --load M     M busy loops beside it
//   --table      writes the table of minutes in CONTRIBUTING.md
//   --whole      a skipped test counts as a failed one, unless support/machine.ts allows it in CI

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { ALONE, type Command, FROM_OUTSIDE, isIn, SAME_ON_EVERY_STORE, TEST_FILES } from './commands.ts';
import { roomyFolder, startTestServer } from './postgres/server.ts';
import { printSummary, readSummary, type Summary, withoutSkips, writeTable } from './summary.ts';
import { builtCommand, compileOnce } from './support/built-program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const REPORTER = join(import.meta.dirname, 'support', 'summary-reporter.ts');
const BEFORE_EACH_FILE = join(import.meta.dirname, 'support', 'test-process.ts');
/** Some wait while others work. More at once only take memory. */
const CONCURRENCY = Math.min(12, 2 * availableParallelism() + 1);
const FLAGS = ['--test', `--test-concurrency=${CONCURRENCY}`, '--test-timeout=900000', '--import', BEFORE_EACH_FILE];
/** What is compiled once for the hundreds of processes and threads that the tests start; it takes a third of their work. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'tests');
/** The largest stores of tests, several at once, and what they read of them. */
const TEMPORARY_BYTES_MIN = 6 * 1024 ** 3;
const BUSY_LOOP = 'for (;;);';

type Environment = Readonly<Record<string, string>>;

let running: ChildProcess | null = null;
let isInterrupted = false;

/** Ctrl-C in a terminal reaches the tests as well; who is told alone tells them. */
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isInterrupted = true;
    running?.kill(signal);
  });
}

interface Pass {
  readonly title: string;
  readonly files: readonly string[];
  readonly env?: Environment;
  readonly flags?: readonly string[];
}

function passesOf(command: Command, given: readonly string[]): Pass[] {
  const named = new Set(globSync([...given]).map((file) => relative(ROOT, join(process.cwd(), file))));
  const isMeant = (file: string) => (given.length === 0 ? isIn(command, file) : named.has(file));
  const all = globSync(TEST_FILES, { cwd: ROOT }).sort();
  const isOnPostgres = (file: string) =>
    given.length === 0 ? command === 'test:all' && !SAME_ON_EVERY_STORE.has(file) : named.has(file);
  const onPostgres = globSync(FROM_OUTSIDE, { cwd: ROOT }).sort().filter(isOnPostgres);
  const passes: Pass[] = [
    { title: 'outside on PostgreSQL', files: onPostgres, env: { POSTRIDER_TEST_STORE: 'postgres' } },
    { title: command, files: all.filter((file) => isMeant(file) && !ALONE.has(file)) },
    { title: 'alone', files: all.filter((file) => isMeant(file) && ALONE.has(file)), flags: ['--test-concurrency=1'] },
  ];
  return passes.filter(({ files }) => files.length > 0);
}

async function runPass({ title, files, env = {}, flags = [] }: Pass, common: NodeJS.ProcessEnv, into: string) {
  if (isInterrupted) return false;
  const report = join(into, title.replaceAll(/\W/g, '-'));
  const reporters = [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${REPORTER}`, `--test-reporter-destination=${report}.tests`],
  ];
  running = spawn(process.execPath, [...FLAGS, ...flags, ...reporters, ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...common, ...env, POSTRIDER_TEST_PROCESSOR: `${report}.processor` },
  });
  const [code] = (await once(running, 'exit')) as [number | null];
  running = null;
  return code === 0;
}

/** Once through all passes, on a PostgreSQL server of its own. Null if there is none. */
async function runOnce(command: Command, passes: readonly Pass[], env: NodeJS.ProcessEnv): Promise<Summary | null> {
  const server = await startTestServer().catch((error: Error) => error);
  if (server instanceof Error) {
    process.stderr.write(`no PostgreSQL for the tests: ${server.message.trim()}\n`);
    return null;
  }
  const startedAt = performance.now();
  const reports = mkdtempSync(join(tmpdir(), 'postrider-reports-'));
  try {
    let isGood = true;
    const common = { ...env, POSTRIDER_TEST_POSTGRES: server.homeUrl };
    for (const pass of passes) isGood = (await runPass(pass, common, reports)) && isGood;
    return readSummary(command, reports, isGood && !isInterrupted, performance.now() - startedAt);
  } finally {
    rmSync(reports, { recursive: true, force: true });
    await server.stop();
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals: given } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      repeat: { type: 'string', default: '1' },
      load: { type: 'string', default: '0' },
      table: { type: 'boolean', default: false },
      whole: { type: 'boolean', default: false },
    },
  });
  const command: Command = values.all ? 'test:all' : 'test';
  const passes = passesOf(command, given);
  if (passes.length === 0) {
    process.stderr.write(`there is no test file like ${given.join(' ')}\n`);
    return 1;
  }
  mkdirSync(CACHE, { recursive: true });
  // A flush costs nothing in memory, and what tests leave behind goes at the end.
  const temporary = mkdtempSync(join(roomyFolder(TEMPORARY_BYTES_MIN), 'postrider-test-'));
  // Some tests run a process as another user.
  chmodSync(temporary, 0o1777);
  const env: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: join(CACHE, 'compiled'), ...process.env, TMPDIR: temporary };
  if (given.length === 0) {
    env.POSTRIDER_TEST_BIN = await builtCommand(CACHE);
    env.POSTRIDER_TEST_PART = command === 'test' ? 'short' : 'rest';
    await compileOnce(env.POSTRIDER_TEST_BIN, env);
  }
  const load = Array.from({ length: Number(values.load) }, () => spawn(process.execPath, ['-e', BUSY_LOOP]));
  const summaries: Summary[] = [];
  try {
    for (let run = 1; run <= Number(values.repeat) && !isInterrupted; run += 1) {
      const summary = await runOnce(command, passes, env);
      if (summary === null) return 1;
      summaries.push(values.whole ? withoutSkips(summary) : summary);
    }
  } finally {
    for (const each of load) each.kill('SIGKILL');
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
    if (values.table && summaries.length > 0) writeTable(summaries.at(-1)!);
    // For a caller that runs several commands and prints one closing line.
    const tally = process.env.POSTRIDER_TEST_TALLY;
    const total = printSummary(summaries, tally === undefined);
    if (tally !== undefined) appendFileSync(tally, `${total.passed} ${total.failed}\n`);
  }
  return summaries.every(({ isGood }) => isGood) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
