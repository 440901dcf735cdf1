// "Did you mean": slips of the finger are recognised, and other words are left alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from '../../../src/rules/requests/nearest-name.ts';

const names = ['port', 'host', 'data', 'concurrency', 'host-concurrency'];

test('a slip of the finger is recognised', () => {
  assert.equal(nearestName('prot', names), 'port');
  assert.equal(nearestName('hos', names), 'host');
  assert.equal(nearestName('datta', names), 'data');
  assert.equal(nearestName('concurency', names), 'concurrency');
  assert.equal(nearestName('hostconcurency', names), 'host-concurrency');
});

test('another word is left alone', () => {
  for (const word of ['home', 'part-time', 'zebra', '', 'currency-host', 'optr', 'porxx']) {
    assert.equal(nearestName(word, names), undefined, word);
  }
});

test('of several close names, the closest is meant', () => {
  assert.equal(nearestName('abcdefghi', ['abcdefgx', 'abcdefgh', 'abcdefgy']), 'abcdefgh');
});
