// `npm run check:fresh`: what a newcomer does, on a machine that has hardly anything. A clean clone of HEAD, an empty npm
// cache, a PATH with nothing but Node.js, npm, git and what every system has. When root runs it: another user, for whom
// the programs of this machine are not there at all. Then `npm ci && npm test`, and the size of what was installed.
//
//   -- FILE…     tests only these files
//   --install    tests nothing

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const INSTALLED_MB_MAX = 450;
const USER = 'postrider-fresh';
/** What POSIX asks of every system, as far as npm and the tests use it. */
const PROGRAMS = [
  'sh',
  'git',
  'env',
  'cat',
  'cp',
  'rm',
  'ls',
  'mkdir',
  'touch',
  'sleep',
  'uname',
  'du',
  'kill',
  'id',
  'head',
];
const NODE_PROGRAMS = ['node', 'npm', 'npx'];
/** Where programs are, whatever the PATH says. */
const HIDDEN = [
  ...['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt', '/snap'],
  ...['/usr/lib/chromium*', '/usr/lib/postgresql', '/usr/lib*/{*/,}faketime', '/usr/libexec/docker'],
];

function pathOf(name: string): string | null {
  // Not those of node_modules, which npm puts first.
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? null;
}

/** Copies in a folder of their own, because the programs are hidden where they are. npm is a link: it finds itself by its place. */
function programs(folder: string, names: readonly string[]): string {
  mkdirSync(folder);
  for (const name of names) {
    const path = pathOf(name);
    if (path === null) continue;
    const real = realpathSync(path);
    if (real.endsWith('.js')) symlinkSync(real, join(folder, name));
    else copyFileSync(real, join(folder, name));
  }
  return folder;
}

/** The start of a command that gives it the machine of a newcomer; empty where we are not root, and cannot. */
function freshMachine(home: string, bin: string): string[] {
  if (process.getuid?.() !== 0) return [];
  if (spawnSync('id', ['-u', USER]).status !== 0)
    execFileSync('useradd', ['--system', '--no-create-home', '--shell', '/bin/sh', USER]);
  execFileSync('chown', ['-R', `${USER}:`, home]);
  const hidden = new Set(globSync(HIDDEN).map((folder) => realpathSync(folder)));
  const empty = join(home, 'empty');
  mkdirSync(empty);
  // The shell that is named by its path has to be where it was.
  const places = [...hidden]
    .filter((folder) => statSync(folder).isDirectory())
    .map((folder) => ({ folder, by: [realpathSync('/bin'), '/usr/bin'].includes(folder) ? bin : empty }));
  const tools = programs(join(home, 'tools'), ['mount', 'setpriv']);
  const mounts = places.map(({ folder, by }) => `'${tools}/mount' --bind '${by}' '${folder}'`);
  const user = `exec '${tools}/setpriv' --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs`;
  return [pathOf('unshare') ?? 'unshare', '--mount', '/bin/sh', '-ec', `${mounts.join('\n')}\n${user} "$@"`, 'sh'];
}

/** Settings of npm: how the registry is reached from here. */
function wayToRegistry(): string {
  const names = ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy'];
  const values = names.map((name) => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim());
  const isSet = (value: string) => value !== '' && value !== 'null' && value !== 'undefined';
  return names.flatMap((name, index) => (isSet(values[index]!) ? `${name}=${values[index]}\n` : [])).join('');
}

function main(argv: readonly string[]): number {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { install: { type: 'boolean', default: false } },
  });
  const home = mkdtempSync(join(tmpdir(), 'postrider-fresh-'));
  chmodSync(home, 0o755);
  try {
    const clone = join(home, 'clone');
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone]);
    writeFileSync(join(home, '.npmrc'), wayToRegistry());
    const bin = programs(join(home, 'bin'), [...PROGRAMS, ...NODE_PROGRAMS]);
    const { NODE_EXTRA_CA_CERTS = '' } = process.env;
    const env = { HOME: home, PATH: bin, LANG: 'C.UTF-8', TMPDIR: join(home, 'tmp'), NODE_EXTRA_CA_CERTS };
    mkdirSync(env.TMPDIR);
    const machine = freshMachine(home, bin);
    const run = (command: string): boolean => {
      const [program = '', ...args] = [...machine, '/bin/sh', '-c', command];
      return spawnSync(program, args, { cwd: clone, env, stdio: 'inherit' }).status === 0;
    };
    const isInstalled = run('npm ci');
    const modules = join(clone, 'node_modules');
    const megabytes = Number(spawnSync('du', ['-sm', modules], { encoding: 'utf8' }).stdout.split('\t')[0]);
    const isSmall = megabytes <= INSTALLED_MB_MAX;
    const command = positionals.length > 0 ? `npm test -- ${positionals.join(' ')}` : 'npm test';
    const isTested = isInstalled && (values.install || run(command));
    const verdict = isInstalled && isSmall && isTested ? 'good' : 'bad';
    const parts = [
      `npm ci ${isInstalled ? 'passes' : 'fails'}`,
      `node_modules has ${megabytes} MB (at most ${INSTALLED_MB_MAX})`,
      values.install ? 'npm test was not run' : `${command} ${isTested ? 'passes' : 'fails'}`,
      machine.length > 0 ? 'by another user, without the programs of this machine' : 'by this user, with a short PATH',
    ];
    process.stdout.write(`fresh machine: ${verdict}: ${parts.join(', ')}\n`);
    return verdict === 'good' ? 0 : 1;
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

process.exitCode = main(process.argv.slice(2));
