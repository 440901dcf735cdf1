// The header If-Match: which versions it names, and what is no version.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entityTag, parseIfMatch } from '../../../src/rules/requests/if-match.ts';

test('the header names one version or several; a weak one never matches, and * is any', () => {
  assert.equal(parseIfMatch(undefined), null);
  assert.equal(parseIfMatch(' * '), null);
  assert.deepEqual(parseIfMatch(entityTag('0-1')), ['0-1']);
  assert.deepEqual(parseIfMatch('"a" ,W/"b","c"'), ['a', 'c']);
  assert.deepEqual(parseIfMatch('W/"0-1"'), []);
  assert.deepEqual(parseIfMatch('""'), ['']);
  assert.deepEqual(parseIfMatch('"a",'), ['a']);
  assert.deepEqual(parseIfMatch(' , "a" ,, "b"'), ['a', 'b']);
});

test('anything else is refused', () => {
  for (const wrong of ['', '0-1', '"0-1', '"a" "b"', ',', ' , ', '*, "a"', 'w/"a"', '"a\u0001"']) {
    assert.ok('problem' in (parseIfMatch(wrong) ?? {}), JSON.stringify(wrong));
  }
});
