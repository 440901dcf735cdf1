// What the target of an alert is told, and up to when the alert was judged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alertBody, evaluatedUpTo } from '../../../src/rules/alerts/alert.ts';

test('an alert was judged up to the last look without a problem', () => {
  assert.equal(evaluatedUpTo({ evaluatedAt: 5 }, null, 9), 9);
  assert.equal(evaluatedUpTo({ evaluatedAt: 5 }, 'its target cannot be told', 9), 5);
  assert.equal(evaluatedUpTo({ evaluatedAt: null }, 'its target cannot be told', 9), null);
});

test('a reminder says since when it is wrong, and not when it was told', () => {
  const alert = { id: 'alr_1', target: { url: 'https://a.example/', format: 'json' }, sinceAt: 100 } as const;
  const since = (event: Parameters<typeof alertBody>[2]['event'], sinceAt: number | null = 100) =>
    JSON.parse(alertBody({ ...alert, sinceAt }, {}, { event, text: 't', facts: {}, at: 500 })).since;
  assert.deepEqual([since('begin', null), since('remind'), since('over'), since('test')], [500, 100, 100, undefined]);
});
