// `npm run check:fresh`: what a newcomer does, on a machine that has hardly anything. A clean clone of HEAD, an empty npm
// cache, a PATH with nothing but Node.js, npm, git and what every system has, and, when root runs it, another user. Then
// `npm ci && npm test`, and the size of what was installed. `--only FILE…` tests only these files, and `--install` none.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const INSTALLED_MB_MAX = 450;
const USER = 'postrider-fresh';
/** What POSIX asks of every system, as far as npm and the tests use it. */
const PROGRAMS = ['sh', 'git', 'env', 'cat', 'cp', 'rm', 'ls', 'mkdir', 'touch', 'sleep', 'uname', 'du', 'kill', 'id'];

function pathOf(name: string): string | null {
  // Not those of node_modules, which npm puts first.
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? null;
}

/** A folder with links to the few programs. Node.js and npm are started where they are, because npm finds itself by its place. */
function programs(folder: string): string {
  mkdirSync(folder);
  for (const name of [...PROGRAMS, 'node', 'npm', 'npx']) {
    const path = pathOf(name);
    if (path !== null) symlinkSync(path, join(folder, name));
  }
  return folder;
}

/** The flags of `setpriv` for another user, who is made if needed; none where we are not root. */
function asAnotherUser(home: string): string[] {
  if (process.getuid?.() !== 0) return [];
  const isThere = spawnSync('id', ['-u', USER]).status === 0;
  if (!isThere) execFileSync('useradd', ['--system', '--no-create-home', '--shell', '/bin/sh', USER]);
  execFileSync('chown', ['-R', `${USER}:`, home]);
  return ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
}

function main(argv: readonly string[]): number {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { only: { type: 'boolean', default: false }, install: { type: 'boolean', default: false } },
  });
  const home = mkdtempSync(join(tmpdir(), 'postrider-fresh-'));
  chmodSync(home, 0o755);
  try {
    const clone = join(home, 'clone');
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone]);
    const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
    writeFileSync(join(home, '.npmrc'), `registry=${registry}\n`);
    const env = { HOME: home, PATH: programs(join(home, 'bin')), LANG: 'C.UTF-8', TMPDIR: join(home, 'tmp') };
    mkdirSync(env.TMPDIR);
    const user = asAnotherUser(home);
    const run = (command: string): boolean => {
      const [setpriv, ...flags] = user;
      const shell = ['/bin/sh', '-c', command];
      const [program = '', ...args] = setpriv === undefined ? shell : [pathOf(setpriv) ?? setpriv, ...flags, ...shell];
      return spawnSync(program, args, { cwd: clone, env, stdio: 'inherit' }).status === 0;
    };
    const isInstalled = run('npm ci');
    const modules = join(clone, 'node_modules');
    const megabytes = Number(execFileSync('du', ['-sm', modules], { encoding: 'utf8' }).split('\t')[0]);
    const isSmall = megabytes <= INSTALLED_MB_MAX;
    const files = values.only ? ` -- ${positionals.join(' ')}` : '';
    const isTested = isInstalled && (values.install || run(`npm test${files}`));
    const verdict = isInstalled && isSmall && isTested ? 'good' : 'bad';
    const parts = [
      `npm ci ${isInstalled ? 'passes' : 'fails'}`,
      `node_modules has ${megabytes} MB (at most ${INSTALLED_MB_MAX})`,
      values.install ? 'npm test was not run' : `npm test${files} ${isTested ? 'passes' : 'fails'}`,
    ];
    process.stdout.write(`fresh machine: ${verdict}: ${parts.join(', ')}\n`);
    return verdict === 'good' ? 0 : 1;
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

process.exitCode = main(process.argv.slice(2));
