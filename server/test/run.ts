// What `npm test` runs: every test, beside one PostgreSQL server for all that need one; those of the cluster by
// themselves, because they measure how soon a node answers; then the tests that see the service from outside once more,
// on PostgreSQL in place of SQLite, but for a few. With arguments, only the test files they name. The last lines name what failed in
// any of these passes, what was skipped, where the time went, and how many tests passed and failed.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { findChromium } from '../../console/test/browser.ts';
import { preparePgbouncer } from './postgres/pgbouncer.ts';
import { startTestServer } from './postgres/server.ts';
import type { SummaryLine } from './support/summary-reporter.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ALL = ['server/test/**/*.test.ts', 'sdk/test/*.test.ts', 'console/test/*.test.ts'];
const FROM_OUTSIDE = ['server/test/outside/**/*.test.ts'];
/** Their subject is done before a store is asked, or after: a second store would show nothing else. */
const SAME_ON_EVERY_STORE: ReadonlySet<string> = new Set(
  [
    'delivery/egress',
    'isolation/batch-parse',
    'isolation/connections',
    'isolation/interim-answers',
    'isolation/redaction-names',
    'isolation/uploads',
    'security/answer-headers',
    'security/cross-origin',
    'security/own-hosts',
    'service/openapi',
    'service/sink',
    'service/spec-9-versioning',
  ].map((name) => join('server', 'test', 'outside', `${name}.test.ts`)),
);
const SUMMARY = join(import.meta.dirname, 'support', 'summary-reporter.ts');
const FLAGS = ['--test', '--test-concurrency=4', '--test-timeout=900000'];
/** What is compiled once for the hundreds of processes and threads that the tests start; it takes a third of their work. */
const COMPILED = join(ROOT, 'node_modules', '.cache', 'compiled-for-tests');
const SLOWEST_SHOWN_MAX = 12;

const summaries = mkdtempSync(join(tmpdir(), 'postrider-test-'));

let running: ChildProcess | null = null;
let isInterrupted = false;

/** Ctrl-C in a terminal reaches the tests as well; who is told alone tells them. */
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isInterrupted = true;
    running?.kill(signal);
  });
}

async function pass(
  title: string,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<boolean> {
  if (isInterrupted) return false;
  if (files.length === 0) return true;
  const reporters = [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${SUMMARY}`, `--test-reporter-destination=${join(summaries, title)}`],
  ];
  running = spawn(process.execPath, [...FLAGS, ...flags, ...reporters, ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...env },
  });
  const [code] = (await once(running, 'exit')) as [number | null];
  running = null;
  return code === 0;
}

/** What must not be lost between the thousands of lines of three passes. */
function printSummary(): void {
  const lines = globSync('*', { cwd: summaries }).flatMap((title) =>
    readFileSync(join(summaries, title), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ title, ...(JSON.parse(line) as SummaryLine) })),
  );
  const files = lines.filter((line) => line.kind === 'file');
  const failed = lines.filter((line) => line.kind === 'failed');
  const print = (text: string) => process.stdout.write(`${text}\n`);
  const seconds = (ms: number) => `${(ms / 1000).toFixed(0).padStart(5)} s`;
  print('\nWhere the time went, several files at once:');
  for (const [folder, ms] of byFolder(files)) print(`  ${seconds(ms)}  ${folder}`);
  print('\nSlowest files:');
  for (const { title, file, ms } of files.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN_MAX)) {
    print(`  ${seconds(ms)}  ${relative(ROOT, file)} (${title})`);
  }
  const skipped = Map.groupBy(
    lines.filter((line) => line.kind === 'skipped'),
    ({ why }) => why || 'without a reason',
  );
  if (skipped.size > 0) print('\nSkipped:');
  for (const [why, tests] of skipped) print(`  ${tests.length} × ${why}: ${relative(ROOT, tests[0]!.file)} …`);
  if (failed.length > 0) print('\nFailed:');
  for (const { title, file, name } of failed) print(`  ${relative(ROOT, file)} (${title}): ${name}`);
  const passed = files.reduce((sum, each) => sum + each.passed, 0);
  print(`\n${passed} passed, ${failed.length} failed`);
}

function byFolder(files: readonly { readonly file: string; readonly title: string; readonly ms: number }[]) {
  const sums = new Map<string, number>();
  for (const { file, title, ms } of files) {
    const folder = `${relative(ROOT, dirname(file))} (${title})`;
    sums.set(folder, (sums.get(folder) ?? 0) + ms);
  }
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** Those of `given`, or all, that a pattern means. */
function chosen(patterns: readonly string[], given: readonly string[]): string[] {
  const meant = globSync(patterns, { cwd: ROOT });
  if (given.length === 0) return meant.sort();
  const named = globSync(given).map((file) => relative(ROOT, join(process.cwd(), file)));
  return meant.filter((file) => named.includes(file)).sort();
}

/** Before the tests: several of them that install it at once would be in each other's way. */
function prepareChromium(): void {
  try {
    findChromium();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
}

async function main(given: readonly string[]): Promise<number> {
  const files = chosen(ALL, given);
  if (files.length === 0) {
    process.stderr.write(`there is no test file like ${given.join(' ')}\n`);
    return 1;
  }
  if (files.some((file) => file.startsWith('console') || file.includes('runtimes'))) prepareChromium();
  if (files.some((file) => file.includes('pgbouncer'))) preparePgbouncer();
  const server = await startTestServer().catch((error: Error) => error);
  if (server instanceof Error) {
    process.stderr.write(`no PostgreSQL for the tests: ${server.message.trim()}\n`);
    return 1;
  }
  try {
    const env = { POSTRIDER_TEST_POSTGRES: server.homeUrl };
    const isCluster = (file: string) => file.startsWith(join('server', 'test', 'cluster'));
    const isGood = await pass(
      'all',
      files.filter((file) => !isCluster(file)),
      env,
    );
    const isGoodInCluster = await pass('cluster', files.filter(isCluster), env, ['--test-concurrency=1']);
    const onPostgres = chosen(FROM_OUTSIDE, given).filter((file) => given.length > 0 || !SAME_ON_EVERY_STORE.has(file));
    const isGoodOnPostgres = await pass('outside on PostgreSQL', onPostgres, {
      ...env,
      POSTRIDER_TEST_STORE: 'postgres',
    });
    return isGood && isGoodInCluster && isGoodOnPostgres ? 0 : 1;
  } finally {
    printSummary();
    rmSync(summaries, { recursive: true, force: true });
    await server.stop();
  }
}

process.exitCode = await main(process.argv.slice(2));
