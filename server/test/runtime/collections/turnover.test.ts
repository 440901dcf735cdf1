// The map and the set for entries that come and go: they behave as those of the language do, and what has left them does
// not live on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { TurnoverMap, TurnoverSet } from '../../../src/runtime/collections/turnover.ts';
import { seededRandom } from '../../support/manual-clock.ts';

test('a map and a set of turnover hold what those of the language hold, in the same order', () => {
  const random = seededRandom(1);
  const [map, set] = [new TurnoverMap<number, number>(), new TurnoverSet<number>()];
  const [plainMap, plainSet] = [new Map<number, number>(), new Set<number>()];
  for (let step = 0; step < 20_000; step += 1) {
    const [key, coin] = random.bytes(2) as unknown as [number, number];
    if (coin < 128) {
      map.set(key, step);
      plainMap.set(key, step);
      set.add(key);
      plainSet.add(key);
    } else {
      assert.equal(map.delete(key), plainMap.delete(key));
      assert.equal(set.delete(key), plainSet.delete(key));
    }
    assert.equal(map.get(key), plainMap.get(key));
    assert.equal(map.has(key), plainMap.has(key));
    assert.equal(set.has(key), plainSet.has(key));
    assert.deepEqual([map.size, set.size], [plainMap.size, plainSet.size]);
    if (step % 500 === 0) {
      assert.deepEqual([...map], [...plainMap]);
      assert.deepEqual([...map.values()], [...plainMap.values()]);
      assert.deepEqual([...set], [...plainSet]);
    }
  }
});

test('entries may leave a map and a set of turnover while they are walked', () => {
  const [map, set] = [new TurnoverMap<number, number>(), new TurnoverSet<number>()];
  for (let each = 0; each < 500; each += 1) {
    map.set(each, each);
    set.add(each);
  }
  for (const each of map.values()) map.delete(each + 1);
  for (const each of set) set.delete(each + 1);
  assert.deepEqual([map.size, set.size], [250, 250]);
});

test('a copy is made after twice as many additions as there are entries, and after more than 128', () => {
  for (const [size, additions] of [
    [1, 129],
    [63, 129],
    [64, 129],
    [65, 131],
    [100, 201],
  ] as const) {
    const map = new TurnoverMap<number, number>();
    const add = (each: number) => map.set(each, each);
    const remove = (each: number) => map.delete(each);
    assert.deepEqual(copiedAt({ walk: () => map.values(), add, remove }, size), [additions, 2 * additions]);
    const set = new TurnoverSet<number>();
    const inSet = { walk: () => set[Symbol.iterator](), add: set.add.bind(set), remove: set.delete.bind(set) };
    assert.deepEqual(copiedAt(inSet, size), [additions, 2 * additions]);
  }
});

interface Walked {
  readonly walk: () => Iterator<number>;
  readonly add: (each: number) => void;
  readonly remove: (each: number) => void;
}

/** With which additions the first two copies were made, while as many entries were present. A walk sees what is added to its own table only. */
function copiedAt({ walk, add, remove }: Walked, size: number): number[] {
  for (let each = 1; each <= size; each += 1) add(each);
  const copied: number[] = [];
  let walked = walk();
  for (let each = 1; each <= size; each += 1) walked.next();
  for (let each = size + 1; copied.length < 2; each += 1) {
    add(each);
    if (walked.next().done) {
      copied.push(each);
      walked = walk();
      while (walked.next().value !== each);
    }
    remove(each - size);
  }
  return copied;
}

test('what has left a map of turnover does not get into the old generation, as it does from a plain map', () => {
  const plain = promotedBytes(new Map());
  const turnover = promotedBytes(new TurnoverMap());
  assert.ok(turnover * 4 < plain, `${turnover} bytes were promoted, ${plain} from a plain map`);
});

/** The most by which the old generation grew while 64 of 100,000 entries of about a kilobyte were present at any time. */
function promotedBytes(map: Pick<Map<string, unknown>, 'set' | 'delete'> | TurnoverMap<string, unknown>): number {
  for (let each = -64; each < 0; each += 1) map.set(`key ${each}`, each);
  // By now the map itself is old.
  for (let each = 0; each < 100_000; each += 1) kilobyte(each);
  const before = oldBytes();
  let most = 0;
  for (let each = 0; each < 100_000; each += 1) {
    map.set(`key ${each}`, kilobyte(each));
    map.delete(`key ${each - 64}`);
    if (each % 1000 === 0) most = Math.max(most, oldBytes() - before);
  }
  return most;
}

function kilobyte(number: number): number[] {
  return new Array(128).fill(number);
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
}
