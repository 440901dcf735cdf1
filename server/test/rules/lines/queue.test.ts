// Which messages of a queue may start.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NEVER_AT } from '../../../src/rules/delivery/recovery.ts';
import {
  canDeleteQueue,
  changedRules,
  freeHeads,
  planHeads,
  stateChangeInPause,
  wrongFirstMarks,
} from '../../../src/rules/lines/queue.ts';

const NOW = 1000;
const queue = (parallelism: number, isPaused = false) => ({ parallelism, isPaused });
const inLine = (firstDueAt: number, dueAt = firstDueAt) => ({ firstDueAt, dueAt });

test('as many may start as are missing to the parallelism', () => {
  assert.equal(freeHeads(queue(1), 0), 1);
  assert.equal(freeHeads(queue(3), 1), 2);
  assert.equal(freeHeads(queue(3), 3), 0);
});

test('a queue whose parallelism was lowered below what has started lets nothing start', () => {
  assert.equal(freeHeads(queue(1), 5), 0);
});

test('a paused queue lets nothing start', () => {
  assert.equal(freeHeads(queue(1000, true), 0), 0);
});

test('the first of the line start, and the queue is told when the next one is due', () => {
  const line = [inLine(NOW - 1), inLine(NOW), inLine(NOW + 5), inLine(NOW + 9)];
  assert.deepEqual(planHeads(queue(5), 1, line, NOW), {
    start: [
      { head: line[0], state: 'ready' },
      { head: line[1], state: 'ready' },
    ],
    giveBack: 0,
    nextStartAt: NOW + 5,
    dueAt: NOW,
  });
});

test('when all slots are taken, no message waits for the clock', () => {
  const { start, nextStartAt } = planHeads(queue(2), 1, [inLine(NOW), inLine(NOW + 5)], NOW);
  assert.equal(start.length, 1);
  assert.equal(nextStartAt, null);
});

test('one that waits for its retry gets its place back and waits on', () => {
  const { start, dueAt } = planHeads(queue(1), 0, [inLine(NOW - 9, NOW + 30)], NOW);
  assert.deepEqual(
    start.map(({ state }) => state),
    ['delayed'],
  );
  assert.equal(dueAt, NOW + 30);
});

test('one that waits for a start alone is not due at any time', () => {
  assert.equal(planHeads(queue(1), 0, [inLine(NOW, NEVER_AT)], NOW).dueAt, null);
});

test('with more started than may, as many places are given back', () => {
  assert.deepEqual(planHeads(queue(2), 5, [], NOW), { start: [], giveBack: 3, nextStartAt: null, dueAt: NOW });
  assert.equal(planHeads(queue(2, true), 5, [], NOW).giveBack, 3);
});

test('for every line: no more start than allowed, in order, none before its time, and none is forgotten', () => {
  const lines = fc
    .array(fc.record({ firstDueAt: fc.integer({ min: 0, max: 2 * NOW }), dueAt: fc.integer({ min: 0, max: 2 * NOW }) }))
    .map((line) => line.sort((a, b) => a.firstDueAt - b.firstDueAt));
  const rules = fc.record({ parallelism: fc.integer({ min: 1, max: 6 }), isPaused: fc.boolean() });
  fc.assert(
    fc.property(rules, fc.nat({ max: 8 }), lines, (given, started, line) => {
      const { start, giveBack, nextStartAt, dueAt } = planHeads(given, started, line, NOW);
      const free = freeHeads(given, started);
      assert.ok(start.length <= free);
      assert.deepEqual(
        start.map(({ head }) => head),
        line.slice(0, start.length),
      );
      for (const { head, state } of start) {
        assert.ok(head.firstDueAt <= NOW);
        assert.equal(state, head.dueAt > NOW ? 'delayed' : 'ready');
      }
      const next = line[start.length];
      assert.equal(nextStartAt, next && start.length < free ? next.firstDueAt : null);
      assert.equal(giveBack, Math.max(0, started - given.parallelism));
      assert.ok(giveBack === 0 || start.length === 0);
      assert.equal(dueAt === null, start.length === 0 && nextStartAt === null && giveBack === 0);
      assert.ok(dueAt === null || dueAt >= NOW);
    }),
  );
});

test('a change keeps the values that it does not name', () => {
  assert.deepEqual(changedRules(queue(3, true), {}), queue(3, true));
  assert.deepEqual(changedRules(queue(3, true), { parallelism: 1 }), queue(1, true));
  assert.deepEqual(changedRules(queue(3, true), { isPaused: false }), queue(3));
});

test('heads wait for their queue while it is paused, and for the clock after it', () => {
  const { from, to } = stateChangeInPause(true);
  assert.deepEqual([[...from].sort(), to], [['delayed', 'ready'], 'queued']);
  assert.deepEqual(stateChangeInPause(false), { from: ['queued'], to: 'delayed' });
});

test('after a change of marks the first of an order key is marked, and no other', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 6 }), (marks) => {
      const line = marks.map((isFirstOfKey, seq) => ({ seq, isFirstOfKey }));
      const changed = new Map(wrongFirstMarks(line).map(({ message, isFirst }) => [message.seq, isFirst]));
      for (const [seq, isFirst] of changed) assert.notEqual(marks[seq], isFirst);
      const after = line.map(({ seq, isFirstOfKey }) => changed.get(seq) ?? isFirstOfKey);
      assert.deepEqual(
        after,
        line.map(({ seq }) => seq === 0),
      );
    }),
  );
});

test('as many start at once as may, and a queue that could start more is due again at once', () => {
  const line = [inLine(NOW - 3), inLine(NOW - 2), inLine(NOW - 1)];
  const cut = planHeads(queue(5), 0, line, NOW, 2);
  assert.deepEqual([cut.start.map(({ head }) => head), cut.nextStartAt, cut.dueAt], [line.slice(0, 2), NOW, NOW]);
  assert.equal(planHeads(queue(2), 0, line, NOW, 2).nextStartAt, null, 'it has no place for more');
  assert.equal(planHeads(queue(5), 0, line.slice(0, 1), NOW, 2).nextStartAt, null, 'nobody else waits');
  const later = [inLine(NOW - 3), inLine(NOW + 7)];
  assert.equal(planHeads(queue(5), 0, later, NOW, 2).nextStartAt, NOW + 7, 'the clock decides');
});

test('only a queue that a message made a day ago, and that nobody has changed, is forgotten', () => {
  const dayMs = 86_400_000;
  const made = { isSet: false, isPaused: false, parallelism: 1, createdAt: NOW };
  assert.equal(canDeleteQueue(made, NOW + dayMs), true);
  assert.equal(canDeleteQueue(made, NOW + dayMs - 1), false);
  for (const change of [{ isSet: true }, { isPaused: true }, { parallelism: 2 }]) {
    assert.equal(canDeleteQueue({ ...made, ...change }, NOW + dayMs), false);
  }
});
