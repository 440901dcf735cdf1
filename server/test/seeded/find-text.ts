// Finds the one place in the sources in which a seeded bug is planted.

import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SeededBug } from './seeded.ts';

/** Most bugs are looked for in the same folders. */
const contents = new Map<string, string>();

function contentOf(path: string): string {
  const known = contents.get(path) ?? readFileSync(path, 'utf8');
  contents.set(path, known);
  return known;
}

export interface Place {
  /** Below the root. */
  readonly file: string;
  readonly planted: string;
}

/** Throws when the text stands nowhere, or in several places: then the bug must be written anew. */
export function placeOf(root: string, bug: SeededBug): Place {
  const within = join(root, bug.in);
  const files = statSync(within).isFile() ? [bug.in] : globSync(`${bug.in}/**/*.{ts,sql}`, { cwd: root });
  const found = files.flatMap((file) => {
    const parts = contentOf(join(root, file)).split(bug.find);
    return parts.slice(1).map(() => ({ file, planted: parts.join(bug.replace) }));
  });
  if (found.length !== 1) throw new Error(`"${bug.breaks}": its text stands in ${found.length} places below ${bug.in}`);
  return found[0]!;
}
