// The trailers of a chunked body are removed, however their bytes are cut into pieces.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChunkFollower } from '../../../src/delivery/http/chunk-follower.ts';

function passed(...pieces: readonly string[]): string[] {
  const follower = new ChunkFollower(1000, 100);
  return pieces.map((piece) => follower.pass(Buffer.from(piece)).toString());
}

test('trailers end with an empty line, also when it is cut', () => {
  const body = '2\r\nok\r\n0\r\n';
  assert.deepEqual(passed(`${body}a: b\r\n\r\nnext`), [`${body}\r\nnext`]);
  assert.deepEqual(passed(body, 'a: b\r\n', '\r', '\nnext'), [body, '', '', '\r\nnext']);
});

test('a trailer of one byte that is cut from its line feed is no empty line', () => {
  const body = '2\r\nok\r\n0\r\n';
  assert.deepEqual(passed(body, 'x', '\n', '\r\nnext'), [body, '', '', '\r\nnext']);
});
