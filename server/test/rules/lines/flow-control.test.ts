import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  AT_NEXT_START,
  admit,
  admittedCount,
  type FlowLimits,
  type FlowState,
  isFlowKey,
  nextStartAt,
  parseFlowControl,
  stateAfterStarts,
} from '../../../src/rules/lines/flow-control.ts';
import { CLOCK_STEP_MS_MAX } from '../../../src/rules/time/clock.ts';

suite('what is written', () => {
  const limits = (parallelism: number | null, rate: number | null, periodMs = 1_000) => ({
    parallelism,
    rate,
    periodMs,
  });

  test('parallelism, rate and period come in any order', () => {
    const table: [string, FlowLimits][] = [
      ['parallelism=3, rate=10, period=1m', limits(3, 10, 60_000)],
      ['period=90s,rate=10', limits(null, 10, 90_000)],
      ['rate=1', limits(null, 1)],
      ['parallelism=1', limits(1, null)],
      [' Parallelism = 007 ,, RATE=5,', limits(7, 5)],
      ['rate=10, period=60', limits(null, 10, 60_000)],
      ['rate=10, period=7d', limits(null, 10, 604_800_000)],
      ['rate=10, period=1s', limits(null, 10)],
      ['ratePerSecond=4', limits(null, 4)],
      ['parallelism=2, ratePerSecond=4', limits(2, 4)],
      ['parallelism=2, period=1m', limits(2, null, 60_000)],
      ['rate=999999999', limits(null, 999_999_999)],
    ];
    for (const [text, expected] of table) assert.deepEqual(parseFlowControl(text), expected, text);
  });

  test('a problem names what is wrong', () => {
    const table: [string, RegExp][] = [
      ['', /needs parallelism, rate or both/],
      [' , ', /needs parallelism, rate or both/],
      ['period=1m', /needs parallelism, rate or both/],
      ['rate', /"rate" has no "="/],
      ['parallelism=1, rate 3 ', /^"rate 3" has no "="/],
      ['limit=3', /"limit" is not known/],
      ['=3', /"" is not known/],
      ['rate=3, Rate=4', /rate is given twice/],
      ['parallelism=0', /parallelism must be a whole number, 1 or more, not "0"/],
      ['rate=0', /rate must be a whole number, 1 or more, not "0"/],
      ['rate=-1', /rate must be a whole number, 1 or more, not "-1"/],
      ['rate=1.5', /rate must be/],
      ['rate=', /rate must be .* not ""/],
      ['rate=1=2', /rate must be .* not "1=2"/],
      ['rate=9999999999', /rate must be/],
      ['ratePerSecond=x', /ratePerSecond must be/],
      ['rate=1, period=0', /period must be a duration from 1s to 7d/],
      ['rate=1, period=999ms', /period must be a duration from 1s to 7d, .* not "999ms"/],
      ['rate=1, period=7d1ms', /period must be/],
      ['rate=1, period=1w', /period must be/],
      ['rate=1, period=', /period must be/],
      ['ratePerSecond=1, period=1m', /give ratePerSecond, or rate and period/],
      ['ratePerSecond=1, rate=1', /give ratePerSecond, or rate and period/],
    ];
    for (const [text, problem] of table) {
      const parsed = parseFlowControl(text);
      assert.match('problem' in parsed ? parsed.problem : 'accepted', problem, text);
    }
  });

  test('a key is printable ASCII', () => {
    for (const key of ['a', 'user 42', 'https://a.b/c?d=e', '~'.repeat(256)]) assert.equal(isFlowKey(key), true, key);
    for (const key of ['', ' ', ' a', 'a ', 'a\n', 'a\0b', 'a\tb', 'ä', '\u{1F600}', 'a'.repeat(257), 'a\x7f']) {
      assert.equal(isFlowKey(key), false, JSON.stringify(key));
    }
  });
});

const idle: FlowState = { active: 0, windowStartAt: 0, windowCount: 0, unstarted: 0, isPaused: false };

