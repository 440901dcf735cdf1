// A few of many things, by turns of their owners.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeInTurn } from '../../../src/rules/limits/take-in-turn.ts';

const ownerOf = (each: string) => each[0]!;
const take = (all: readonly string[], max: number) => takeInTurn(all, max, ownerOf);

test('each owner gets one before anybody gets another', () => {
  const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'];
  assert.deepEqual(take(all, 4), { taken: ['a1', 'b1', 'c1', 'a2'], rest: ['a3', 'c2'] });
});

test('a round that does not fit is taken in part, and nothing is lost or taken twice', () => {
  const all = ['a1', 'a2', 'b1', 'b2', 'c1'];
  for (let max = 0; max <= all.length + 1; max += 1) {
    const { taken, rest } = take(all, max);
    assert.equal(taken.length, Math.min(max, all.length));
    assert.deepEqual([...taken, ...rest].sort(), [...all].sort());
  }
});

test('the rest stays in the order in which it came, and so does what each owner gets', () => {
  let all = ['b1', 'a1', 'a2', 'a3', 'b2', 'a4'];
  const order: string[] = [];
  while (all.length > 0) {
    const { taken, rest } = take(all, 2);
    order.push(...taken);
    all = rest;
  }
  assert.deepEqual(order, ['b1', 'a1', 'a2', 'b2', 'a3', 'a4']);
});
