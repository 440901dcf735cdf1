// What `npm test` runs: every test, beside one PostgreSQL server for all that need one; those of the cluster by
// themselves, because they measure how soon a node answers; then the tests that see the service from outside once more,
// on PostgreSQL in place of SQLite. With arguments, only the test files they name.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findChromium } from '../../console/test/browser.ts';
import { startTestServer } from './postgres/server.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ALL = ['server/test/**/*.test.ts', 'sdk/test/*.test.ts', 'console/test/*.test.ts'];
const FROM_OUTSIDE = ['http', 'api', 'isolation', 'oracle', 'security'].map(
  (folder) => `server/test/${folder}/**/*.test.ts`,
);
const FLAGS = ['--test', '--test-reporter=spec', '--test-concurrency=4', '--test-timeout=900000'];

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
  files: readonly string[],
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<boolean> {
  if (isInterrupted) return false;
  if (files.length === 0) return true;
  running = spawn(process.execPath, [...FLAGS, ...flags, ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const [code] = (await once(running, 'exit')) as [number | null];
  running = null;
  return code === 0;
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
  if (files.some((file) => file.startsWith('console'))) prepareChromium();
  const server = await startTestServer().catch((error: Error) => error);
  if (server instanceof Error) {
    process.stderr.write(`no PostgreSQL for the tests: ${server.message.trim()}\n`);
    return 1;
  }
  try {
    const env = { POSTRIDER_TEST_POSTGRES: server.homeUrl };
    const isCluster = (file: string) => file.startsWith(join('server', 'test', 'cluster'));
    const isGood = await pass(
      files.filter((file) => !isCluster(file)),
      env,
    );
    const isGoodInCluster = await pass(files.filter(isCluster), env, ['--test-concurrency=1']);
    const isGoodOnPostgres = await pass(chosen(FROM_OUTSIDE, given), { ...env, POSTRIDER_TEST_STORE: 'postgres' });
    return isGood && isGoodInCluster && isGoodOnPostgres ? 0 : 1;
  } finally {
    await server.stop();
  }
}

process.exitCode = await main(process.argv.slice(2));
