// The map and the set for entries that come and go: they behave as those of the language do, and what has left them does
// not live on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { TurnoverMap, TurnoverSet } from '../../src/domain/turnover.ts';
import { seededRandom } from '../support/manual-clock.ts';

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
