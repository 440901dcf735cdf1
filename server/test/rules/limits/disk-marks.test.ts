// The marks of a disk that becomes full, the reserve, and which accounts stop first.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  databaseReserveBytes,
  diskMark,
  isSpaceScarce,
  markAfterFull,
  nextCheckMs,
  recreateAfterMs,
  reserveBytes,
  reserveStep,
  storageProblem,
} from '../../../src/rules/limits/disk-marks.ts';

const MIB = 1024 * 1024;
const MIN = 64 * MIB;

test('the largest stop first, then everything that grows; what is free inside the file counts', () => {
  const mark = (diskBytes: number, insideBytes = 0) => diskMark({ diskBytes, insideBytes }, MIN);
  assert.equal(mark(2 * MIN), 'none');
  assert.equal(mark(2 * MIN - 1), 'largest');
  assert.equal(mark(MIN), 'largest');
  assert.equal(mark(MIN - 1), 'all');
  assert.equal(mark(MIN / 2, 2 * MIN), 'none', 'what was deleted is used again');
  assert.equal(mark(MIN / 4 - 1, 100 * MIN), 'all', 'the log needs space of the disk');
  assert.equal(diskMark({ diskBytes: 0, insideBytes: 0 }, 0), 'none', 'no minimum was set');
});

test('for ten minutes after a write found no space, the largest may not store more, whatever space is seen', () => {
  const MINUTES_10 = 600_000;
  assert.equal(markAfterFull('none', 0), 'largest');
  assert.equal(markAfterFull('none', MINUTES_10 - 1), 'largest');
  assert.equal(markAfterFull('none', MINUTES_10), 'none');
  assert.equal(markAfterFull('none', null), 'none', 'no write ever found none');
  assert.equal(markAfterFull('all', 0), 'all');
  assert.equal(markAfterFull('largest', MINUTES_10), 'largest');
});

test('with a small minimum the reserve is a quarter of it, in whole bytes', () => {
  assert.equal(reserveBytes(MIB + 3), MIB / 4);
  assert.equal(reserveStep(MIB / 4, MIB, true), null);
  assert.equal(reserveStep(MIB / 4 - 1, MIB, true), 'release');
});

test('the reserve is given up at the last moment, and made again only above the minimum', () => {
  assert.equal(reserveBytes(MIN), 16 * MIB);
  assert.equal(reserveBytes(0), 0);
  assert.equal(reserveStep(MIN, MIN, true), null);
  assert.equal(reserveStep(2 * MIB, MIN, true), null);
  assert.equal(reserveStep(2 * MIB - 1, MIN, true), 'release');
  assert.equal(reserveStep(MIN, MIN, false), null, 'it would be given up again');
  assert.equal(reserveStep(MIN + 16 * MIB, MIN, false), 'make');
});

test('the reserve of a database has the size of some segments of its log, and is tried less and less often', () => {
  assert.equal(databaseReserveBytes(MIN), 64 * MIB);
  assert.equal(databaseReserveBytes(1024 * MIN), 64 * MIB);
  assert.equal(databaseReserveBytes(MIB), MIB);
  assert.deepEqual([0, 1, 2, 3, 4, 2000].map(recreateAfterMs), [5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

test('an account is refused beyond its limit, and above the average on a disk that is nearly full', () => {
  const facts = { bytes: 90, more: 10, max: 100, mark: 'none', all: { bytes: 100, accounts: 4 } } as const;
  assert.equal(storageProblem(facts, 'free'), null);
  assert.equal(storageProblem({ ...facts, more: 11 }, 'free')?.code, 'storage_exceeded');
  assert.equal(storageProblem({ ...facts, more: 11, max: null }, 'free'), null);
  assert.equal(storageProblem({ ...facts, mark: 'largest' }, 'free')?.code, 'disk_full');
  assert.equal(storageProblem({ ...facts, mark: 'largest', bytes: 25 }, 'free'), null, 'it stores its part');
  // As of the last look: it has grown since.
  const alone = { bytes: 50, accounts: 1 };
  assert.equal(storageProblem({ ...facts, mark: 'largest', all: alone }, 'free'), null, 'nobody else needs the space');
});

test('the less is free, the sooner it is looked at again', () => {
  assert.equal(nextCheckMs(100 * MIN, MIN), 5000);
  const near = nextCheckMs(4 * MIN, MIN);
  assert.ok(near > 250 && near < 2000, String(near));
  assert.equal(nextCheckMs(MIN, MIN), 250);
  assert.equal(nextCheckMs(0, MIN), 250);
});

test('what is cancelled is not kept where space is scarce: on the disk, or for the account', () => {
  assert.equal(isSpaceScarce({ bytes: 90, max: 100, mark: 'none' }), false);
  assert.equal(isSpaceScarce({ bytes: 91, max: 100, mark: 'none' }), true);
  assert.equal(isSpaceScarce({ bytes: 91, max: null, mark: 'none' }), false);
  assert.equal(isSpaceScarce({ bytes: 0, max: null, mark: 'largest' }), true);
});