suite('which messages may start', () => {
  const both: FlowLimits = { parallelism: 3, rate: 5, periodMs: 1_000 };

  test('the tighter of the two limits decides', () => {
    const at = (active: number, windowCount: number) =>
      admit({ ...idle, active, windowStartAt: 500, windowCount }, both, 1_000);
    assert.equal(at(0, 0).free, 3);
    assert.equal(at(2, 1).free, 1);
    assert.equal(at(0, 4).free, 1);
    assert.equal(at(3, 0).free, 0);
    // Limits that were lowered since.
    assert.equal(at(9, 9).free, 0);
  });

  test('without one of the limits the other decides alone, and without both nothing is held back', () => {
    assert.equal(admit(idle, { ...both, parallelism: null }, 0).free, 5);
    assert.equal(admit(idle, { ...both, rate: null }, 0).free, 3);
    assert.equal(admit(idle, { parallelism: null, rate: null, periodMs: 1_000 }, 0).free, Number.POSITIVE_INFINITY);
  });

  test('a message that waits only for the rate gets a time', () => {
    const spent = { ...idle, windowStartAt: 500, windowCount: 5 };
    assert.equal(admit(spent, both, 1_000).nextAt, 1_500);
    assert.equal(admit(spent, both, 1_499).nextAt, 1_500);
    assert.deepEqual(admit(spent, both, 1_500), {
      free: 3,
      nextAt: null,
      state: { ...idle, windowStartAt: 1_500, windowCount: 0 },
    });
  });

  test('a message that waits for an end or a resume gets no time', () => {
    const spent = { ...idle, windowStartAt: 500, windowCount: 5 };
    assert.equal(admit({ ...spent, active: 3 }, both, 1_000).nextAt, null);
    assert.deepEqual(admit({ ...spent, isPaused: true }, both, 1_000), {
      free: 0,
      nextAt: null,
      state: { ...spent, isPaused: true },
    });
    assert.equal(admit({ ...idle, isPaused: true }, both, 9_000).free, 0);
  });

  test('a window begins with its first start', () => {
    const opened = admit(idle, both, 5_000).state;
    const state = stateAfterStarts(opened, 2, 5_400);
    assert.deepEqual(state, { ...idle, active: 2, windowStartAt: 5_400, windowCount: 2 });
    assert.equal(stateAfterStarts(state, 1, 5_900).windowStartAt, 5_400);
    assert.equal(stateAfterStarts(state, 0, 5_900), state);
  });

  test('a clock that was far ahead delays no message for longer than a period', () => {
    const spent = { ...idle, windowStartAt: 1e12, windowCount: 5 };
    const { free, nextAt, state } = admit(spent, both, 5_000);
    assert.deepEqual([free, nextAt, state.windowCount], [0, 6_000, 5]);
    assert.equal(admit(state, both, 6_000).free, 3);
  });

  test('a clock is far ahead when it is ahead by more than ten seconds, or by more than a long period', () => {
    const movedTo = (periodMs: number, aheadMs: number) =>
      admit({ ...idle, windowStartAt: 1e9, windowCount: 5 }, { ...both, periodMs }, 1e9 - aheadMs).state.windowStartAt;
    assert.equal(movedTo(1_000, 10_000), 1e9);
    assert.equal(movedTo(1_000, 10_001), 1e9 - 10_001);
    assert.equal(movedTo(60_000, 60_000), 1e9);
    assert.equal(movedTo(60_000, 60_001), 1e9 - 60_001);
  });

  test('no more are let in and not started than may be; more follow at the next start', () => {
    const open = admit(idle, { ...both, parallelism: null, rate: null }, 5_000);
    assert.deepEqual(
      [
        admittedCount(open, 0, 10),
        admittedCount(open, 4, 10),
        admittedCount(open, 10, 10),
        admittedCount(open, 12, 10),
      ],
      [10, 6, 0, 0],
    );
    assert.equal(admittedCount(admit(idle, both, 5_000), 0, 10), 3, 'the limits of the key decide first');
    assert.equal(nextStartAt(open, true, 5_000), AT_NEXT_START);
    assert.equal(nextStartAt(open, false, 5_000), 5_000);
    const spent = admit({ ...idle, windowStartAt: 5_000, windowCount: 5 }, both, 5_000);
    assert.equal(nextStartAt(spent, true, 5_000), 6_000, 'who waits for the rate waits for the clock');
    assert.equal(nextStartAt(admit({ ...idle, isPaused: true }, both, 5_000), true, 5_000), null);
  });
});

type Event = 'start' | 'startOne' | 'end' | 'pause' | 'resume' | { readonly waitMs: number; readonly backMs: number };

