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

test('made ids begin alike and differ', () => {
  const make = requestIdMaker('node-');
  const ids = Array.from({ length: 40 }, make);
  assert.deepEqual([ids[0], ids[1], ids[35]], ['node-1', 'node-2', 'node-10']);
  assert.equal(new Set(ids).size, 40);
});

test('ids can be looked up by their time, numbered, and made of given bytes', () => {
  const newId = idMaker(
    () => 1000,
    (length) => new Uint8Array(length).fill(31),
  );
  assert.ok(newId('aud') > idsFrom('aud', 1000) && newId('aud') < idsFrom('aud', 1001));
  assert.equal(idsFrom('aud', -5), idsFrom('aud', 0));
  const id = newId('aud');
  assert.equal(numbered(id, 33), `${idsFrom('aud', 1000)}0011ZZZZZZZZZZZZ`);
  assert.equal(numbered(id, 1).length, id.length);
  assert.ok(numbered(id, 31) < numbered(id, 32));
  assert.equal(idOf('aud', 1000, new Uint8Array(16)), `${idsFrom('aud', 1000)}0000000000000000`);
});
