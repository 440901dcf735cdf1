// What a flow key lets in.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { eachMax } from '../../../src/rules/limits/budgets.ts';
import {
  countLimitsToAdmit,
  countLimitsToStart,
  isChangedByStart,
  type KeyCounts,
  type KeyState,
  planAdmission,
  planOneStart,
  planStart,
  startsInWindow,
  windowWithoutStarts,
} from '../../../src/rules/lines/admission.ts';
import { AT_NEXT_START } from '../../../src/rules/lines/flow-control.ts';
import {
  areLimitsUnchanged,
  areSameLimits,
  newestLimits,
  requestedLimits,
  withPins,
} from '../../../src/rules/lines/flow-key.ts';

const NOW = 100_000;
const PERIOD = 1000;
const READY_MAX = eachMax('flowKeyReady');

const key = (some: Partial<KeyState> = {}): KeyState => ({
  limits: { parallelism: null, rate: null, periodMs: PERIOD },
  isParallelismPinned: false,
  isRatePinned: false,
  isPaused: false,
  windowStartAt: NOW - 1,
  windowCount: 0,
  nextStartAt: null,
  requested: null,
  ...some,
});
const limits = (parallelism: number | null, rate: number | null) => ({ parallelism, rate, periodMs: PERIOD });
const counts = (waiting: number, active = 0, unstarted = 0): KeyCounts => ({ active, unstarted, waiting });

