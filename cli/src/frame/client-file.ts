// The config file of the command: addresses and tokens of services, by profile. Only its owner can read the file.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../../server/src/node/settings/config.ts';
import { EXIT } from './exit-codes.ts';
import { Failure } from './failure.ts';
import { writeWhole } from './whole-file.ts';

export interface ClientFile {
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly headerPrefix?: string;
  readonly profiles?: Readonly<Record<string, Omit<ClientFile, 'profiles'>>>;
}

const KEYS = ['url', 'token', 'tokenFile', 'headerPrefix'];

export function clientFilePath(env: Environment, home: string): string {
  const base = env.XDG_CONFIG_HOME || join(home, '.config');
  return join(base, 'postrider', 'config.json');
}

/** Reads the file. Null when it does not exist; a missing file whose path was given explicitly is an error. */
export function readClientFile(path: string, isNamed: boolean): ClientFile | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!isNamed && (code === 'ENOENT' || code === 'ENOTDIR')) return null;
    throw new Failure(`cannot read the config file ${path}: ${code === 'ENOENT' ? 'there is no such file' : message}`, {
      exit: EXIT.usage,
    });
  }
  const file = parsed(text, path);
  const isOpen = process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
  if (isOpen && holdsToken(file)) {
    throw new Failure(`${path} holds a token, and others on this machine can read it`, {
      exit: EXIT.usage,
      hint: `Restrict it: chmod 600 ${path}`,
    });
  }
  return file;
}

function parsed(text: string, path: string): ClientFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Failure(`${path} is not JSON`, {
      exit: EXIT.usage,
      hint: 'It looks like {"url": "https://…", "token": "…"}. Repair or remove it.',
    });
  }
  const problems = [...wrongProfile(value, ''), ...wrongProfiles(value)];
  if (problems.length === 0) return value as ClientFile;
  throw new Failure(`${path} cannot be used:${problems.map((each) => `\n  - ${each}`).join('')}`, { exit: EXIT.usage });
}

function wrongProfile(value: unknown, name: string): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${name || 'it'} must be an object`];
  return Object.entries(value).flatMap(([key, each]) => {
    const shown = name === '' ? key : `${name}.${key}`;
    if (key === 'profiles' && name === '') return [];
    if (!KEYS.includes(key)) return [`${shown} is not known; the known fields are ${KEYS.join(', ')}`];
    return typeof each === 'string' ? [] : [`${shown} must be a text`];
  });
}

function wrongProfiles(value: unknown): string[] {
  const profiles = (value as ClientFile | null)?.profiles;
  if (profiles === undefined) return [];
  if (typeof profiles !== 'object' || profiles === null) return ['profiles must be an object'];
  return Object.entries(profiles).flatMap(([name, each]) => wrongProfile(each, `profiles.${name}`));
}

function holdsToken(file: ClientFile): boolean {
  return [file, ...Object.values(file.profiles ?? {})].some(({ token }) => token !== undefined);
}

/** Replaces the whole file. Only its owner can read it. */
export function writeClientFile(path: string, file: ClientFile): void {
  const data = `${JSON.stringify(file, null, 2)}\n`;
  writeWhole({ path, data, mode: 0o600, isReplacing: true, isDirectoryMade: true });
}
