// The shape of the sources stays as it was agreed in docs/decisions/0025-each-rule-once.md.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  CRUMB_LINES,
  circlesOf,
  complexFunctions,
  filesOf,
  filesOnTheWay,
  folderSizes,
  importsIn,
  linesIn,
  longestFunction,
  portVerbs,
} from './shape.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** The service and the command. */
const FOLDERS = ['server/src', 'cli/src'];

test('circles are found, and only circles', () => {
  const imports = new Map([
    ['a', ['b', 'outside']],
    ['b', ['c']],
    ['c', ['a', 'd']],
    ['d', ['e']],
    ['e', []],
    ['f', ['g', 'e']],
    ['g', ['f']],
  ]);
  assert.deepEqual(circlesOf(imports), [
    ['a', 'b', 'c'],
    ['f', 'g'],
  ]);
});

test('no files of the service and the command import each other in a circle', () => {
  const imports = importsIn(ROOT, FOLDERS);
  assert.ok([...imports.values()].flat().length > 1000, 'imports were read');
  assert.deepEqual(circlesOf(imports), []);
});

test('no folder of the service and the command has more than 20 files', () => {
  const sizes = folderSizes(ROOT, FOLDERS);
  assert.ok(sizes.length > 30);
  assert.deepEqual(
    sizes.filter(([, files]) => files > 20),
    [],
  );
});

test('no port of the store has more than 18 verbs', () => {
  const ports = portVerbs(ROOT);
  assert.equal(ports.length, 9);
  for (const [port, verbs] of ports) assert.ok(verbs > 3 && verbs <= 18, `${port} has ${verbs} verbs`);
});

/** What no change makes larger. Decision 25 shows it, and says why a figure is larger than was wanted. */
const AGREED: readonly [what: string, most: number, count: () => number][] = [
  ['lines of server/src', 67_200, () => linesBelow('server/src')],
  ['lines of cli/src', 9_000, () => linesBelow('cli/src')],
  ['lines of store/sqlite', 10_080, () => linesBelow('server/src/store/sqlite')],
  ['lines of store/postgres', 10_240, () => linesBelow('server/src/store/postgres')],
  ['files that ARCHITECTURE.md names for a plain publish', 112, () => filesOnTheWay(ROOT).length],
  ['files of at most 40 lines', 88, () => FOLDERS.flatMap((folder) => filesOf(ROOT, folder)).filter(isCrumb).length],
  ['lines of the longest function', 80, () => Math.max(...FOLDERS.map((folder) => longestFunction(ROOT, folder)))],
  ['functions of server/src with a cognitive complexity over 10', 56, () => complexity('server/src').length],
  ['the highest of server/src', 20, () => complexity('server/src')[0]!],
  ['functions of cli/src with a cognitive complexity over 10', 5, () => complexity('cli/src').length],
  ['the highest of cli/src', 12, () => complexity('cli/src')[0]!],
];

const linesBelow = (folder: string) => linesIn(ROOT, filesOf(ROOT, folder)).length;
const isCrumb = (path: string) => linesIn(ROOT, [path]).length <= CRUMB_LINES;
const known = new Map<string, number[]>();

function complexity(folder: string): number[] {
  const found = known.get(folder) ?? complexFunctions(ROOT, folder, 10);
  known.set(folder, found);
  return found;
}

test('no figure grows past what was agreed', () => {
  for (const [what, most, count] of AGREED) {
    const counted = count();
    assert.ok(counted > 0, `${what} are counted`);
    assert.ok(counted <= most, `${what}: ${counted}, and ${most} were agreed in decision 25`);
  }
});

test('decision 25 shows what was agreed', () => {
  const decision = readFileSync(join(ROOT, 'docs/decisions/0025-each-rule-once.md'), 'utf8');
  for (const [what, most] of AGREED) assert.ok(decision.includes(`\n| ${what} | ${most.toLocaleString('en')} |`), what);
});