suite('admission', () => {
  test('as many are let in as the limits allow and as wait', () => {
    const both = key({ limits: limits(3, 5), windowCount: 1 });
    assert.equal(planAdmission(both, counts(9, 1), NOW).admitted, 2);
    assert.equal(planAdmission(both, counts(1, 1), NOW).admitted, 1);
    assert.equal(planAdmission(both, counts(9, 1), NOW, 1).admitted, 1);
    assert.deepEqual(planAdmission({ ...both, isPaused: true }, counts(9), NOW), {
      admitted: 0,
      window: { windowStartAt: NOW - 1, windowCount: 1 },
      nextStartAt: null,
      dueAt: null,
    });
  });

  test('a key that admits its last unstarted message admits more at the next start', () => {
    const plan = planAdmission(key(), counts(5, 0, READY_MAX - 1), NOW);
    assert.deepEqual([plan.admitted, plan.nextStartAt], [1, AT_NEXT_START]);
    assert.equal(planAdmission(key(), counts(5, 0, READY_MAX - 2), NOW, 1).nextStartAt, NOW);
  });

  test('a start changes a key that waits for one, or whose window is over, and no other', () => {
    const limited = key({ limits: limits(null, 5), windowCount: 1 });
    assert.equal(isChangedByStart(limited, NOW), false);
    assert.equal(isChangedByStart({ ...limited, nextStartAt: NOW + 5 }, NOW), false);
    assert.equal(isChangedByStart({ ...limited, nextStartAt: AT_NEXT_START }, NOW), true);
    assert.equal(isChangedByStart(limited, NOW - 1 + PERIOD), true);
    assert.equal(planStart({ ...limited, nextStartAt: NOW + 5 }, 0, 1, NOW).nextStartAt, NOW + 5);
    assert.equal(planStart({ ...limited, nextStartAt: AT_NEXT_START }, 0, 1, NOW).nextStartAt, NOW);
  });

  test('no more is counted than the decision needs', () => {
    const limited = key({ limits: limits(3, 5), windowCount: 1 });
    assert.deepEqual(countLimitsToStart(limited, NOW), { active: 3, unstarted: 0, waiting: 0 });
    assert.deepEqual(countLimitsToStart(limited, NOW - 1 + PERIOD), { active: 3, unstarted: 5, waiting: 0 });
    const full = key({ limits: limits(null, 5), windowCount: 5 });
    assert.deepEqual(countLimitsToAdmit(full, NOW), { active: 0, unstarted: 0, waiting: 1 });
    assert.deepEqual(countLimitsToAdmit(limited, NOW), { active: 3, unstarted: READY_MAX, waiting: 4 });
  });

  test('a message that waits for the rate is admitted in the next window', () => {
    const spent = key({ limits: limits(null, 5), windowCount: 5 });
    const plan = planAdmission(spent, counts(1), NOW);
    assert.deepEqual([plan.admitted, plan.nextStartAt, plan.dueAt], [0, NOW - 1 + PERIOD, NOW - 1 + PERIOD]);
    const later = NOW - 1 + PERIOD;
    assert.deepEqual(planAdmission(spent, counts(9, 0, 2), later), {
      admitted: 3,
      window: { windowStartAt: later, windowCount: 5 },
      nextStartAt: later + PERIOD,
      dueAt: later,
    });
  });

  test('a key that has let in as many as may wait for a slot lets more in when one of them starts', () => {
    const full = planAdmission(key(), counts(9, 0, READY_MAX), NOW);
    assert.deepEqual([full.admitted, full.nextStartAt, full.dueAt], [0, AT_NEXT_START, null]);
    const waiting = key({ nextStartAt: AT_NEXT_START });
    assert.equal(planStart(waiting, 0, 1, NOW).nextStartAt, NOW);
  });

  test('what starts in a later window than it was let in counts there, with what is still to start', () => {
    const past = key({ limits: limits(null, 5), windowCount: 4, windowStartAt: NOW - PERIOD });
    assert.deepEqual(planStart(past, 2, 1, NOW).window, { windowStartAt: NOW, windowCount: 3 });
    const current = key({ limits: limits(null, 5), windowCount: 4 });
    assert.deepEqual(planStart(current, 0, 1, NOW).window, { windowStartAt: NOW - 1, windowCount: 4 });
  });

  test('one that starts at once is counted, or does not start', () => {
    const one = key({ limits: limits(1, null), windowCount: 2 });
    assert.deepEqual(planOneStart(one, counts(0), NOW)?.window, { windowStartAt: NOW - 1, windowCount: 3 });
    assert.equal(planOneStart(one, counts(0, 1), NOW), null);
  });

  test('a withdrawn start does not count, if its window has not ended', () => {
    const window = { windowStartAt: NOW, windowCount: 3 };
    assert.equal(windowWithoutStarts(window, 2).windowCount, 1);
    assert.equal(windowWithoutStarts(window, 5).windowCount, 0);
    assert.equal(startsInWindow(window, [NOW - 1, NOW, NOW + 1]), 2);
  });

  const someLimits = fc.record({
    parallelism: fc.option(fc.integer({ min: 1, max: 2 * READY_MAX })),
    rate: fc.option(fc.integer({ min: 1, max: 2 * READY_MAX })),
    periodMs: fc.constant(PERIOD),
  });
  const keys = fc
    .record({
      limits: someLimits,
      isPaused: fc.boolean(),
      windowStartAt: fc.integer({ min: NOW - 2 * PERIOD, max: NOW }),
      windowCount: fc.nat({ max: READY_MAX }),
    })
    .map(key);
  const lines = fc
    .record({
      started: fc.nat({ max: READY_MAX }),
      unstarted: fc.nat({ max: READY_MAX }),
      waiting: fc.nat({ max: 300 }),
    })
    .map(({ started, unstarted, waiting }) => counts(waiting, started + unstarted, unstarted));
  const cut = (count: number, max: number | null) => (max === null ? count : Math.min(count, max));

  test('counting further than a decision needs changes no decision', () => {
    fc.assert(
      fc.property(keys, lines, (state, line) => {
        const max = countLimitsToAdmit(state, NOW);
        const seen = {
          active: cut(line.active, max.active),
          unstarted: cut(line.unstarted, max.unstarted),
          waiting: cut(line.waiting, max.waiting),
        };
        const [cutPlan, plan] = [planAdmission(state, seen, NOW), planAdmission(state, line, NOW)];
        // A window that is used up is used up, by however many.
        const spent = (count: number) => cut(count, state.limits.rate);
        assert.equal(spent(cutPlan.window.windowCount), spent(plan.window.windowCount));
        assert.deepEqual({ ...cutPlan, window: null }, { ...plan, window: null });
        const startMax = countLimitsToStart(state, NOW);
        const some = {
          ...line,
          active: cut(line.active, startMax.active),
          unstarted: cut(line.unstarted, startMax.unstarted),
        };
        assert.equal(planOneStart(state, some, NOW) === null, planOneStart(state, line, NOW) === null);
      }),
      { numRuns: 2000 },
    );
  });

  test('no limit is exceeded, and no waiting message is forgotten', () => {
    fc.assert(
      fc.property(keys, lines, fc.integer({ min: 1, max: 50 }), (state, line, most) => {
        const plan = planAdmission(state, line, NOW, most);
        const { parallelism, rate } = state.limits;
        assert.ok(plan.admitted <= Math.min(line.waiting, most));
        if (plan.admitted > 0) {
          assert.ok(!state.isPaused && line.unstarted + plan.admitted <= READY_MAX);
          if (parallelism !== null) assert.ok(line.active + plan.admitted <= parallelism);
          if (rate !== null) assert.ok(plan.window.windowCount <= rate);
        }
        const staysBehind = line.waiting > plan.admitted;
        if (!staysBehind) assert.equal(plan.nextStartAt, null);
        // Without a time, an event is waited for: a resume, or the end of one that is under way.
        else if (plan.nextStartAt === null) {
          assert.ok(state.isPaused || (parallelism !== null && line.active + plan.admitted >= parallelism));
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('waiting messages are admitted by later plans, within the rate of each window', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.nat({ max: 30 }), (rate, waiting) => {
        let state = key({ limits: limits(null, rate), windowStartAt: 0 });
        let left = waiting;
        let now = NOW;
        for (let windows = 0; left > 0; windows += 1) {
          assert.ok(windows <= waiting / rate);
          const plan = planAdmission(state, counts(left), now);
          assert.ok(plan.admitted <= rate);
          left -= plan.admitted;
          state = { ...state, ...plan.window };
          now = plan.nextStartAt ?? now;
        }
      }),
    );
  });
});

suite('which limits apply', () => {
  const requested = { parallelism: 9, rate: 9, periodMs: 9000 };

  test('the newest message sets the limits that are not pinned', () => {
    const held = key({ limits: limits(1, 2) });
    assert.deepEqual(requestedLimits(held, requested), requested);
    assert.deepEqual(requestedLimits({ ...held, isParallelismPinned: true }, requested), {
      ...requested,
      parallelism: 1,
    });
    assert.deepEqual(requestedLimits({ ...held, isRatePinned: true }, requested), { ...limits(9, 2) });
    assert.deepEqual(newestLimits({ ...held, isRatePinned: true, requested }), limits(9, 2));
    assert.equal(areLimitsUnchanged(held, limits(1, 2)), true);
    assert.equal(areLimitsUnchanged({ ...held, requested }, limits(1, 2)), false);
    assert.equal(areLimitsUnchanged({ ...held, isParallelismPinned: true, isRatePinned: true }, requested), true);
  });

  test('a limit that is no longer pinned stays until a message says another', () => {
    const pinned = key({ limits: limits(1, 2), isParallelismPinned: true });
    const after = withPins(pinned, { parallelism: 'unpin', rate: { rate: 7, periodMs: 70 } });
    assert.deepEqual(after, {
      isParallelismPinned: false,
      isRatePinned: true,
      limits: { parallelism: 1, rate: 7, periodMs: 70 },
    });
    assert.deepEqual(withPins(pinned, { parallelism: 'keep', rate: 'keep' }).limits, limits(1, 2));
  });

  test('no message changes what is pinned', () => {
    const some = fc.record({ parallelism: fc.option(fc.nat()), rate: fc.option(fc.nat()), periodMs: fc.nat() });
    fc.assert(
      fc.property(some, some, fc.boolean(), fc.boolean(), (before, message, isParallelismPinned, isRatePinned) => {
        const held = key({ limits: before, isParallelismPinned, isRatePinned });
        const after = requestedLimits(held, message);
        if (isParallelismPinned) assert.equal(after.parallelism, before.parallelism);
        if (isRatePinned) assert.deepEqual([after.rate, after.periodMs], [before.rate, before.periodMs]);
        assert.equal(areSameLimits(requestedLimits({ ...held, limits: after }, message), after), true);
      }),
    );
  });
});
