// Sizes in bytes as people write them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatByteSize, parseByteSize } from '../../../src/rules/limits/byte-size.ts';

test('binary and decimal units, and none, are read', () => {
  assert.equal(parseByteSize('64MiB'), 67_108_864);
  assert.equal(parseByteSize('1kib'), 1024);
  assert.equal(parseByteSize('10MB'), 10_000_000);
  assert.equal(parseByteSize('2 GB'), 2_000_000_000);
  assert.equal(parseByteSize('0'), 0);
  assert.equal(parseByteSize('512B'), 512);
});

test('anything else is not a size', () => {
  for (const text of ['', 'MiB', '-1', '1.5MiB', '1M', '1 MiB ', '0x10', '1e3', '9999999999GiB', '1MiB1KiB', '١']) {
    assert.equal(parseByteSize(text), null, text);
  }
});

test('a written size is read back as the same number', () => {
  assert.equal(formatByteSize(104_857_600), '100MiB');
  assert.equal(formatByteSize(1000), '1000');
  const sizes = fc.oneof(
    fc.nat(),
    fc.nat(4000).map((n) => n * 1024),
    fc.nat(4000).map((n) => n * 1024 ** 3),
  );
  fc.assert(fc.property(sizes, (bytes) => parseByteSize(formatByteSize(bytes)) === bytes));
});

test('a size of exactly one unit is written with it', () => {
  assert.deepEqual([1024, 1024 ** 2, 1024 ** 3, 0].map(formatByteSize), ['1KiB', '1MiB', '1GiB', '0']);
});
