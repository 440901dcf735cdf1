// The first admin token of `serve`: one that is made and printed, or one that the operator gives or wants in a file,
// which is never printed.

import { closeSync, fstatSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Random } from '../runtime/world.ts';
import type { Accounts } from './accounts.ts';
import { newSecret } from './tokens.ts';

const ACCOUNT = 'default';
const TOKEN = /^[!-~]{32,256}$/;

export interface FirstTokenOptions {
  /** The token itself; null if none is given. */
  readonly given: string | null;
  /** The file that has the token, or that gets it; null if none is named. */
  readonly file: string | null;
  /** The account that a take-over has left without a token; null if there was none. */
  readonly takenOver: string | null;
  readonly random: Random;
  /** Whether everybody knows a token. */
  readonly isPublic: (text: string) => boolean;
  readonly warn: (text: string) => void;
}

/** Makes the first token, unless the store has an admin token. Returns the token if it is to be printed, else null. */
export async function makeFirstToken(accounts: Accounts, options: FirstTokenOptions): Promise<string | null> {
  const { given, file, takenOver, random } = options;
  if (given !== null && file !== null) throw new Error('--admin-token and --admin-token-file exclude each other');
  const own = given ?? (file === null ? null : readToken(file, options.warn));
  if (own !== null) await takeOver(accounts, own, options);
  else if (file !== null) await makeInto(file, accounts, options);
  else {
    const text = newSecret('pr', random);
    return (await accounts.createFirstToken(ACCOUNT, takenOver, text)) ? text : null;
  }
  return null;
}

async function takeOver(accounts: Accounts, own: string, { takenOver, isPublic, warn }: FirstTokenOptions) {
  if (isPublic(own)) throw new Error('the admin token is one that everybody knows; choose another one');
  if ((await accounts.createFirstToken(ACCOUNT, takenOver, own)) || (await isAdmin(accounts, own))) return;
  warn(
    'the admin token of the settings is not one of this store: only the first start on an empty store takes it over. ' +
      'Make others with postrider token create --admin',
  );
}

async function makeInto(file: string, accounts: Accounts, { takenOver, random, warn }: FirstTokenOptions) {
  const text = newSecret('pr', random);
  // If the process ends after this, the token is in the file, and the next start uses it.
  writeToken(file, text);
  if (await accounts.createFirstToken(ACCOUNT, takenOver, text)) return;
  // Another node may have read the file meanwhile, and made its token the first one.
  if (await isAdmin(accounts, text)) return;
  rmSync(file);
  warn(`the store has an admin token already, so none was made and ${file} was not written`);
}

async function isAdmin(accounts: Accounts, text: string): Promise<boolean> {
  return (await accounts.authenticate(text))?.token.scopes.includes('admin') ?? false;
}

function readToken(file: string, warn: (text: string) => void): string | null {
  let text: string;
  try {
    const opened = openSync(file, 'r');
    try {
      requirePrivate(file, opened, warn);
      text = readFileSync(opened, 'utf8').trim();
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Error(`--admin-token-file: ${(error as Error).message}`);
  }
  if (TOKEN.test(text)) return text;
  throw new Error(
    `--admin-token-file: ${file} must hold one token of 32 to 256 printable ASCII characters without blanks`,
  );
}

const OTHERS_MAY_WRITE = 0o002;

/** Who can write the file decides who administers the service. On Windows a file has no such mode. */
function requirePrivate(file: string, opened: number, warn: (text: string) => void): void {
  const own = process.getuid?.();
  if (own === undefined) return;
  const { mode, uid } = fstatSync(opened);
  if ((mode & OTHERS_MAY_WRITE) !== 0) throw new Error(`everybody can write ${file}; chmod 600 ${file}`);
  // A file that a container has from its host may belong to anybody.
  if (uid !== 0 && uid !== own) warn(`${file} belongs to another user (${uid}), who can choose the first admin token`);
}

/**
 * Only its owner can read the file. It is on disk before the store knows the token, and it has the whole token or does
 * not exist.
 */
function writeToken(file: string, text: string): void {
  const part = `${file}.${process.pid}.part`;
  try {
    rmSync(part, { force: true });
    withFile(part, 'wx', (opened) => writeSync(opened, `${text}\n`));
    // Unlike a rename, a link fails if the name is taken.
    linkSync(part, file);
    if (process.platform !== 'win32') withFile(dirname(file), 'r', () => {});
  } catch (error) {
    throw new Error(`--admin-token-file: ${(error as Error).message}`);
  } finally {
    rmSync(part, { force: true });
  }
}

function withFile(path: string, flags: string, work: (opened: number) => void): void {
  const opened = openSync(path, flags, 0o600);
  try {
    work(opened);
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
