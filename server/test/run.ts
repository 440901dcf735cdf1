// What `npm test`, `npm run test:all` and `npm run test:long` run: the test files of the command, by the table in
// commands.ts, beside one PostgreSQL server for all that need one. With arguments, only the test files they name, on both stores. The last lines
// name what failed, what was skipped, where the time went, and how many tests passed and failed.
//
//   --repeat N   the same N times; the end lists the failed tests by how often they failed
//   --load M     M busy loops beside it
//   --table      writes the table of minutes in CONTRIBUTING.md
//   --whole      a skipped test counts as a failed one, unless support/machine.ts allows it in CI

import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { appendFileSync, chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import {
  ALONE,
  type Command,
  FROM_OUTSIDE,
  GROUP_MAX,
  isIn,
  LONG,
  needsOwnProcess,
  SAME_ON_EVERY_STORE,
  TEST_FILES,
} from './commands.ts';
import { IdleTime, type Job, type PoolOptions, runFiles } from './file-pool.ts';
import { PostgresServer, roomyFolder, startTestServer } from './postgres/server.ts';
import { printSummary, type Summary, summaryOf, type TitledLine, withoutSkips, writeTable } from './summary.ts';
import { builtCommand, compileOnce } from './support/built-program.ts';
import type { Part } from './support/campaign.ts';
import { GroupLines, summaryLineOf } from './support/summary-line.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const BEFORE_EACH_FILE = join(import.meta.dirname, 'support', 'test-process.ts');
/** What is compiled once for the hundreds of processes and threads that the tests start; it takes a third of their work. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'tests');
/** The largest stores of tests, several at once, and what they read of them. */
const TEMPORARY_BYTES_MIN = 6 * 1024 ** 3;
/** Followed by the id of the process that runs the tests. */
const TEMPORARY_NAME = 'postrider-test-';
const PART: Readonly<Record<Command, Part>> = { test: 'short', 'test:all': 'rest', 'test:long': 'whole' };
const BUSY_LOOP = 'for (;;);';

const interrupted = new AbortController();

/** Ctrl-C in a terminal reaches the tests as well. If only this process gets the signal, it stops them. */
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
// Each file that runs has its listeners on this process and on the signal.
process.setMaxListeners(0);
setMaxListeners(0, interrupted.signal);

/** A file or a group of files, once for each store that it runs on. */
interface Planned {
  readonly files: readonly string[];
  readonly title: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The longest first, and those that run alone last. */
function planOf(command: Command, given: readonly string[]): Planned[] {
  const named = new Set(globSync([...given]).map((file) => relative(ROOT, join(process.cwd(), file))));
  const isMeant = (file: string) => (given.length === 0 ? isIn(command, file) : named.has(file));
  const isOnPostgres = (file: string) =>
    given.length === 0 ? command === 'test:all' && !SAME_ON_EVERY_STORE.has(file) : named.has(file);
  const onPostgres = globSync(FROM_OUTSIDE, { cwd: ROOT }).sort().filter(isOnPostgres);
  const meant = globSync(TEST_FILES, { cwd: ROOT }).sort().filter(isMeant);
  const rank = (file: string) => (LONG.includes(file) ? LONG.indexOf(file) : LONG.length);
  const isGrouping = given.length === 0;
  const together = meant.filter((file) => !ALONE.has(file));
  return [
    ...groupsOf(together, isGrouping).map((files) => ({ files, title: command.replace(':', '-'), env: {} })),
    ...groupsOf(onPostgres, isGrouping).map((files) => ({
      files,
      title: 'outside-on-PostgreSQL',
      env: { POSTRIDER_TEST_STORE: 'postgres' },
    })),
  ]
    .toSorted((a, b) => rank(a.files[0]!) - rank(b.files[0]!))
    .concat(meant.filter((file) => ALONE.has(file)).map((file) => ({ files: [file], title: 'alone', env: {} })));
}

/** Files of one folder share a process, where they may. */
function groupsOf(files: readonly string[], isGrouping: boolean): string[][] {
  const folders = Map.groupBy(files, (file) =>
    isGrouping && !needsOwnProcess(file, readFileSync(join(ROOT, file), 'utf8')) ? dirname(file) : file,
  );
  return [...folders.values()].flatMap((some) => {
    const count = Math.ceil(some.length / GROUP_MAX);
    return Array.from({ length: count }, (_, index) => some.filter((__, at) => at % count === index));
  });
}

async function runPlan(plan: readonly Planned[], common: NodeJS.ProcessEnv, reports: string) {
  const lines: TitledLine[] = [];
  const print = new spec();
  print.pipe(process.stdout, { end: false });
  const groups = new GroupLines();
  const options: PoolOptions = {
    cwd: ROOT,
    preload: BEFORE_EACH_FILE,
    signal: interrupted.signal,
    onEvent: ({ title }, event) => {
      print.write(event);
      for (const line of [summaryLineOf(event), groups.lineOf(event)])
        if (line !== null) lines.push({ ...line, title });
    },
  };
  const jobs = plan.map(({ files, title, env }): Job => {
    const report = join(reports, `${title}.processor`);
    return { files, title, env: { ...common, ...env, POSTRIDER_TEST_PROCESSOR: report } };
  });
  const isAlone = ({ title }: Job) => title === 'alone';
  const together = await runFiles(
    jobs.filter((job) => !isAlone(job)),
    options,
  );
  const alone = await runFiles(jobs.filter(isAlone), { ...options, isAlone: true });
  const isGood = together && alone && !interrupted.signal.aborted;
  const printed = once(print, 'end');
  // After it, the reporter prints the failures once more, with their stacks.
  print.write({ type: 'test:summary', data: { file: undefined, success: isGood } });
  print.end();
  await printed;
  return { lines, isGood };
}

/** Once through the plan, on a PostgreSQL server of its own. Null if there is none. */
async function runOnce(command: Command, plan: readonly Planned[], env: NodeJS.ProcessEnv): Promise<Summary | null> {
  const server = await startTestServer().catch((error: Error) => error);
  if (server instanceof Error) {
    process.stderr.write(`no PostgreSQL for the tests: ${server.message.trim()}\n`);
    return null;
  }
  const startedAt = performance.now();
  const idle = new IdleTime();
  const folder = mkdtempSync(join(tmpdir(), 'postrider-reports-'));
  try {
    const ended = await runPlan(plan, { ...env, POSTRIDER_TEST_POSTGRES: server.homeUrl }, folder);
    const databaseMs = server instanceof PostgresServer ? server.processorMs() : null;
    const tookMs = performance.now() - startedAt;
    return summaryOf({ ...ended, command, folder, tookMs, idleShare: idle.share(), databaseMs });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await server.stop();
  }
}

/** Of runs that were killed, and could not remove their folder themselves. */
function removeLeftovers(parent: string): void {
  for (const name of globSync(`${TEMPORARY_NAME}*-*`, { cwd: parent })) {
    if (isRunning(Number.parseInt(name.slice(TEMPORARY_NAME.length), 10))) continue;
    rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals: given } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      repeat: { type: 'string', default: '1' },
      load: { type: 'string', default: '0' },
      table: { type: 'boolean', default: false },
      whole: { type: 'boolean', default: false },
    },
  });
  const command: Command = values.long ? 'test:long' : values.all ? 'test:all' : 'test';
  const plan = planOf(command, given);
  if (plan.length === 0) {
    process.stderr.write(`there is no test file like ${given.join(' ')}\n`);
    return 1;
  }
  mkdirSync(CACHE, { recursive: true });
  // A flush costs nothing in memory, and what tests leave behind goes at the end.
  const roomy = roomyFolder(TEMPORARY_BYTES_MIN);
  removeLeftovers(roomy);
  const temporary = mkdtempSync(join(roomy, `${TEMPORARY_NAME}${process.pid}-`));
  // Some tests run a process as another user.
  chmodSync(temporary, 0o1777);
  const env: NodeJS.ProcessEnv = { NODE_COMPILE_CACHE: join(CACHE, 'compiled'), ...process.env, TMPDIR: temporary };
  if (given.length === 0) {
    env.POSTRIDER_TEST_BIN = await builtCommand(CACHE);
    env.POSTRIDER_TEST_PART = PART[command];
    await compileOnce(env.POSTRIDER_TEST_BIN, env);
  }
  const load = Array.from({ length: Number(values.load) }, () => spawn(process.execPath, ['-e', BUSY_LOOP]));
  const summaries: Summary[] = [];
  try {
    for (let run = 1; run <= Number(values.repeat) && !interrupted.signal.aborted; run += 1) {
      const summary = await runOnce(command, plan, env);
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
