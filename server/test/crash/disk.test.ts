// The disk that the power-loss tests cut the power of: it keeps what was flushed, and of the rest only what a real disk
// may keep.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Chance } from '../simulation/chance.ts';
import { Disk, type Image } from './disk.ts';
import { DiskFile } from './disk-file.ts';
import { type DiskRecord, THE_DIRECTORY } from './disk-log.ts';

const SEEDS = 200;

suite('a file after a power cut', () => {
  const contents = (prepare: (file: DiskFile) => void, sectorBytes = 4) => {
    const found = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const file = new DiskFile(Buffer.from('....'));
      prepare(file);
      found.add(file.afterPowerCut(new Chance(seed), { sectorBytes, upToDatePercent: 30 }).toString());
    }
    return [...found].sort();
  };

  test('has all that was flushed', () => {
    const flushed = (file: DiskFile) => {
      file.write(4, Buffer.from('abcd'));
      file.write(2, Buffer.from('xy'));
      file.flush();
    };
    assert.deepEqual(contents(flushed), ['..xyabcd']);
  });

  test('has any subset of the unflushed sectors, each in any of its versions', () => {
    const torn = (file: DiskFile) => {
      file.write(0, Buffer.from('abcd'));
      file.write(0, Buffer.from('ABCD'));
    };
    assert.deepEqual(contents(torn), ['....', 'ABCD', 'abcd']);
    assert.ok(contents(torn, 2).includes('ab..') && contents(torn, 2).includes('..CD'));
  });

  test('has any of the sizes it had, with zeros where nothing was written', () => {
    const grown = (file: DiskFile) => file.write(4, Buffer.from('abcd'));
    assert.deepEqual(contents(grown), ['....', '....\0\0\0\0', '....abcd']);
    const cut = (file: DiskFile) => file.truncate(1);
    assert.deepEqual(contents(cut), ['.', '....'], 'the end is gone, or it is not');
    const cutAndGrown = (file: DiskFile) => {
      file.truncate(1);
      file.write(2, Buffer.from('ab'));
    };
    assert.deepEqual(contents(cutAndGrown), ['.', '.\0\0\0', '.\0ab', '....', '..ab']);
  });

  test('has nothing of the writes of a failed flush, even after a later flush succeeds', () => {
    const failed = (file: DiskFile) => {
      file.write(0, Buffer.from('abcd'));
      file.failToFlush();
      file.write(4, Buffer.from('efgh'));
      file.flush();
    };
    assert.deepEqual(contents(failed), ['....efgh']);
  });
});

suite('a directory after a power cut', () => {
  const at = { file: 1, start: 0, end: 0 };
  const created: DiskRecord = { ...at, kind: 'created', name: 'new' };
  const unlinked: DiskRecord = { ...at, kind: 'unlinked', name: 'old' };
  const flushed: DiskRecord = { ...at, kind: 'flushed', file: THE_DIRECTORY };
  const before: Image = new Map([['old', Buffer.from('old')]]);

  const listings = (records: readonly DiskRecord[]) => {
    const found = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const disk = new Disk(records, before);
      disk.advance(0);
      const names = [...disk.imageAfterPowerCut(new Chance(seed)).keys()].filter((name) => !name.endsWith('-shm'));
      found.add(names.sort().join(' '));
    }
    return [...found].sort();
  };

  test('has the names it was flushed with, and others or not', () => {
    assert.deepEqual(listings([created, unlinked]), ['', 'new', 'new old', 'old']);
    assert.deepEqual(listings([created, flushed, unlinked]), ['new', 'new old']);
    assert.deepEqual(listings([created, unlinked, flushed]), ['new']);
  });
});
