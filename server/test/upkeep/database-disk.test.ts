// The watch of the reserve in a database: what it makes of the reserve that is there, given up, refilled or not allowed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatabaseReserve } from '../../src/store/ports/database-reserve.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import { databaseDiskWatch } from '../../src/upkeep/database-disk.ts';

const MIB = 1024 * 1024;

/** A disk with so much space, on which the reserve is what was made last. */
function watched(free: number) {
  const disk = { free, taken: 0, makes: 0, recycled: 0, error: null as Error | null, isBusy: false };
  const listeners = { released: () => {}, back: () => {} };
  const reserve: DatabaseReserve = {
    isThere: async () => disk.taken > 0,
    async make(bytes, spareBytes) {
      disk.makes += 1;
      if (disk.error) throw disk.error;
      if (disk.isBusy) return 'busy';
      if (disk.free < bytes + spareBytes) return 'full';
      disk.free -= bytes;
      disk.taken = bytes;
      return 'made';
    },
    async recycleLog() {
      disk.recycled += 1;
    },
    onReleased(listener) {
      listeners.released = listener;
    },
    onBack(listener) {
      listeners.back = listener;
    },
  };
  const time = { ms: 0 };
  const changes: (boolean | 'refused')[] = [];
  const watch = databaseDiskWatch({
    reserve,
    bytes: MIB,
    clock: { monotonicMs: () => time.ms },
    onChange: (isThere) => changes.push(isThere),
    onRefused: () => changes.push('refused'),
  });
  const release = () => {
    disk.free += disk.taken;
    disk.taken = 0;
    listeners.released();
  };
  return { disk, time, watch, changes, release, comeBack: () => listeners.back() };
}

test('the reserve of a database is made, and after it was given up nothing is published until it is made again', async () => {
  const { disk, time, watch, changes, release } = watched(1.5 * MIB);
  assert.equal(watch.mark(), 'none', 'nothing is known before the first look');
  await watch.run();
  assert.deepEqual([disk.taken, watch.mark()], [MIB, 'none']);
  await watch.run();
  assert.equal(disk.makes, 1, 'it is there');

  release();
  assert.equal(watch.mark(), 'all', 'from that moment on');
  await watch.run();
  assert.deepEqual([disk.makes, disk.recycled], [1, 1], 'not at once, but the log gives back what it can');
  time.ms += 5000;
  await watch.run();
  assert.deepEqual([disk.makes, watch.mark()], [2, 'all'], 'there is space for it, and for nothing beside it');
  time.ms += 4999;
  await watch.run();
  assert.equal(disk.makes, 2, 'each try takes the last space for a moment');
  disk.free = 2 * MIB;
  time.ms += 1;
  await watch.run();
  assert.equal(watch.mark(), 'largest', 'the first space that comes back is not for whoever took the last');
  time.ms += 10 * 60_000;
  assert.equal(watch.mark(), 'none');
  assert.deepEqual(changes, [true, false, true]);
});

test('a node that starts on a full disk publishes nothing, and one that waits for another node neither stops nor begins', async () => {
  const { disk, time, watch } = watched(MIB - 1);
  disk.isBusy = true;
  assert.equal(await watch.run(), 1000);
  assert.equal(watch.mark(), 'none');
  disk.isBusy = false;
  await watch.run();
  assert.equal(watch.mark(), 'all');
  disk.taken = MIB;
  time.ms += 1;
  await watch.run();
  assert.notEqual(watch.mark(), 'all', 'another node has made it');
});

test('what was seen before the reserve was given up counts no more', async () => {
  const { watch, release } = watched(4 * MIB);
  await watch.run();
  const looking = watch.run();
  release();
  await looking;
  assert.equal(watch.mark(), 'all');
});

test('after a crash of the database the reserve is looked at as soon as it is back', async () => {
  const { disk, watch, comeBack } = watched(MIB);
  await watch.run();
  disk.taken = 0;
  comeBack();
  await watch.run();
  assert.deepEqual([disk.makes, watch.mark()], [2, 'all'], 'its space was used');
});

test('a database that lets a node make no reserve is published to without one', async () => {
  const { disk, watch, changes, release } = watched(4 * MIB);
  disk.error = new Error('permission denied');
  assert.equal(await watch.run(), 60_000);
  assert.deepEqual([watch.mark(), changes], ['none', ['refused']]);
  disk.error = new StoreUnavailable('unavailable', 'away');
  release();
  await watch.run();
  assert.equal(watch.mark(), 'all', 'it is not tried yet');
});

test('a write that found no space is noted, and the next that succeeds too', () => {
  const { watch } = watched(4 * MIB);
  watch.noteWrite(new StoreUnavailable('full', 'no space'));
  assert.deepEqual([watch.wasFull(), watch.mark(), watch.freeBytes()], [true, 'largest', null]);
  watch.noteWrite(null);
  assert.equal(watch.wasFull(), false);
});
