// What a manual clock may be told, and how everything else is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ADVANCE_MS_MAX,
  MANUAL_TIME_MAX,
  type ManualClockOrderBody,
  readManualClockOrder,
} from '../../../src/rules/time/clock-order.ts';

const NOW = Date.UTC(2026, 0, 1);

function end(body: ManualClockOrderBody, now = NOW) {
  const order = readManualClockOrder(body);
  assert.ok('kind' in order && order.kind === 'advance', JSON.stringify(order));
  return order.to(now);
}

function refusal(body: ManualClockOrderBody): string {
  const order = readManualClockOrder(body);
  assert.ok('problem' in order, JSON.stringify(body));
  assert.equal(order.problem.code, 'bad_body');
  return order.problem.message;
}

test('an advance ends after its span, or at its instant', () => {
  assert.equal(end({ advance: '1h' }), NOW + 3_600_000);
  assert.equal(end({ advance: '1d12h30s250ms' }), NOW + 129_630_250);
  for (const advance of [0, '0', '0.0', '0s', '0h0m']) assert.equal(end({ advance }), NOW);
  assert.equal(end({ advance: 1.5 }), NOW + 1500);
  assert.equal(end({ advance: ADVANCE_MS_MAX / 1000 }), NOW + ADVANCE_MS_MAX);
  assert.equal(end({ advanceTo: '2026-01-01T02:00:00+01:00' }), NOW + 3_600_000);
  assert.equal(end({ advanceTo: NOW }), NOW);
});

test('a clock can be stopped, and let run', () => {
  assert.deepEqual(readManualClockOrder({ freeze: true }), { kind: 'freeze' });
  assert.deepEqual(readManualClockOrder({ run: true }), { kind: 'run' });
});

test('an advance waits for as long as it is told, up to two hours', () => {
  const waitMs = (body: ManualClockOrderBody) => {
    const order = readManualClockOrder(body);
    return 'kind' in order && order.kind === 'advance' ? order.waitMs : order;
  };
  assert.equal(waitMs({ advance: '1h', wait: '2h' }), 7_200_000);
  assert.equal(waitMs({ advanceTo: NOW, wait: 5 }), 5000);
  assert.match(refusal({ advance: '1h', wait: '2h1ms' }), /^wait: must be at most 2h/);
});

test('the furthest that a clock goes is 3660 days, and the end of the year 9999', () => {
  assert.match(refusal({ advance: '3661d' }), /^advance: must be at most 3660d$/);
  assert.equal(end({ advanceTo: NOW + ADVANCE_MS_MAX }), NOW + ADVANCE_MS_MAX);
  const further = end({ advanceTo: NOW + ADVANCE_MS_MAX + 1 });
  assert.match(typeof further === 'object' ? further.message : '', /^advanceTo: must be at most 3660 days ahead$/);
  assert.equal(end({ advance: '1ms' }, MANUAL_TIME_MAX - 1), MANUAL_TIME_MAX);
});

test('an order that is not one order is refused', () => {
  for (const body of [{}, { advance: '1h', run: true as const }, { freeze: true as const, run: true as const }]) {
    assert.match(refusal(body), /exactly one of advance, advanceTo, freeze, run/);
  }
  assert.match(refusal({ freeze: true, wait: '1s' }), /^wait:/);
});

test('a span or an instant that means nothing is refused', () => {
  for (const advance of ['', '-1h', 'NaN', 'Infinity', '1 hour', '1e3', '3661d', -1, 1e12, 1e300]) {
    assert.match(refusal({ advance }), /^advance:/, String(advance));
  }
  for (const advanceTo of [
    '',
    'tomorrow',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-13-01T00:00:00Z',
    '2026-11-31T00:00:00Z',
    '2026-01-01T25:00Z',
    0.5,
    1e300,
  ]) {
    assert.match(refusal({ advanceTo }), /^advanceTo:/, String(advanceTo));
  }
  for (const advance of [0.0004, '0.4ms', '0.0000001h']) assert.match(refusal({ advance }), /smallest step is 1ms/);
  for (const wait of ['-1s', 'long', '3h']) assert.match(refusal({ advance: '1h', wait }), /^wait:/, wait);
});

test('a clock goes neither back nor too far', () => {
  for (const [body, now] of [
    [{ advanceTo: NOW - 1 }, NOW],
    [{ advanceTo: NOW + ADVANCE_MS_MAX + 1 }, NOW],
    [{ advance: '2d' }, MANUAL_TIME_MAX - 86_400_000],
  ] as const) {
    const to = end(body, now);
    assert.ok(typeof to === 'object' && to.code === 'bad_body', JSON.stringify(body));
  }
});
