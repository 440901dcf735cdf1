import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import { addLooks, CALL_LOOK, Looking, nextLook, pieceLook } from '../../../src/rules/reads/look.ts';

test('a call looks piece by piece, and ends at its own limit of rows or of bytes', () => {
  const piece = { rows: eachMax('pieceRows'), bytes: eachMax('pieceBytes') };
  assert.deepEqual(pieceLook(), piece);
  assert.deepEqual(nextLook({ rows: 0, bytes: 0 }), piece);
  assert.deepEqual(nextLook({ rows: CALL_LOOK.rows - 1, bytes: CALL_LOOK.bytes - 2 }), { rows: 1, bytes: 2 });
  assert.equal(nextLook({ rows: CALL_LOOK.rows, bytes: 0 }), null);
  assert.equal(nextLook({ rows: 0, bytes: CALL_LOOK.bytes }), null);
  assert.equal(nextLook({ rows: CALL_LOOK.rows + 1, bytes: CALL_LOOK.bytes + 1 }), null);
  assert.equal(CALL_LOOK.bytes, 33_554_432);
});

test('what two pieces looked at is added', () => {
  assert.deepEqual(addLooks({ rows: 3, bytes: 50 }, { rows: 1, bytes: 7 }), { rows: 4, bytes: 57 });
});

test('a piece ends when it has looked at all of its rows', () => {
  const looking = new Looking({ rows: 2, bytes: 100 });
  assert.deepEqual([looking.isEnough, looking.rowsLeft], [false, 2]);
  looking.add(0);
  assert.deepEqual([looking.isEnough, looking.rowsLeft], [false, 1]);
  looking.add(0);
  assert.deepEqual([looking.isEnough, looking.rowsLeft], [true, 0]);
  looking.add(0);
  assert.equal(looking.rowsLeft, 0);
});

test('a piece ends when it has read all of its bytes, and those passed over count', () => {
  const looking = new Looking({ rows: 100, bytes: 100 });
  looking.add(40);
  assert.equal(looking.isEnough, false);
  looking.add(20, 39);
  assert.equal(looking.isEnough, false);
  looking.add(1);
  assert.equal(looking.isEnough, true);
  assert.deepEqual(looking.looked, { rows: 3, bytes: 61 }, 'what was passed over was not read');
});

test('a body is read while there is room for it, and the first one in any case', () => {
  const looking = new Looking({ rows: 100, bytes: 100 });
  assert.equal(looking.hasRoomFor(101), true);
  looking.add(30, 30);
  assert.equal(looking.hasRoomFor(40), true);
  assert.equal(looking.hasRoomFor(41), false);
  looking.add(90);
  assert.equal(looking.hasRoomFor(0), true, 'an empty body takes no room');
  assert.equal(looking.hasRoomFor(1), false);
});

test('without a limit of its own, it looks at as much as one call may', () => {
  assert.equal(new Looking().rowsLeft, CALL_LOOK.rows);
});
