import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEndpointName, isName } from '../../../src/rules/requests/name.ts';

test('letters, digits, "-", "_" and "." make a name', () => {
  for (const name of ['a', 'A-b_c.9', '0', '.', '__proto__', 'tpc_01J', 'a'.repeat(128)]) {
    assert.equal(isName(name), true, name);
  }
});

test('an empty, overlong or otherwise written text is no name', () => {
  for (const text of ['', 'a'.repeat(129), 'a b', 'a/b', 'a\n', '\na', 'ä', 'a:b', 'a%20b', 'a\0', '①']) {
    assert.equal(isName(text), false, JSON.stringify(text));
  }
});

test('the name of an endpoint is any text without control characters', () => {
  for (const name of ['a', 'Büro 3', 'a/b', '\u{1F600}'.repeat(128)]) assert.equal(isEndpointName(name), true, name);
  for (const text of ['', 'a\nb', '\0', '\ud800', 'a'.repeat(129)]) {
    assert.equal(isEndpointName(text), false, JSON.stringify(text));
  }
});
