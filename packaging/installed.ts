// Packages that only one test or check needs, and that are too large for `npm ci`: each group has a folder with a package
// and a lock file of its own. Whoever uses it installs it here, once for each lock file. The result stays for the next run.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const INSTALL_MS_MAX = 900_000;
/** It takes a few renames. */
const LOCK_MS_MAX = 60_000;
const LOCK_POLL_MS = 20;
const FLAGS = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];

export interface InstallOptions {
  /** Runs the scripts of the packages. Only the package `node` needs its script: it gets the build for the machine. */
  readonly withScripts?: boolean;
}

/** The folder, with its `node_modules`. Fails if npm cannot install it. */
export async function installed(folder: string, { withScripts = false }: InstallOptions = {}): Promise<string> {
  const modules = join(folder, 'node_modules');
  const mark = markOf(folder);
  if (isMarked(modules, mark)) return folder;
  // Beside its place and moved there when it is complete: an interrupted install is never taken for a whole one.
  const fresh = mkdtempSync(join(folder, '.installing-'));
  try {
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(folder, name), join(fresh, name));
    // Not `npm ci`: that refuses a lock file without the builds for platforms that a registry does not have.
    const flags = withScripts ? FLAGS : [...FLAGS, '--ignore-scripts'];
    await promisify(execFile)('npm', ['install', ...flags], {
      cwd: fresh,
      env: ownEnvironment(),
      timeout: INSTALL_MS_MAX,
    });
    writeFileSync(join(fresh, 'node_modules', '.installed'), mark);
    await alone(folder, () => putInPlace(join(fresh, 'node_modules'), modules, mark));
  } finally {
    rmSync(fresh, { recursive: true, force: true, maxRetries: 5 });
  }
  return folder;
}

/** The executable that one of these packages has for this machine, or null where there is none. */
export function binaryOf(folder: string, names: readonly string[], path: string): string | null {
  const found = names.map((name) => join(folder, 'node_modules', name, path)).find((file) => existsSync(file));
  return found ?? null;
}

/** For programs that use the packages of `folder`: in it, they are found. Git ignores it. */
export function programFolder(folder: string): string {
  return mkdtempSync(join(folder, '.run-'));
}

/** An npm that is started by `npm run` would work on the checkout. Where packages come from is kept. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const isForCheckout =
    /^(?:npm_(?!config_(?:registry|cache|userconfig)$)|INIT_CWD|NODE_(?!EXTRA_CA_CERTS$)|POSTRIDER_)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForCheckout.test(name)));
}

function markOf(folder: string): string {
  const locked = readFileSync(join(folder, 'package-lock.json'));
  return `${process.platform} ${process.arch} ${createHash('sha256').update(locked).digest('hex')}\n`;
}

function isMarked(modules: string, mark: string): boolean {
  const file = join(modules, '.installed');
  return existsSync(file) && readFileSync(file, 'utf8') === mark;
}

/**
 * Another process may have been faster. Then its result is as good, and stays: a test may run programs of it already. What is
 * of another lock file is moved away whole, and not deleted in its place: another process may put its own there meanwhile.
 */
function putInPlace(fresh: string, modules: string, mark: string): void {
  if (isMarked(modules, mark)) return;
  if (existsSync(modules)) renameSync(modules, `${fresh}-before`);
  renameSync(fresh, modules);
}

/** One process at a time. One that was killed meanwhile is not waited for. */
async function alone(folder: string, work: () => void): Promise<void> {
  const lock = join(folder, '.installing-lock');
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > LOCK_MS_MAX) rmSync(lock, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
  try {
    work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}
