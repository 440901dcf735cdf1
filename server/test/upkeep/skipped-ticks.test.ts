// Ticks that made no message are reported once for each schedule and reason, and then only as a count.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SkippedTicks } from '../../src/upkeep/skipped-ticks.ts';

const DAY_MS = 86_400_000;
const SUSPENDED = { code: 'account_suspended', text: 'suspended' };
const one = { accountId: 'acc_1', id: 'one' };

function watched(keptMax?: number) {
  const lines: (readonly [string, string, number])[] = [];
  const ticks = new SkippedTicks<typeof one>(({ id }, why, count) => lines.push([id, why, count]), keptMax);
  return { ticks, lines };
}

test('the same reason is reported at its first tick, the 100th and the 1,000th', () => {
  const { ticks, lines } = watched();
  for (let tick = 0; tick < 5000; tick += 1) ticks.note(one, { ...SUSPENDED, text: `at ${tick}` }, tick);
  assert.deepEqual(lines, [
    ['one', 'at 0', 1],
    ['one', 'at 99', 100],
    ['one', 'at 999', 1000],
  ]);
});

test('another reason is reported, and so is the same after a message was made or after a day without', () => {
  const { ticks, lines } = watched();
  ticks.note(one, SUSPENDED, 0);
  ticks.note(one, { code: 'disk_full', text: 'full' }, 0);
  ticks.note(one, SUSPENDED, 0);
  ticks.forget(one);
  ticks.note(one, SUSPENDED, 0);
  ticks.note(one, SUSPENDED, DAY_MS - 1);
  ticks.note(one, SUSPENDED, 2 * DAY_MS - 1);
  assert.deepEqual(
    lines.map(([, why, count]) => [why, count]),
    [
      ['suspended', 1],
      ['full', 1],
      ['suspended', 1],
      ['suspended', 1],
      ['suspended', 1],
    ],
  );
});

test('schedules have their own counts, those of other accounts too; beyond what is remembered all share one', () => {
  const { ticks, lines } = watched(2);
  const two = { accountId: 'acc_2', id: 'one' };
  const many = Array.from({ length: 50 }, (_, index) => ({ accountId: 'acc_3', id: `many_${index}` }));
  for (let round = 0; round < 10; round += 1) {
    for (const each of [one, two, ...many]) ticks.note(each, SUSPENDED, 0);
  }
  assert.deepEqual(
    lines.map(([id, , count]) => [id, count]),
    [
      ['one', 1],
      ['one', 1],
      ['many_0', 1],
      ['many_49', 100],
    ],
  );
});
