// What a tick does: skipped or not, delayed by its jitter, and what a change of the schedule makes of the next one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedHeaders } from '../../../src/rules/schedules/schedule.ts';
import { isTickSkipped, jitterOf, nextAfterChange, skippedText } from '../../../src/rules/schedules/tick.ts';
import { NOW, SECOND } from '../../conformance/given.ts';
import { schedule } from '../../conformance/schedules.ts';

test('a tick is skipped only if the schedule says so and a message is open', () => {
  assert.equal(isTickSkipped({ overlap: 'skip' }, 1), true);
  assert.equal(isTickSkipped({ overlap: 'skip' }, 0), false);
  assert.equal(isTickSkipped({ overlap: 'allow' }, 1), false);
});

test('the jitter of a tick is the same wherever it is computed, and never more than it may be', () => {
  const one = schedule({ jitterMs: 30 * SECOND });
  assert.equal(jitterOf(one, NOW), jitterOf({ ...one, body: new Uint8Array(9), lastAt: 1 }, NOW));
  assert.equal(jitterOf(schedule({ jitterMs: 0 }), NOW), 0);
  for (let tick = 0; tick < 1000; tick += 1) {
    const ms = jitterOf({ ...one, jitterMs: 2 }, NOW + tick * SECOND);
    assert.ok(Number.isInteger(ms) && ms >= 0 && ms <= 2, `${ms}`);
  }
});

test('the jitters of ticks, of schedules and of accounts are spread evenly', () => {
  const jitterMs = 60 * SECOND;
  const spreads: ((index: number) => number)[] = [
    (index) => jitterOf(schedule({ jitterMs }), NOW + index * SECOND),
    (index) => jitterOf(schedule({ jitterMs, id: `scd_${index}` }), NOW),
    (index) => jitterOf(schedule({ jitterMs, accountId: `acc_${index}` }), NOW),
  ];
  for (const spread of spreads) {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let index = 0; index < 5000; index += 1) tenths[Math.floor((spread(index) / (jitterMs + 1)) * 10)]! += 1;
    assert.ok(
      tenths.every((count) => count > 400 && count < 600),
      tenths.join(' '),
    );
  }
});

test('a change keeps the next tick while the times are the same, so that none is lost or made twice', () => {
  const before = { cron: '* * * * *', isPaused: false, nextAt: NOW };
  const changed = { ...before, nextAt: NOW + 60 * SECOND };
  assert.equal(nextAfterChange(before, changed), NOW);
  assert.equal(nextAfterChange({ ...before, nextAt: null }, changed), null);
  assert.equal(nextAfterChange(before, { ...changed, cron: '@every 1m' }), NOW + 60 * SECOND);
  assert.equal(nextAfterChange({ ...before, isPaused: true, nextAt: null }, changed), NOW + 60 * SECOND);
  assert.equal(nextAfterChange(before, { ...changed, isPaused: true }), null);
});

test('changed headers take the place of those with the same name, and one without a value is removed', () => {
  const headers = [
    ['Service-Cron', '* * * * *'],
    ['Service-Retries', '3'],
    ['Content-Type', 'text/plain'],
  ] as const;
  assert.deepEqual(
    changedHeaders(headers, [
      ['service-retries', '5'],
      ['CONTENT-TYPE', ' '],
      ['Service-Label', 'x'],
    ]),
    [
      ['Service-Cron', '* * * * *'],
      ['service-retries', '5'],
      ['Service-Label', 'x'],
    ],
  );
});

test('what was skipped, and what the next tick would wait for, is said in words', () => {
  const skipping = { overlap: 'skip', skippedCount: 0, skippedAt: null } as const;
  assert.equal(skippedText(skipping, []), null);
  assert.equal(skippedText(skipping, ['msg_1']), 'Ticks are skipped until msg_1 has ended.');
  assert.equal(
    skippedText({ ...skipping, skippedCount: 1, skippedAt: NOW }, ['msg_1', 'msg_2', 'msg_3']),
    `1 tick was skipped, the last at ${new Date(NOW).toISOString()}, because a message of the tick before had not ended. Ticks are skipped until msg_1 and 2 more have ended.`,
  );
  assert.equal(
    skippedText({ overlap: 'allow', skippedCount: 2, skippedAt: NOW }, ['msg_1']),
    `2 ticks were skipped, the last at ${new Date(NOW).toISOString()}, because a message of the tick before had not ended.`,
  );
});
