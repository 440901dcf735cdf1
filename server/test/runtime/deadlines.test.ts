// Deadlines of one length share a timer. Each is told once, at its time, unless it was cancelled.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DeadlineMember, Deadlines } from '../../src/runtime/deadlines.ts';
import { manualWorld } from '../support/manual-clock.ts';

class Noted extends DeadlineMember {
  readonly told: number[] = [];
  readonly #tell: () => number;

  constructor(tell: () => number) {
    super();
    this.#tell = tell;
  }

  onDeadline(): void {
    this.told.push(this.#tell());
  }
}

const STEPS = fc.array(
  fc.record({
    waitMs: fc.integer({ min: 0, max: 40 }),
    lengthMs: fc.constantFrom(10, 50, 1000),
    // Never the same as a length: which of the two comes first would not be defined.
    cancelAfterMs: fc.option(fc.integer({ min: 0, max: 60 }).filter((ms) => ms !== 10 && ms !== 50)),
  }),
  { maxLength: 40 },
);

test('each is told at its own time, whatever starts and is cancelled beside it', () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      const { clock } = manualWorld();
      const deadlines = new Deadlines(clock);
      const expected: number[][] = [];
      const members: Noted[] = [];
      for (const { waitMs, lengthMs, cancelAfterMs } of steps) {
        clock.advance(waitMs);
        const member = new Noted(() => clock.monotonicMs());
        members.push(member);
        deadlines.start(member, lengthMs);
        const isCancelled = cancelAfterMs !== null && cancelAfterMs < lengthMs;
        expected.push(isCancelled ? [] : [clock.monotonicMs() + lengthMs]);
        if (cancelAfterMs !== null) clock.after(cancelAfterMs, () => deadlines.cancel(member, lengthMs));
      }
      clock.advance(2000);
      assert.deepEqual(
        members.map(({ told }) => told),
        expected,
      );
      assert.equal(deadlines.timerCount, 0);
      assert.equal(clock.untilNextTimer(), null);
    }),
  );
});

test('all of one length have one timer, and none when the last has left', () => {
  const { clock } = manualWorld();
  const deadlines = new Deadlines(clock);
  const members = Array.from({ length: 1000 }, () => new Noted(() => 0));
  for (const member of members) deadlines.start(member, 30_000);
  assert.equal(deadlines.timerCount, 1);
  for (const member of members) deadlines.cancel(member, 30_000);
  assert.equal(deadlines.timerCount, 0);
  assert.equal(clock.untilNextTimer(), null);
});

test('one that starts another of its length when it is told leaves no timer behind, and loses none', () => {
  const { clock } = manualWorld();
  const deadlines = new Deadlines(clock);
  const second = new Noted(() => clock.monotonicMs());
  const first = new Noted(() => {
    deadlines.cancel(first, 100);
    deadlines.start(second, 100);
    return clock.monotonicMs();
  });
  deadlines.start(first, 100);
  clock.advance(150);
  assert.deepEqual([first.told, second.told], [[100], []]);
  clock.advance(150);
  assert.deepEqual(second.told, [200]);
  assert.equal(deadlines.timerCount, 0);
});

test('an error of one does not keep the others from being told', () => {
  const { clock } = manualWorld();
  const deadlines = new Deadlines(clock);
  const broken = new Noted(() => {
    throw new Error('a fault');
  });
  const good = new Noted(() => clock.monotonicMs());
  deadlines.start(broken, 100);
  deadlines.start(good, 100);
  assert.throws(() => clock.advance(100), /a fault/);
  clock.advance(1);
  assert.deepEqual(good.told, [100]);
});