const limitsAny: fc.Arbitrary<FlowLimits> = fc.record({
  parallelism: fc.option(fc.integer({ min: 1, max: 6 })),
  rate: fc.option(fc.integer({ min: 1, max: 6 })),
  periodMs: fc.integer({ min: 1_000, max: 3_000 }),
});
const wait = fc.record({ waitMs: fc.nat(2_000), backMs: fc.constant(0) });
const step: fc.Arbitrary<Event> = fc.oneof(
  { weight: 2, arbitrary: wait },
  { weight: 4, arbitrary: fc.constantFrom<Event>('start', 'startOne') },
  { weight: 3, arbitrary: fc.constantFrom<Event>('end', 'end', 'pause', 'resume', 'resume') },
);
const stepBack: fc.Arbitrary<Event> = fc.record({ waitMs: fc.nat(500), backMs: fc.nat(10_000) });

/** Real time only goes on; the clock that `admit` sees is behind it by all the steps back so far. */
function play(limits: FlowLimits, events: readonly Event[]): number[] {
  let state = idle;
  let realAt = 1_000_000;
  let behindMs = 0;
  const startsAt: number[] = [];
  for (const event of events) {
    const now = realAt - behindMs;
    if (event === 'end') state = { ...state, active: Math.max(0, state.active - 1) };
    else if (event === 'pause' || event === 'resume') state = { ...state, isPaused: event === 'pause' };
    else if (typeof event === 'object') {
      realAt += event.waitMs;
      behindMs += event.backMs;
    } else {
      const admission = admit(state, limits, now);
      assert.ok(admission.nextAt === null || (admission.free === 0 && admission.nextAt > now));
      if (state.isPaused) assert.equal(admission.free, 0);
      const count = Math.min(admission.free, event === 'startOne' ? 1 : 8);
      state = stateAfterStarts(admission.state, count, now);
      for (let each = 0; each < count; each += 1) startsAt.push(realAt);
      assert.ok(limits.parallelism === null || state.active <= limits.parallelism);
    }
  }
  return startsAt;
}

/** Each window begins with the first start that is in no earlier one. */
function fullestWindow(startsAt: readonly number[], periodMs: number): number {
  let windowStartAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  let countMax = 0;
  for (const at of startsAt) {
    if (at >= windowStartAt + periodMs) [windowStartAt, count] = [at, 0];
    count += 1;
    countMax = Math.max(countMax, count);
  }
  return countMax;
}

suite('with random commands', () => {
  test('no window has more starts than the rate, and no more are under way than the parallelism', () => {
    fc.assert(
      fc.property(limitsAny, fc.array(step, { maxLength: 80 }), (limits, events) => {
        const startsAt = play(limits, events);
        assert.ok(limits.rate === null || fullestWindow(startsAt, limits.periodMs) <= limits.rate);
      }),
      { numRuns: 1_000 },
    );
  });

  test('a clock that goes back admits no more', () => {
    const events = fc.array(fc.oneof({ weight: 5, arbitrary: step }, stepBack), { maxLength: 80 });
    fc.assert(
      fc.property(limitsAny, events, (limits, all) => {
        const startsAt = play(limits, all);
        assert.ok(limits.rate === null || fullestWindow(startsAt, limits.periodMs) <= limits.rate);
      }),
      { numRuns: 1_000 },
    );
    const state = fc
      .record({
        active: fc.nat(8),
        windowStartAt: fc.nat(20_000),
        windowCount: fc.nat(8),
        unstarted: fc.nat(8),
        isPaused: fc.boolean(),
      })
      .filter(({ unstarted, windowCount }) => unstarted <= windowCount);
    fc.assert(
      fc.property(limitsAny, state, fc.nat(20_000), fc.nat(20_000), (limits, any, now, backMs) => {
        assert.ok(admit(any, limits, now - backMs).free <= admit(any, limits, now).free);
      }),
      { numRuns: 1_000 },
    );
  });

  test('a message may start at the time that was given', () => {
    fc.assert(
      fc.property(limitsAny, fc.nat(8), fc.integer({ min: -9_000, max: 9_000 }), (limits, windowCount, now) => {
        const { nextAt, state } = admit({ ...idle, windowCount }, limits, now);
        if (nextAt === null) return;
        assert.ok(nextAt <= now + limits.periodMs + Math.max(limits.periodMs, CLOCK_STEP_MS_MAX));
        assert.ok(admit(state, limits, nextAt).free > 0);
      }),
      { numRuns: 1_000 },
    );
  });
});
