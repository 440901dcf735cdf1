import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import {
  addReadAmounts,
  CALL_READ_MAX,
  nextReadMax,
  pieceReadMax,
  ReadCounter,
} from '../../../src/rules/reads/read-amount.ts';

test('a call looks piece by piece, and ends at its own limit of rows or of bytes', () => {
  const piece = { rows: eachMax('pieceRows'), bytes: eachMax('pieceBytes') };
  assert.deepEqual(pieceReadMax(), piece);
  assert.deepEqual(nextReadMax({ rows: 0, bytes: 0 }), piece);
  assert.deepEqual(nextReadMax({ rows: CALL_READ_MAX.rows - 1, bytes: CALL_READ_MAX.bytes - 2 }), {
    rows: 1,
    bytes: 2,
  });
  assert.equal(nextReadMax({ rows: CALL_READ_MAX.rows, bytes: 0 }), null);
  assert.equal(nextReadMax({ rows: 0, bytes: CALL_READ_MAX.bytes }), null);
  assert.equal(nextReadMax({ rows: CALL_READ_MAX.rows + 1, bytes: CALL_READ_MAX.bytes + 1 }), null);
  assert.equal(CALL_READ_MAX.bytes, 33_554_432);
});

test('what two pieces looked at is added', () => {
  assert.deepEqual(addReadAmounts({ rows: 3, bytes: 50 }, { rows: 1, bytes: 7 }), { rows: 4, bytes: 57 });
});

test('a piece ends when it has looked at all of its rows', () => {
  const looking = new ReadCounter({ rows: 2, bytes: 100 });
  assert.deepEqual([looking.isEnough, looking.rowsLeft], [false, 2]);
  looking.add(0);
  assert.deepEqual([looking.isEnough, looking.rowsLeft], [false, 1]);
  looking.add(0);
  assert.deepEqual([looking.isEnough, looking.rowsLeft], [true, 0]);
  looking.add(0);
  assert.equal(looking.rowsLeft, 0);
});

test('a piece ends when it has read all of its bytes, and those passed over count', () => {
  const looking = new ReadCounter({ rows: 100, bytes: 100 });
  looking.add(40);
  assert.equal(looking.isEnough, false);
  looking.add(20, 39);
  assert.equal(looking.isEnough, false);
  looking.add(1);
  assert.equal(looking.isEnough, true);
  assert.deepEqual(looking.looked, { rows: 3, bytes: 61 }, 'what was passed over was not read');
});

test('a body is read while there is room for it, and the first one in any case', () => {
  const looking = new ReadCounter({ rows: 100, bytes: 100 });
  assert.equal(looking.hasRoomFor(101), true);
  looking.add(30, 30);
  assert.equal(looking.hasRoomFor(40), true);
  assert.equal(looking.hasRoomFor(41), false);
  looking.add(90);
  assert.equal(looking.hasRoomFor(0), true, 'an empty body takes no room');
  assert.equal(looking.hasRoomFor(1), false);
});

test('without a limit of its own, it looks at as much as one call may', () => {
  assert.equal(new ReadCounter().rowsLeft, CALL_READ_MAX.rows);
});
