// Which command runs which test file: `npm test` all that a change can break, in a few minutes, and `npm run test:all` the
// rest. A test checks that each file has a row and each row a file.

import { matchesGlob } from 'node:path';

export type Command = 'test' | 'test:all';

export interface Row {
  /** The first row that matches a file decides. */
  readonly files: string;
  readonly in: Command | 'both';
  /** Why not in `npm test` alone. */
  readonly why?: string;
}

const SHORT = 'a short form in npm test, the whole in test:all';
const BROWSER = 'a browser for minutes; the journeys of the console are in npm test';
const PROCESSES = 'real processes that are killed, stopped and started for minutes';
const LARGE = 'a store of a size that takes minutes to fill';
const INSTALLS = 'builds, packs or installs something';

export const ROWS: readonly Row[] = [
  { files: 'console/test/{five-minutes,drafts,restart,words}.test.ts', in: 'test' },
  { files: 'console/test/*.test.ts', in: 'test:all', why: BROWSER },
  { files: 'sdk/test/{compile-errors,runtimes,size}.test.ts', in: 'test:all', why: INSTALLS },
  { files: 'sdk/test/installed/*.test.ts', in: 'test:all', why: INSTALLS },
  { files: 'sdk/test/*.test.ts', in: 'test' },
  { files: 'cli/test/*.test.ts', in: 'test' },
  { files: 'server/test/{node-versions,packages}.test.ts', in: 'test:all', why: INSTALLS },
  { files: 'server/test/skipped.test.ts', in: 'test:all', why: 'runs npm test itself' },
  { files: 'server/test/docs/pages.test.ts', in: 'test:all', why: 'runs every command of the docs' },
  { files: 'server/test/docs/signatures.test.ts', in: 'test:all', why: 'compiles programs in other languages' },
  { files: 'server/test/cluster/*.test.ts', in: 'test:all', why: PROCESSES },
  { files: 'server/test/crash/disk.test.ts', in: 'test' },
  { files: 'server/test/crash/{clocks,kill}.test.ts', in: 'both', why: SHORT },
  { files: 'server/test/crash/*.test.ts', in: 'test:all', why: PROCESSES },
  { files: 'server/test/simulation/simulation.test.ts', in: 'both', why: SHORT },
  { files: 'server/test/conformance/*-model.test.ts', in: 'both', why: SHORT },
  { files: 'server/test/conformance/postgres.test.ts', in: 'both', why: 'a part of it in each' },
  {
    files: 'server/test/conformance/sqlite-thread.test.ts',
    in: 'test:all',
    why: 'the same in memory is in npm test',
  },
  {
    files: 'server/test/store/{postgres/postgres-large,sqlite/sqlite-large,sqlite/sqlite-million}.test.ts',
    in: 'test:all',
    why: LARGE,
  },
  { files: 'server/test/store/migrate-store*.test.ts', in: 'test:all', why: LARGE },
  { files: 'server/test/postgres/{pgbouncer,rolling-upgrade}.test.ts', in: 'test:all', why: PROCESSES },
  { files: 'server/test/postgres/start-up.test.ts', in: 'test:all', why: PROCESSES },
  {
    files: 'server/test/outside/isolation/strangers.test.ts',
    in: 'both',
    why: 'one lane in npm test, several in test:all: thousands of connections to each',
  },
  { files: 'server/test/**/*.test.ts', in: 'test' },
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

/** Everything that the two commands run. Others are in a command of their own. */
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
  return row !== undefined && (row.in === 'both' || row.in === command);
}
