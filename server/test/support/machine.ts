// What tests need of a machine beside Node.js and npm: one row for each thing. A test without it is skipped, and the row says
// what is missing and how to get it. `.ci/run` installs what Debian has, and fails on every other skip that no row allows.

import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';

interface Need {
  /** The reason why a test is skipped. */
  readonly missing: string;
  /** Left out where only the test can find out: it takes the reason from `whySkipped`. */
  readonly isThere?: () => boolean;
  /** The packages of Debian that bring it. */
  readonly debian?: readonly string[];
  /** Another way to get it. */
  readonly how?: string;
  /** Why CI may skip the tests that need it. */
  readonly allowedInCi?: string;
}

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** Where programs are that the PATH of an ordinary user does not name. */
const PLACES = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
/** The one without a window first: it does the same for two thirds of the processor time. */
const CHROMIUM = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Null where it is not installed. */
export function programPath(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...PLACES];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? null;
}

/** The one that is named, or an installed one. */
export function chromiumPath(): string | null {
  return process.env.CHROMIUM_PATH || (CHROMIUM.find((path) => existsSync(path)) ?? null);
}

export function faketimeLibrary(): string | null {
  return globSync('/usr/lib/**/faketime/libfaketimeMT.so.1')[0] ?? null;
}

function program(name: string, debian: readonly string[] = [name]): Need {
  return { missing: `${name} is not installed`, isThere: () => programPath(name) !== null, debian };
}

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** Whether this user may mount a file system in a namespace of its own, where nobody else sees it. */
const MOUNTS = ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs /tmp'];
const isLinux = () => process.platform === 'linux';
const OTHER_SYSTEM = 'other systems do not have it';

const NEEDS = {
  chromium: {
    missing: 'Chromium is not installed',
    isThere: () => chromiumPath() !== null,
    debian: ['chromium-headless-shell'],
    how: 'or set CHROMIUM_PATH to a Chromium or Chrome',
  },
  curl: program('curl'),
  bash: program('bash'),
  fish: program('fish'),
  nginx: program('nginx', ['nginx-light']),
  'systemd-analyze': program('systemd-analyze', ['systemd']),
  'docker-compose': program('docker-compose'),
  openssl: program('openssl'),
  promtool: program('promtool', ['prometheus']),
  pgbouncer: program('pgbouncer'),
  cc: program('cc', ['gcc', 'libc6-dev']),
  go: program('go', ['golang-go']),
  javac: program('javac', ['default-jdk-headless']),
  php: program('php', ['php-cli']),
  ruby: program('ruby'),
  perl: {
    missing: 'Perl with Digest::SHA is not installed',
    isThere: () => runs('perl', '-MDigest::SHA', '-e', '1'),
    debian: ['perl'],
  },
  python3: program('python3'),
  pytest: {
    missing: 'pytest is not installed',
    isThere: () => runs('python3', '-c', 'import pytest'),
    debian: ['python3-pytest'],
  },
  libfaketime: {
    missing: 'libfaketime is not installed',
    isThere: () => faketimeLibrary() !== null,
    debian: ['libfaketime'],
  },
  console: {
    missing: 'the console is not built',
    isThere: () => existsSync(join(ROOT, 'console', 'dist', 'index.html')),
    how: 'npm run build',
  },
  root: {
    missing: 'it needs root, to be another user',
    isThere: () => process.getuid?.() === 0,
    how: 'run the tests as root, for example in a container',
  },
  'npm registry': {
    missing: 'the npm registry is not reached from here',
    how: 'connect to it, or set another one with npm config set registry',
  },
  linux: { missing: 'it needs Linux', isThere: isLinux, allowedInCi: OTHER_SYSTEM },
  posix: {
    missing: 'it needs the permissions of POSIX',
    isThere: () => process.platform !== 'win32',
    allowedInCi: OTHER_SYSTEM,
  },
  bun: { missing: 'npm has no Bun for this machine', allowedInCi: 'Bun is not made for every system' },
  mounts: {
    missing: 'this user may not mount a file system in a namespace of its own',
    isThere: () => isLinux() && runs('unshare', ...MOUNTS),
    allowedInCi: 'many containers forbid it',
  },
  ipv6: {
    missing: 'this machine has no IPv6 loopback address',
    isThere: () => Object.values(networkInterfaces()).some((some) => some?.some(({ address }) => address === '::1')),
    allowedInCi: 'many containers have none',
  },
  'small disk': {
    missing: 'the disk has more room than a service can be told to keep free',
    allowedInCi: 'a disk of a terabyte is no fault',
  },
  sqlite: {
    missing: 'it is about the data directory, of which PostgreSQL has no need',
    isThere: () => process.env.POSTRIDER_TEST_STORE !== 'postgres',
    allowedInCi: 'npm test runs it on SQLite',
  },
  postgres: {
    missing: 'it is about PostgreSQL, or about several nodes, which need it',
    isThere: () => process.env.POSTRIDER_TEST_STORE === 'postgres',
    allowedInCi: 'npm run test:all runs it on PostgreSQL',
  },
} satisfies Record<string, Need>;

export type NeedName = keyof typeof NEEDS;

const ROWS = new Map<string, Need>(Object.entries(NEEDS));
const found = new Map<string, boolean>();

function isMissing(name: string): boolean {
  const known = found.get(name);
  if (known !== undefined) return !known;
  const isThere = ROWS.get(name)?.isThere?.() ?? true;
  found.set(name, isThere);
  return !isThere;
}

function reasonOf({ missing, debian, how }: Need): string {
  const ways = [
    ...(debian === undefined ? [] : [`Debian: apt-get install ${debian.join(' ')}`]),
    ...(how ? [how] : []),
  ];
  return ways.length === 0 ? missing : `${missing} (${ways.join(', ')})`;
}

/** For a test that has found out by itself that something is missing. */
export function whySkipped(name: NeedName): string {
  return reasonOf(NEEDS[name]);
}

/** Why a test that needs all of these is skipped; false where it is not: what `node:test` takes as `skip`. */
export function lacks(...names: readonly NeedName[]): string | false {
  const first = names.find(isMissing);
  return first !== undefined && whySkipped(first);
}

export function isAllowedInCi(why: string): boolean {
  return [...ROWS.values()].some((need) => need.allowedInCi !== undefined && reasonOf(need) === why);
}

/** The packages of Debian for which there is a reason among these. */
export function packagesFor(reasons: Iterable<string>): string[] {
  const wanted = new Set(reasons);
  return [...ROWS.values()].flatMap((need) => (wanted.has(reasonOf(need)) ? (need.debian ?? []) : [])).sort();
}

/** The packages of Debian that bring what is not there. */
export function missingPackages(): string[] {
  return packagesFor([...ROWS].flatMap(([name, need]) => (isMissing(name) ? reasonOf(need) : [])));
}
