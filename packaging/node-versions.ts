// The major versions of Node.js that the packages promise to run on (their `engines`). Everything is tested on the one that
// `npm ci` installs. Each other one has a folder in packaging/nodes, and is installed by the tests that use it.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installed } from './installed.ts';

const ROOT = join(import.meta.dirname, '..');
const NODES = join(import.meta.dirname, 'nodes');

type Promised = 'server' | 'sdk';

function manifest(...path: string[]): {
  readonly engines?: { readonly node: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
} {
  return JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'));
}

const majorOf = (version = '') => Number(/^\d+/.exec(version)?.[0]);

/** Whether `engines` of a package names it. Knows what they say: `>=24`, `20 || 22 || >=24`. */
export function isPromised(by: Promised, major: number): boolean {
  const ranges = (manifest(ROOT, by).engines?.node ?? '').split('||').map((range) => range.trim());
  if (!ranges.every((range) => /^(?:>=)?\d+$/.test(range))) throw new Error(`engines of ${by}: ${ranges.join(' || ')}`);
  return ranges.some((range) => (range.startsWith('>=') ? major >= Number(range.slice(2)) : major === Number(range)));
}

/** The one that `npm ci` installs. */
export const OWN_MAJOR = majorOf(manifest(ROOT).devDependencies?.node);

/** Those with a folder of their own. */
export const OTHER_MAJORS: readonly number[] = readdirSync(NODES)
  .map(Number)
  .sort((a, b) => a - b);

/** On which of them tests run: by default all, for a short run the oldest, which lacks most. */
export function majorsFor(by: Promised, isBrief = false): readonly number[] {
  const promised = OTHER_MAJORS.filter((major) => isPromised(by, major));
  return isBrief ? promised.slice(0, 1) : promised;
}

/** The version that the folder of a major version installs. */
export function lockedMajor(major: number): number {
  return majorOf(manifest(NODES, String(major)).dependencies?.node);
}

/** The folder of its executable `node`, which is installed if need be. */
export async function folderOfNode(major: number): Promise<string> {
  const folder = await installed(join(NODES, String(major)), { withScripts: true });
  return join(folder, 'node_modules', 'node', 'bin');
}
