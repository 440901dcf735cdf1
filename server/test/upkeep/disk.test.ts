// The watch of the free space: its marks, what is free inside the file, and the reserve that it makes and gives up.

import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { reserveBytes } from '../../src/rules/limits/disk-marks.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import { diskWatch } from '../../src/upkeep/disk.ts';
import { reserveFile } from '../../src/upkeep/reserve.ts';
import { temporaryFolder } from '../support/harness.ts';
import { manualWorld } from '../support/manual-clock.ts';

const MIB = 1024 * 1024;
const MIN = 8 * MIB;

test('the reserve is made with space above the minimum, given up on a full disk, and made again', async (t) => {
  const directory = temporaryFolder(t);
  const path = join(directory, 'reserve');
  const changes: boolean[] = [];
  const reserve = reserveFile(directory, reserveBytes(MIN), true, (isThere) => changes.push(isThere));
  const disk = { free: 100 * MIN, inside: 0 };
  const watch = diskWatch({
    directory,
    freeBytesMin: MIN,
    clock: manualWorld().clock,
    reserve,
    freeBytesInside: async () => disk.inside,
    emptyLog: null,
    freeOf: async () => disk.free,
  });
  assert.equal(watch.freeBytes(), null, 'nothing is known before the first look');
  await watch.run();
  assert.equal(watch.mark(), 'none');
  assert.equal(statSync(path).size, reserveBytes(MIN));
  assert.ok(statSync(path).blocks * 512 >= reserveBytes(MIN), 'its space is really taken');

  disk.free = MIN - 1;
  await watch.run();
  assert.equal(watch.mark(), 'all');
  assert.ok(existsSync(path), 'deliveries still find space');
  disk.inside = 3 * MIN;
  await watch.run();
  assert.equal(watch.mark(), 'none', 'what was deleted is used again');
  disk.inside = 0;
  disk.free = 1000;
  await watch.run();
  assert.ok(!existsSync(path));

  disk.free = MIN;
  await watch.run();
  assert.ok(!existsSync(path), 'not before there is space for it above the minimum');
  disk.free = 2 * MIN;
  await watch.run();
  assert.ok(existsSync(path));
  watch.noteWrite(new StoreUnavailable('full', 'no space'));
  assert.ok(!existsSync(path), 'a write that found no space gives it up at once');
  assert.ok(watch.wasFull());
  assert.deepEqual(changes, [true, false, true, false]);
});

test('of several lanes one makes the reserve, and every one can give it up', async (t) => {
  const directory = temporaryFolder(t);
  const path = join(directory, 'reserve');
  const first = reserveFile(directory, MIB, true, () => {});
  const second = reserveFile(directory, MIB, false, () => {});
  await second.make();
  assert.ok(!existsSync(path));
  await first.make();
  assert.ok(second.isThere());
  second.release();
  first.release();
  assert.ok(!existsSync(path));
});
