// Which command runs which test file: `npm test` all that a change can break, in a few minutes, `npm run test:all` the rest
// of what CI runs, and `npm run test:long` long campaigns before a release. A test checks that each file has a row and each
// row a file.

import { matchesGlob } from 'node:path';

export type Command = 'test' | 'test:all' | 'test:long';

export interface Row {
  /** The first row that matches a file decides. */
  readonly files: string;
  readonly in: readonly Command[];
  /** Why not in `npm test` alone. */
  readonly why?: string;
}

const FIRST: readonly Command[] = ['test'];
const FIRST_AND_LONG: readonly Command[] = ['test', 'test:long'];
const SECOND: readonly Command[] = ['test:all'];
const CI: readonly Command[] = ['test', 'test:all'];
const SECOND_AND_LONG: readonly Command[] = ['test:all', 'test:long'];
const EACH: readonly Command[] = ['test', 'test:all', 'test:long'];
const LONG_ONLY: readonly Command[] = ['test:long'];

const LONGER = 'longer in each command';
const BROWSER = 'a browser for minutes; the journeys of the console are in npm test';
const PROCESSES = 'real processes that are killed, stopped and started for minutes';
const LARGE = 'a store of a size that takes minutes to fill';
const INSTALLS = 'builds, packs or installs something';

export const ROWS: readonly Row[] = [
  { files: 'console/test/{five-minutes,drafts,restart,words}.test.ts', in: FIRST },
  { files: 'console/test/*.test.ts', in: SECOND, why: BROWSER },
  { files: 'sdk/test/{compile-errors,runtimes,size}.test.ts', in: SECOND, why: INSTALLS },
  {
    files: 'sdk/test/installed/next.test.ts',
    in: LONG_ONLY,
    why: 'builds an app of Next.js; check:next does it alone',
  },
  { files: 'sdk/test/installed/*.test.ts', in: SECOND, why: INSTALLS },
  { files: 'sdk/test/*.test.ts', in: FIRST },
  { files: 'cli/test/*.test.ts', in: FIRST },
  { files: 'server/test/{node-versions,packages}.test.ts', in: SECOND_AND_LONG, why: INSTALLS },
  { files: 'server/test/skipped.test.ts', in: SECOND, why: 'runs npm test itself' },
  { files: 'server/test/docs/pages.test.ts', in: SECOND, why: 'runs every command of the docs' },
  { files: 'server/test/docs/signatures.test.ts', in: SECOND, why: 'compiles programs in other languages' },
  { files: 'server/test/docs/outage-example.test.ts', in: SECOND, why: 'two outages in real time' },
  { files: 'server/test/cluster/cluster.test.ts', in: SECOND_AND_LONG, why: LONGER },
  { files: 'server/test/cluster/*.test.ts', in: SECOND, why: PROCESSES },
  { files: 'server/test/crash/disk.test.ts', in: FIRST },
  { files: 'server/test/crash/{clocks,kill}.test.ts', in: EACH, why: LONGER },
  { files: 'server/test/crash/{acks,debounce,power-loss}.test.ts', in: SECOND_AND_LONG, why: LONGER },
  { files: 'server/test/crash/*.test.ts', in: SECOND, why: PROCESSES },
  { files: 'server/test/simulation/simulation.test.ts', in: EACH, why: LONGER },
  { files: 'server/test/conformance/*-model.test.ts', in: EACH, why: LONGER },
  { files: 'server/test/conformance/postgres.test.ts', in: CI, why: 'a part of it in each' },
  {
    files: 'server/test/conformance/sqlite-thread.test.ts',
    in: SECOND_AND_LONG,
    why: 'the same in memory is in npm test; all of it on a thread is in test:long',
  },
  { files: 'server/test/store/sqlite/sqlite-million.test.ts', in: LONG_ONLY, why: LARGE },
  { files: 'server/test/store/sqlite/sqlite-large.test.ts', in: SECOND_AND_LONG, why: LONGER },
  { files: 'server/test/store/postgres/postgres-large.test.ts', in: SECOND, why: LARGE },
  { files: 'server/test/store/migrate-store*.test.ts', in: SECOND, why: LARGE },
  { files: 'server/test/postgres/{pgbouncer,rolling-upgrade}.test.ts', in: SECOND, why: PROCESSES },
  { files: 'server/test/postgres/start-up.test.ts', in: SECOND, why: PROCESSES },
  {
    files: 'server/test/outside/{security/fuzz,security/generated-fuzz,publish/door-fuzz}.test.ts',
    in: FIRST_AND_LONG,
    why: LONGER,
  },
  {
    files: 'server/test/outside/isolation/strangers.test.ts',
    in: CI,
    why: 'one lane in npm test, several in test:all: thousands of connections to each',
  },
  { files: 'server/test/**/*.test.ts', in: FIRST },
];

