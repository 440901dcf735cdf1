// The shape of the sources: lines, circles of imports, folders, ports and complicated functions. `npm run figures` prints it, and
// shape.test.ts holds what was agreed.

import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { functionsOver } from './function-length.ts';

/** What Biome may write. More is an error, and not less that was found. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024;

/** A file of so few lines may be no thought of its own. */
export const CRUMB_LINES = 40;

/** The sources below a folder that people write. */
export function filesOf(root: string, folder: string): string[] {
  const paths = globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }).map((path) => path.replaceAll('\\', '/'));
  return paths.filter((path) => !readFileSync(join(root, path), 'utf8').startsWith('// Made from ')).sort();
}

export function linesIn(root: string, paths: readonly string[]): string[] {
  return paths.flatMap((path) => readFileSync(join(root, path), 'utf8').trimEnd().split('\n'));
}

export function longestFunction(root: string, folder: string): number {
  const lines = filesOf(root, folder).flatMap((path) =>
    functionsOver(CRUMB_LINES, path, readFileSync(join(root, path), 'utf8')),
  );
  return Math.max(0, ...lines.map((each) => each.lines));
}

/** The files that the table of a plain publish in ARCHITECTURE.md names: `inbound/publish/: body, json` or a path. */
export function filesOnTheWay(root: string): string[] {
  const found = new Set<string>();
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const [, table = ''] = text.split('## The way of a message');
  for (const [, files = ''] of table.split('\n## ')[0]!.matchAll(/^\| \d+ \| (.*?) \|/gm)) {
    let folder = '';
    for (const [, path = ''] of files.replaceAll(/\]\([^)]*\)/g, '').matchAll(/([\w-]+(?:\/[\w-]*)*)/g)) {
      if (path.endsWith('/')) folder = path;
      const known = [...found].filter((each) => each.endsWith(`/${path}.ts`));
      const named = [`${path}.ts`, `${folder}${path}.ts`].filter((each) => existsSync(join(root, 'server/src', each)));
      for (const each of named.length > 0 ? named : known) {
        found.add(each);
        folder = each.slice(0, each.lastIndexOf('/') + 1);
      }
    }
  }
  return [...found].map((path) => `server/src/${path}`);
}

/** Files that reach each other through imports, those of types included: each circle as its files, in the order of their names. */
export function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const path: string[] = [];
  const onPath = new Set<string>();
  const circles: string[][] = [];
  const visit = (file: string): void => {
    const own = numbers.size;
    numbers.set(file, own);
    lowest.set(file, own);
    path.push(file);
    onPath.add(file);
    for (const other of imports.get(file) ?? []) {
      if (!imports.has(other)) continue;
      if (!numbers.has(other)) visit(other);
      else if (!onPath.has(other)) continue;
      lowest.set(file, Math.min(lowest.get(file)!, lowest.get(other)!));
    }
    if (lowest.get(file) !== own) return;
    const circle = path.splice(path.indexOf(file));
    for (const each of circle) onPath.delete(each);
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of imports.keys()) if (!numbers.has(file)) visit(file);
  return circles;
}

/** Imports between the files below some folders, by path: also of types, and those that are made while the program runs. */
export function importsIn(root: string, folders: readonly string[]): Map<string, string[]> {
  const patterns = folders.map((folder) => `${folder}/**/*.ts`);
  const files = globSync(patterns, { cwd: root }).map((path) => path.replaceAll('\\', '/'));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const found = [
        ...text.matchAll(/^(?:import|export)\s[^;'"]*?\bfrom '(\.[^']+)';/gms),
        ...text.matchAll(/\bimport\('(\.[^']+)'\)/g),
      ];
      return [file, found.map(([, to]) => posix.join(posix.dirname(file), to!))];
    }),
  );
}

/** How many files each folder below some folders has by itself, the largest first. */
export function folderSizes(root: string, folders: readonly string[]): [folder: string, files: number][] {
  const sizes = new Map<string, number>();
  const patterns = folders.map((folder) => `${folder}/**/*.{ts,sql}`);
  for (const path of globSync(patterns, { cwd: root })) {
    sizes.set(dirname(path), (sizes.get(dirname(path)) ?? 0) + 1);
  }
  return [...sizes].sort(([, one], [, other]) => other - one);
}

/** The verbs of each port of the store. */
export function portVerbs(root: string): [port: string, verbs: number][] {
  return globSync('server/src/store/ports/*-store.ts', { cwd: root })
    .sort()
    .flatMap((path) => {
      const [, name, body = ''] =
        /export interface (\w+Store)[^{]*\{(.*?)\n\}/s.exec(readFileSync(join(root, path), 'utf8')) ?? [];
      const verbs = [...body.matchAll(/^ {2}(?:readonly )?\w+\??\s*[(<:]/gm)].length;
      return name === undefined ? [] : [[name, verbs] as [string, number]];
    });
}

/**
 * The cognitive complexity of the functions that have more than `max`, the highest first, as Biome counts it. Generated
 * files do not count: they are lists with one condition for each field.
 */
export function complexFunctions(root: string, folder: string, max: number): number[] {
  const own = mkdtempSync(join(tmpdir(), 'postrider-biome-'));
  const rule = { level: 'error', options: { maxAllowedComplexity: max } };
  const rules = { preset: 'none', complexity: { noExcessiveCognitiveComplexity: rule } };
  writeFileSync(join(own, 'biome.json'), JSON.stringify({ root: true, linter: { rules } }));
  const biome = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.bin', 'biome');
  const flags = ['lint', `--config-path=${own}`, '--max-diagnostics=none', '--reporter=json', folder];
  try {
    const text = outputOf(() =>
      execFileSync(biome, flags, {
        cwd: root,
        encoding: 'utf8',
        stdio: 'pipe',
        maxBuffer: OUTPUT_BYTES_MAX,
      }),
    );
    const written = new Set(filesOf(root, folder));
    const { diagnostics } = JSON.parse(text) as { diagnostics: { message: string; location: { path: string } }[] };
    return diagnostics
      .filter(({ location }) => written.has(location.path))
      .map(({ message }) => Number(/complexity of (\d+)/.exec(message)![1]))
      .sort((a, b) => b - a);
  } finally {
    rmSync(own, { recursive: true });
  }
}

/** Biome exits with 1 when it has found something. */
function outputOf(run: () => string): string {
  try {
    return run();
  } catch (error) {
    const { status, stdout } = error as { status: number | null; stdout: string };
    if (status !== 1) throw error;
    return stdout;
  }
}
