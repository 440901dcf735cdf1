// A JSON array that is read while it arrives gives what JSON.parse gives, however it is cut, and takes nothing that
// JSON.parse would not take.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../../src/inbound/api/errors.ts';
import { parseManagementJson } from '../../../src/inbound/publish/json.ts';
import { JsonArrayReader } from '../../../src/inbound/publish/json-array.ts';

const LIMITS = { depthMax: 1000, valuesMax: 100_000, bytesMax: 100_000 };

type Read = { readonly elements: unknown[] } | { readonly code: string };

function read(pieces: readonly Uint8Array[], limits = LIMITS): Read {
  const elements: unknown[] = [];
  const reader = new JsonArrayReader(limits, {
    begins: () => {},
    element: (value) => elements.push(value),
    tooMuch: (why) => elements.push({ tooMuch: why }),
  });
  try {
    for (const piece of pieces) reader.push(piece);
    reader.end();
    return { elements };
  } catch (error) {
    if (error instanceof ApiError) return { code: error.problem.code };
    throw error;
  }
}

function expected(bytes: Uint8Array): Read {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return Array.isArray(value) ? { elements: value } : { code: 'bad_body' };
  } catch {
    return { code: 'bad_json' };
  }
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

test('elements are those of JSON.parse, wherever the text is cut', () => {
  const blanks = fc.constantFrom('', ' ', '\n\t', '\r\n  ');
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 5 })), blanks, fc.nat({ max: 9 }), (value, blank, cutBy) => {
      const text = `${blank}[${blank}${value.map((each) => JSON.stringify(each, null, blank.length)).join(`${blank},${blank}`)}${blank}]${blank}`;
      const bytes = new TextEncoder().encode(text);
      assert.deepEqual(read(cut(bytes, cutBy + 1)), { elements: JSON.parse(text) });
    }),
  );
});

test('whatever is no JSON array is refused as JSON.parse would refuse it', () => {
  const part = fc.constantFrom(
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '"',
    '\\',
    ' ',
    '1',
    '"a"',
    'null',
    '"\\""',
    '\n',
    'é',
    '\ufeff',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), fc.nat({ max: 5 }), (parts, cutBy) => {
      const bytes = new TextEncoder().encode(parts.join(''));
      assert.deepEqual(read(cut(bytes, cutBy + 1)), expected(bytes), JSON.stringify(parts.join('')));
    }),
    { numRuns: 3000 },
  );
});

test('bytes that are no UTF-8 are refused, in a string and between elements', () => {
  for (const bytes of [
    [0x5b, 0x22, 0xff, 0x22, 0x5d],
    [0x5b, 0x31, 0xff, 0x5d],
    [0x5b, 0x5d, 0xff],
    [0xef, 0xbb, 0x5b, 0x5d],
    [0x20, 0xef, 0xbb, 0xbf, 0x5b, 0x5d],
    [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, 0x5b, 0x5d],
  ]) {
    assert.deepEqual(read([Uint8Array.from(bytes)]), { code: 'bad_json' });
  }
});

test('a byte order mark may stand before the array', () => {
  for (const size of [1, 2, 10]) {
    assert.deepEqual(read(cut(Uint8Array.from([0xef, 0xbb, 0xbf, 0x20, 0x5b, 0x31, 0x5d]), size)), { elements: [1] });
  }
});

test('an element that is too long, too deep or has too many values is not parsed; those beside it are', () => {
  const limits = { depthMax: 3, valuesMax: 10, bytesMax: 100 };
  const text = JSON.stringify([1, 'x'.repeat(200), 2, [[[[]]]], 3, Array.from({ length: 20 }, () => 1), 4]);
  for (const size of [1, 7, 1000]) {
    const result = read(cut(new TextEncoder().encode(text), size), limits);
    assert.ok('elements' in result);
    assert.deepEqual(
      result.elements.map((each) => (typeof each === 'number' ? each : (each as { tooMuch: string }).tooMuch)),
      [
        1,
        'it has 202 bytes; the limit is 100',
        2,
        'it is nested 4 levels deep; the limit is 3',
        3,
        'it has 20 keys and values; the limit is 10',
        4,
      ],
    );
  }
});

test('a management body of brackets is refused before it is parsed, a list of thousands of ids is not', () => {
  const hostile = [`[${'[],'.repeat(300_000)}[]]`, '['.repeat(500_000), `{"a":${'['.repeat(65)}${']'.repeat(65)}}`];
  for (const text of hostile) {
    assert.throws(
      () => parseManagementJson(new TextEncoder().encode(text)),
      (error) => error instanceof ApiError && error.problem.code === 'bad_body',
    );
  }
  const ids = Array.from({ length: 25_000 }, (_, index) => `msg_${index}`);
  const parsed = parseManagementJson(new TextEncoder().encode(JSON.stringify({ messageIds: ids })));
  assert.deepEqual(parsed, { messageIds: ids });
});
