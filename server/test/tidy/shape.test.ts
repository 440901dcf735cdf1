// The shape of the sources stays as it was agreed in docs/decisions/0025-each-rule-once.md.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { circlesOf, complexFunctions, folderSizes, importsIn, portVerbs } from './shape.ts';

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
  assert.equal(ports.length, 7);
  for (const [port, verbs] of ports) assert.ok(verbs > 5 && verbs <= 18, `${port} has ${verbs} verbs`);
});

test('complicated functions do not become more', () => {
  const agreed = { 'server/src': { over10: 110, worst: 20 }, 'cli/src': { over10: 5, worst: 12 } };
  for (const [folder, { over10, worst }] of Object.entries(agreed)) {
    const found = complexFunctions(ROOT, folder, 10);
    assert.ok(found.length > 0, 'Biome counts');
    assert.ok(found.length <= over10, `${folder}: ${found.length} functions have a cognitive complexity over 10`);
    assert.ok(found[0]! <= worst, `${folder}: one has ${found[0]}`);
  }
});
