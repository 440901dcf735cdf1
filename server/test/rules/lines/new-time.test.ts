// Where a message waits after its time was changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import type { Waiting } from '../../../src/rules/lines/line.ts';
import { claimableAt, placeAtNewTime, type WaitingPlace } from '../../../src/rules/lines/new-time.ts';

const NOW = 1_000_000;
const FLOW = { key: 'k', limits: { parallelism: 1, rate: null, periodMs: 1000 } };

const place = (some: Partial<WaitingPlace> = {}): WaitingPlace => ({
  state: 'queued',
  dueAt: NOW - 1,
  firstDueAt: NOW - 1,
  readyAt: NOW - 1,
  aloneFromAt: null,
  holdsPlace: false,
  ...some,
});
const plain = { queueName: null, flow: null, attempts: 0 };
const inQueue = { ...plain, queueName: 'q' };
const underKey = { ...plain, flow: FLOW };

test('a message that was never tried waits like one that is accepted now with that time', () => {
  const head = place({ state: 'ready', holdsPlace: true });
  for (const at of [NOW, NOW + 1]) {
    const moved = { dueAt: at, firstDueAt: at, readyAt: null, aloneFromAt: null, holdsPlace: false, hasLeft: true };
    const isLater = at > NOW;
    assert.deepEqual(placeAtNewTime(head, inQueue, at, NOW), { ...moved, state: 'queued' });
    assert.deepEqual(placeAtNewTime(head, underKey, at, NOW), { ...moved, state: isLater ? 'delayed' : 'queued' });
    assert.deepEqual(placeAtNewTime(head, plain, at, NOW), { ...moved, state: isLater ? 'delayed' : 'ready' });
  }
});

test('between two attempts a message of a queue keeps its place, its order and its state in a paused queue', () => {
  const tried = { ...inQueue, attempts: 1 };
  const states: readonly (readonly [before: Waiting, at: number, after: Waiting])[] = [
    ['queued', NOW, 'queued'],
    ['queued', NOW + 1, 'queued'],
    ['delayed', NOW, 'ready'],
    ['delayed', NOW + 1, 'delayed'],
    ['ready', NOW, 'ready'],
    ['ready', NOW + 1, 'delayed'],
  ];
  for (const [state, at, after] of states) {
    const before = place({ state, holdsPlace: true });
    assert.deepEqual(placeAtNewTime(before, tried, at, NOW), { ...before, state: after, dueAt: at, hasLeft: false });
  }
});

test('under a flow key a place is given back also between two attempts, and the first time stays', () => {
  const before = place({ state: 'ready', holdsPlace: true });
  assert.deepEqual(placeAtNewTime(before, { ...underKey, attempts: 2 }, NOW + 5, NOW), {
    ...before,
    state: 'delayed',
    dueAt: NOW + 5,
    holdsPlace: false,
    hasLeft: true,
  });
});

test('a message that starts alone still does', () => {
  for (const line of [plain, inQueue, underKey]) {
    const before = place({ state: 'delayed', dueAt: NEVER_AT, aloneFromAt: NOW + 1, holdsPlace: true });
    const moved = placeAtNewTime(before, { ...line, attempts: 3 }, NOW + 9, NOW);
    assert.deepEqual(moved, { ...before, aloneFromAt: NOW + 9, hasLeft: false });
    assert.equal(claimableAt(moved), null);
  }
});

test('only a message that waits for the clock or a slot says when it can be claimed', () => {
  assert.equal(claimableAt(place({ state: 'queued' })), null);
  assert.equal(claimableAt(place({ state: 'delayed', dueAt: NOW + 3 })), NOW + 3);
  assert.equal(claimableAt(place({ state: 'ready', dueAt: NOW })), NOW);
});

test('whatever it was: a later time is waited for, no place is made up, and what the tables require holds', () => {
  const lines = fc.constantFrom(plain, inQueue, underKey);
  fc.assert(
    fc.property(
      lines,
      fc.nat(2),
      fc.constantFrom<Waiting[]>('delayed', 'queued', 'ready'),
      fc.boolean(),
      fc.integer({ min: 0, max: 10 }),
      (line, attempts, state, holds, laterMs) => {
        const isInLine = line !== plain;
        const before = place({
          state: state === 'queued' && !isInLine ? 'ready' : state,
          holdsPlace: holds && isInLine,
        });
        const after = placeAtNewTime(before, { ...line, attempts }, NOW + laterMs, NOW);
        assert.equal(after.dueAt, NOW + laterMs);
        assert.ok(before.holdsPlace || !after.holdsPlace);
        assert.ok(after.state !== 'queued' || isInLine);
        assert.ok(laterMs === 0 || after.state !== 'ready');
        assert.ok(line !== inQueue || after.holdsPlace || after.state === 'queued' || attempts > 0);
        if (attempts > 0) assert.deepEqual([after.firstDueAt, after.readyAt], [before.firstDueAt, before.readyAt]);
      },
    ),
  );
});
