import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idMaker, idOf, idsFrom, numbered } from '../../../src/rules/requests/id.ts';
import { givenRequestId, requestIdMaker } from '../../../src/rules/requests/request-id.ts';

test('an id that a caller gives is taken if it is short and needs no escaping', () => {
  for (const id of ['a', '0', 'x'.repeat(128), 'Root=1-67891233-abcdef', 'a.b_c:d~e+f/g@h']) {
    assert.equal(givenRequestId(id), id);
  }
  for (const id of ['', 'x'.repeat(129), 'a b', 'a,b', 'a\n', 'é', '"', undefined, ['a', 'b']]) {
    assert.equal(givenRequestId(id), null);
  }
});

test('made ids begin alike and differ, also when their number starts again', () => {
  const make = requestIdMaker('node-', new Uint8Array([255, 255, 255, 0, 7, 7, 7, 7]));
  const ids = Array.from({ length: 10_000 }, make);
  assert.ok(ids.every((id) => /^node-[0-9a-z]{1,7}$/.test(id)));
  assert.equal(new Set(ids).size, ids.length);
});

test('two ids do not show how many requests came in between', () => {
  const numbersOf = (secret: number) => {
    const make = requestIdMaker('', new Uint8Array([0, 0, 0, 0, secret, 1, 2, 3]));
    return Array.from({ length: 1000 }, () => Number.parseInt(make(), 36));
  };
  const numbers = numbersOf(9);
  const steps = numbers.slice(1).map((number, index) => number - numbers[index]!);
  assert.equal(new Set(steps).size, steps.length, 'no step is like another');
  assert.notDeepEqual(numbersOf(10), numbers);
});

test('ids can be looked up by their time, numbered, and made of given bytes', () => {
  const newId = idMaker(
    () => 1000,
    (length) => new Uint8Array(length).fill(31),
  );
  assert.ok(newId('aud') > idsFrom('aud', 1000) && newId('aud') < idsFrom('aud', 1001));
  assert.equal(idsFrom('aud', -5), idsFrom('aud', 0));
  assert.ok(idsFrom('aud', Number.MAX_SAFE_INTEGER) > newId('aud'), 'a time that no id can have is after all');
  const id = newId('aud');
  assert.equal(numbered(id, 33), `${idsFrom('aud', 1000)}0011ZZZZZZZZZZZZ`);
  assert.equal(numbered(id, 1).length, id.length);
  assert.ok(numbered(id, 31) < numbered(id, 32));
  assert.equal(idOf('aud', 1000, new Uint8Array(16)), `${idsFrom('aud', 1000)}0000000000000000`);
});
