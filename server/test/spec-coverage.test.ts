// Holds docs/spec-coverage.md to the tests: every line of the specification has one, every one that is named exists,
// and no test of the specification is missing from the page.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');
const docs = join(root, 'docs');
const page = readFileSync(join(docs, 'spec-coverage.md'), 'utf8');

/** Every section of the specification that states behaviour, with how many of its statements stand on the page. */
const STATEMENTS: readonly (readonly [section: string, count: number])[] = [
  ['1', 6],
  ['2', 8],
  ['3', 2],
  ['4.1', 22],
  ['4.2', 7],
  ['5', 3],
  ['6', 5],
  ['8', 4],
  ['9', 1],
];

/** Every section that says of something that it is not shown. */
const SECTIONS_WITH_OPEN_POINTS = ['1', '2', '3', '4.1', '4.2', '5', '6', '7', '8', '9'];

/** The cells of the rows of the table under a heading. */
function rowsUnder(heading: string): string[][] {
  const [, rest = ''] = page.split(`## ${heading}\n`);
  const [part = ''] = rest.split('\n## ');
  const rows = part.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((row) => row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
}

function titlesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, title]) => title!);
}

/** Titles as they stand in the source, with "…" for what is put in when the test runs. */
function titlesOf(path: string): string[] {
  const source = readFileSync(join(root, path), 'utf8');
  const calls = source.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gs);
  return [...calls].map(([, , title]) => title!.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll(/\\(.)/g, '$1'));
}

const lines = rowsUnder('What it says');
const openPoints = rowsUnder('What it leaves open');
const existing = new Set(globSync('server/test/**/*.test.ts', { cwd: root }).flatMap(titlesOf));
const named = new Set([...lines, ...openPoints].flatMap((cells) => titlesIn(cells.at(-1)!)));

test('every statement of the specification stands on the page, numbered without a gap', () => {
  const expected = STATEMENTS.flatMap(([section, count]) =>
    Array.from({ length: count }, (_, index) => `${section}-${index + 1}`),
  );
  assert.deepEqual(
    lines.map(([id]) => id),
    expected,
  );
});

test('every section that leaves something open is there, and each point is decided in a document that exists', () => {
  assert.deepEqual([...new Set(openPoints.map(([section]) => section))], SECTIONS_WITH_OPEN_POINTS);
  for (const [section, point, decided] of openPoints) {
    const [, file, anchor] = /^\[[^\]]+\]\(([\w.-]+\.md)#([\w-]+)\)$/.exec(decided!) ?? [];
    assert.ok(file, `${section}, ${point}: where is it decided?`);
    const headings = readFileSync(join(docs, file), 'utf8').matchAll(/^#+ (.+)$/gm);
    const anchors = [...headings].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    assert.ok(anchors.includes(anchor!), `${section}, ${point}: ${file} has no heading "${anchor}"`);
  }
});

test('no statement and no open point is without a test', () => {
  const holes = [...lines, ...openPoints].filter((cells) => titlesIn(cells.at(-1)!).length === 0);
  assert.deepEqual(holes, []);
});

test('every test that the page names exists', () => {
  assert.ok(existing.size > 100, `only ${existing.size} titles were read`);
  assert.deepEqual(
    [...named].filter((title) => !existing.has(title)),
    [],
  );
});

test('every test of the specification starts with its section and is on the page', () => {
  const titles = globSync('server/test/outside/**/spec-*.test.ts', { cwd: root }).flatMap(titlesOf);
  assert.ok(titles.length > 100, `only ${titles.length} titles were read`);
  for (const title of titles) assert.match(title, /^[1-9](\.[1-9])? \S/);
  assert.deepEqual(
    titles.filter((title) => !named.has(title)),
    [],
  );
});
