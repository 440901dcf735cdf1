// What the last runs of `npm run mutation` found: every mistake that no test noticed has a reason, and every reason a mistake.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EQUIVALENT } from '../mutation/equivalent.ts';
import { faultsOf, readResults } from '../mutation/results.ts';

test('every mistake that no test notices has a reason, and nothing else has one', () => {
  const results = readResults();
  assert.deepEqual(faultsOf(results), []);
  assert.deepEqual(
    [...EQUIVALENT.keys()].filter((file) => !results.has(file)),
    [],
  );
});

test('a reason for one mistake is none for another with the same text', () => {
  const [file, reasons] = [...EQUIVALENT][0]!;
  const noted = reasons.flatMap(({ lines }) => lines);
  const result = (lived: readonly string[]) => new Map([[file, { hash: '', made: 100, lived }]]);
  assert.deepEqual(faultsOf(result(noted)), []);
  assert.deepEqual(faultsOf(result([...noted, noted[0]!])), [`${file}: no test notices ${noted[0]}`]);
  assert.deepEqual(faultsOf(result(noted.slice(1))), [`${file}: no such mistake lives: ${noted[0]}`]);
});
