import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_SETTINGS, requestedOnly } from '../../../src/rules/delivery/message.ts';

test('of what a caller can ask for, only what was asked for is named', () => {
  assert.deepEqual(requestedOnly(NO_SETTINGS), {});
  const all = {
    orderKey: 'k',
    priority: 0,
    outage: 'park' as const,
    awaitAckMs: 60_000,
    flow: { key: 'shop', limits: { parallelism: 1, rate: null, periodMs: 1000 } },
    labels: ['red'],
    redaction: { body: true, allHeaders: false, headers: [] },
  };
  assert.deepEqual(requestedOnly(all), all);
  assert.deepEqual(requestedOnly({ ...NO_SETTINGS, orderKey: '' }), { orderKey: '' });
});