/** On SQLite in `npm test`, and once more on PostgreSQL in `test:all`. */
export const FROM_OUTSIDE = 'server/test/outside/**/*.test.ts';

/** Their subject is done before a store is asked, or after: a second store would show nothing else. */
export const SAME_ON_EVERY_STORE: ReadonlySet<string> = new Set(
  [
    'delivery/egress',
    'isolation/answer-headers',
    'isolation/batch-parse',
    'isolation/connections',
    'isolation/dns',
    'isolation/event-loop',
    'isolation/handler-time',
    'isolation/header-bytes',
    'isolation/interim-answers',
    'isolation/redaction-names',
    'isolation/request-size',
    'isolation/strangers',
    'isolation/table',
    'isolation/uploads',
    'service/admin-token',
    'security/answer-headers',
    'security/cross-origin',
    'security/hostile-requests',
    'security/own-hosts',
    'security/strict-requests',
    'service/http-reader',
    'service/metrics-access',
    'service/openapi',
    'service/sink',
    'service/spec-9-versioning',
  ].map((name) => `server/test/outside/${name}.test.ts`),
);

/** One at a time, beside nothing else: they demand that a node answers soon, or note when each delivery arrives. */
export const ALONE: ReadonlySet<string> = new Set([
  'server/test/cluster/cluster.test.ts',
  'server/test/cluster/sharing.test.ts',
]);

/** Several of these run in one process, unless `needsOwnProcess` says that they may not. */
const GROUPED: readonly string[] = [
  'server/test/{accounts,checker,inbound,publish,rules,telemetry,upkeep}/**/*.test.ts',
  'server/test/store/shared/*.test.ts',
  'server/test/outside/{accounts,alerts,dead-letters,delivery,flow-control,messages,publish,queues,schedules,service,topics}/*.test.ts',
];
/**
 * Files that change the process or measure it, and those whose modules await something: the test runner would not know to
 * which file their tests belong.
 */
const OWN_PROCESS =
  /^(?:const .*= |for )?await |processor-time|child\.ts|memoryUsage|setLanesOfNode|process\.(?:on|once|exit|chdir|env)\b|mock\./m;

export function needsOwnProcess(file: string, text: string): boolean {
  const path = file.replaceAll('\\', '/');
  return !GROUPED.some((pattern) => matchesGlob(path, pattern)) || LONG.includes(path) || OWN_PROCESS.test(text);
}

export const GROUP_MAX = 8;

/** They take longest, a minute or more each, and are started first: the last to end must not be one of them, alone. */
export const LONG: readonly string[] = [
  'server/test/conformance/postgres-model.test.ts',
  'server/test/conformance/postgres.test.ts',
  'server/test/node-versions.test.ts',
  'server/test/crash/power-loss.test.ts',
  'server/test/packages.test.ts',
  'server/test/conformance/sqlite-model.test.ts',
  'console/test/looks.test.ts',
  'console/test/loading.test.ts',
  'server/test/cluster/distant-database.test.ts',
  'sdk/test/installed/next.test.ts',
  'server/test/crash/clocks.test.ts',
  'console/test/screens.test.ts',
  'server/test/conformance/sqlite-thread.test.ts',
  'server/test/conformance/sqlite.test.ts',
  'server/test/docs/pages.test.ts',
  'console/test/large-list.test.ts',
  'server/test/simulation/simulation.test.ts',
  'sdk/test/installed/frameworks.test.ts',
  'console/test/hostile.test.ts',
  'server/test/crash/kill.test.ts',
];

/** Everything that the commands run. Others are in a command of their own. */
export const TEST_FILES = [
  'server/test/**/*.test.ts',
  'cli/test/*.test.ts',
  'sdk/test/*.test.ts',
  'sdk/test/installed/*.test.ts',
  'console/test/*.test.ts',
];

export function rowOf(file: string): Row | undefined {
  const path = file.replaceAll('\\', '/');
  return ROWS.find(({ files }) => matchesGlob(path, files));
}

export function isIn(command: Command, file: string): boolean {
  const row = rowOf(file);
  return row?.in.includes(command) ?? false;
}
