// Who has used more than an equal part of the event loop's time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopTime } from '../../../src/rules/limits/loop-time.ts';

test('whoever has used more than an equal part is ahead, and an account that comes anew is not', () => {
  const time = new LoopTime();
  time.charge('greedy', true, 300, 0);
  time.charge('modest', true, 30, 0);
  assert.equal(time.isAhead('greedy', true, 1), true);
  assert.equal(time.isAhead('modest', true, 1), false);
  assert.equal(time.isAhead('new', true, 1), false);
});

test('an account that is alone makes room for one that may just have come', () => {
  const time = new LoopTime();
  time.charge('alone', true, 300, 0);
  assert.equal(time.isAhead('alone', true, 1), true);
});

test('it is shared once two accounts have used it, until both windows have passed; callers without an account are none', () => {
  const time = new LoopTime();
  assert.equal(time.isShared(), false);
  time.charge('one', true, 1, 0);
  time.charge('192.0.2.0', false, 1, 100);
  time.charge('198.51.100.0', false, 1, 100);
  time.charge('one', true, 1, 1100);
  assert.equal(time.isShared(), false);
  time.charge('two', true, 1, 1200);
  assert.equal(time.isShared(), true);
  time.charge('one', true, 1, 2300);
  assert.equal(time.isShared(), true, 'in the window before');
  time.charge('one', true, 1, 3500);
  assert.equal(time.isShared(), false);
});

test('little is never too much, whatever the others use', () => {
  const time = new LoopTime();
  time.charge('one', true, 9, 0);
  assert.equal(time.isAhead('one', true, 1), false);
});

test('use is forgotten after two windows, and a long pause forgets at once', () => {
  const time = new LoopTime();
  time.charge('greedy', true, 300, 0);
  time.charge('modest', true, 1, 1500);
  assert.equal(time.isAhead('greedy', true, 1500), true);
  time.charge('modest', true, 1, 2600);
  assert.equal(time.isAhead('greedy', true, 2600), false);
  time.charge('greedy', true, 300, 3000);
  assert.equal(time.isAhead('greedy', true, 9000), false);
});

test('callers without an account count as one, however many networks they come from', () => {
  const time = new LoopTime();
  for (let network = 0; network < 100; network += 1) time.charge(`network ${network}`, false, 30, 0);
  time.charge('account', true, 500, 0);
  assert.equal(time.isAhead('network 7', false, 1), true);
  assert.equal(time.isAhead('account', true, 1), false);
  // They have used six of seven parts.
  assert.equal(time.isAhead('network of a new caller', false, 1), true);
});

test('of callers without an account that have used a little more than their part, a new one does not wait', () => {
  const time = new LoopTime();
  for (let network = 0; network < 10; network += 1) time.charge(`network ${network}`, false, 30, 0);
  time.charge('account', true, 250, 0);
  assert.equal(time.isAhead('network 7', false, 1), true);
  assert.equal(time.isAhead('network of a new caller', false, 1), false);
});

test('many networks that have each used little are ahead together', () => {
  const time = new LoopTime();
  for (let network = 0; network < 1000; network += 1) time.charge(`network ${network}`, false, 0.5, 0);
  time.charge('account', true, 50, 0);
  assert.equal(time.isAhead('network 7', false, 1), true);
  assert.equal(time.isAhead('network of a new caller', false, 1), true);
  assert.equal(time.isAhead('account', true, 1), false);
});

test('callers without an account stand behind an account that has used less than all of them, the least of them first', () => {
  const time = new LoopTime();
  for (let network = 0; network < 100; network += 1) time.charge(`network ${network}`, false, 1, 0);
  time.charge('network 7', false, 1, 0);
  time.charge('account', true, 50, 0);
  assert.ok(time.standing('account', true) < time.standing('network of a new caller', false));
  assert.ok(time.standing('network of a new caller', false) < time.standing('network 3', false));
  assert.ok(time.standing('network 3', false) < time.standing('network 7', false));
});

test('the accounts that used most are named, in their order, and all others without an account together', () => {
  const time = new LoopTime();
  for (let count = 1; count <= 9; count += 1) time.charge(`acc_${count}`, true, count, 0);
  time.charge('network a', false, 5, 0);
  time.charge('network b', false, 6, 0);
  assert.deepEqual(time.most(2, 1), {
    accounts: [
      ['acc_9', 9],
      ['acc_8', 8],
    ],
    unknownMs: 11,
  });
});

test('who has used exactly an equal part, or exactly twice that without an account, is not ahead', () => {
  const time = new LoopTime();
  time.charge('one', true, 100, 0);
  time.charge('two', true, 200, 0);
  assert.equal(time.isAhead('one', true, 1), false);
  assert.equal(time.isAhead('two', true, 1), true);
  const unknown = new LoopTime();
  unknown.charge('account', true, 200, 0);
  unknown.charge('network', false, 100, 0);
  assert.equal(unknown.isAhead('network', false, 1), false);
  const more = new LoopTime();
  more.charge('account', true, 100, 0);
  more.charge('network', false, 200, 0);
  assert.equal(more.isAhead('network', false, 1), true);
  assert.equal(more.isAhead('network of a new caller', false, 1), false);
});

test('callers without an account have a part only if there are some', () => {
  const time = new LoopTime();
  time.charge('one', true, 90, 0);
  time.charge('two', true, 210, 0);
  assert.equal(time.isAhead('one', true, 1), false, 'it has used less than a third');
});

test('ten milliseconds are not little any more', () => {
  const time = new LoopTime();
  time.charge('one', true, 10, 0);
  assert.equal(time.isAhead('one', true, 1), true);
});

test('what callers without an account used in both windows counts', () => {
  const time = new LoopTime();
  time.charge('network a', false, 60, 0);
  time.charge('network a', false, 40, 1000);
  time.charge('account', true, 99, 1000);
  assert.ok(time.standing('account', true) < time.standing('network a', false));
  assert.ok(time.standing('network a', false) < 101, 'what its network used decides only among them');
  assert.equal(time.isAhead('network a', false, 1000), true);
  assert.equal(time.most(1, 1000).unknownMs, 100);
  // The part is of all that was used in both windows: 69 of 208.
  assert.equal(time.isAhead('account', true, 1000), true);
  time.charge('other', true, 98, 1000);
  assert.equal(time.isAhead('other', true, 1000), true);
  time.charge('third', true, 60, 1000);
  assert.equal(time.isAhead('third', true, 1000), false);
});

test('a window lasts for a second, and what was used in it counts until the next one is over', () => {
  const isKnownAt = (...times: readonly number[]) => {
    const time = new LoopTime();
    time.charge('greedy', true, 300, 0);
    return times.map((at) => time.isAhead('greedy', true, at));
  };
  assert.deepEqual(isKnownAt(999, 1000, 1999, 2000), [true, true, true, false]);
  assert.deepEqual(isKnownAt(1999), [true]);
  assert.deepEqual(isKnownAt(2000), [false]);
});
