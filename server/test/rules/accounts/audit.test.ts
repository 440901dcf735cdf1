import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AuditRow,
  auditKeptFrom,
  auditTarget,
  countedFrom,
  matchesAudit,
} from '../../../src/rules/accounts/audit.ts';

const ROW: AuditRow = {
  id: 'aud_1',
  at: 1000,
  lastAt: 3000,
  count: 2,
  kind: 'refused',
  accountId: 'acc_1',
  via: 'token',
  tokenId: 'tok_1',
  tokenName: 'ci',
  address: '203.0.113.7',
  call: 'POST /v2/queues',
  target: 'orders',
  status: 404,
  code: 'not_found',
  requestId: null,
};

test('a target is kept on one line, and cut', () => {
  assert.equal(auditTarget('orders/é 🎉'), 'orders/é 🎉');
  assert.equal(auditTarget('a\u202eb\u2066c'), 'a\ufffdb\ufffdc', 'nothing turns the text around');
  assert.equal(auditTarget(`${'x'.repeat(199)}🎉`), `${'x'.repeat(199)}\ufffd…`);
  assert.equal(auditTarget('a\nb\u0000c\u2028d\u007fe'), 'a\ufffdb\ufffdc\ufffdd\ufffde');
  assert.equal(auditTarget('a\ud800b'), 'a\ufffdb');
  assert.equal(auditTarget('x'.repeat(200)), 'x'.repeat(200));
  assert.equal(auditTarget('x'.repeat(201)), `${'x'.repeat(200)}…`);
});

test('a row of several calls matches every time between its first and its last', () => {
  for (const [filter, matches] of [
    [{ fromAt: 3000 }, true],
    [{ fromAt: 3001 }, false],
    [{ toAt: 1000 }, true],
    [{ toAt: 999 }, false],
    [{ fromAt: 1500, toAt: 2000 }, true],
  ] as const) {
    assert.equal(matchesAudit(filter, ROW), matches, JSON.stringify(filter));
  }
});

test('several values of a filter mean any of them, several filters all of them; null matches nothing', () => {
  assert.equal(matchesAudit({ tokens: ['other', 'ci'], results: ['refused'] }, ROW), true);
  assert.equal(matchesAudit({ tokens: ['ci'], results: ['done'] }, ROW), false);
  assert.equal(matchesAudit({ targets: ['null'] }, { ...ROW, target: null }), false);
  assert.equal(
    matchesAudit({ results: ['null'] }, { ...ROW, status: null, code: null }),
    true,
    'a command has no status',
  );
  assert.equal(matchesAudit({ results: [] }, ROW), false);
  const named = { ...ROW, target: 'acc_1/laptop/read+admin' };
  for (const target of ['acc_1', 'laptop', 'acc_1/laptop/read+admin']) {
    assert.equal(matchesAudit({ targets: [target] }, named), true, target);
  }
  assert.equal(matchesAudit({ targets: ['acc_1/laptop'] }, named), false);
});

test('equal calls are counted from the start of the minute, and rows are kept for whole days', () => {
  assert.equal(countedFrom(61_234), 60_000);
  assert.equal(countedFrom(60_000), 60_000);
  assert.equal(auditKeptFrom(10 * 86_400_000, 3), 7 * 86_400_000);
});
