import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Budget, budgets, KIB, MIB, numericLimits, showAmount } from '../../../src/rules/limits/budget.ts';
import {
  BUDGETS,
  UNCOUNTED_BODY_BYTES_MAX,
  UNCOUNTED_MANAGEMENT_BYTES_MAX,
} from '../../../src/rules/limits/budgets.ts';

test('every limit of the table is a whole number, at least 1', () => {
  for (const [key, { each, account, node }] of Object.entries<Budget>(BUDGETS)) {
    for (const limit of [each, account, node]) {
      if (typeof limit === 'number') assert.ok(Number.isInteger(limit) && limit >= 1, `${key}: ${limit}`);
    }
    assert.ok(each !== null || account !== null || node !== null, `${key} limits nothing`);
  }
});

test('bodies of up to 16 KiB are not counted, and those of management calls of up to 4 KiB', () => {
  assert.deepEqual([UNCOUNTED_BODY_BYTES_MAX, UNCOUNTED_MANAGEMENT_BYTES_MAX], [16_384, 4096]);
});

test('what one account may hold is no more than the node', () => {
  for (const [key, { account, node }] of Object.entries<Budget>(BUDGETS)) {
    if (typeof account === 'number' && typeof node === 'number') assert.ok(account <= node, key);
  }
});

test('a limit that a row does not name does not exist', () => {
  const table = budgets({ bodies: { what: 'Bodies', unit: 'bytes', each: 5, node: 'max-bodies', beyond: '413' } });
  assert.deepEqual(table.bodies, {
    what: 'Bodies',
    unit: 'bytes',
    each: 5,
    account: null,
    node: 'max-bodies',
    beyond: '413',
  });
  const { eachMax, accountMax, nodeMax } = numericLimits(table);
  assert.equal(eachMax('bodies'), 5);
  assert.throws(() => accountMax('bodies'), /"bodies" has no number under "account"/);
  assert.throws(() => nodeMax('bodies'), /"bodies" has no number under "node"/);
});

test('an amount is shown in the largest unit that leaves no fraction', () => {
  const bytes = (amount: number) => showAmount(amount, 'bytes');
  assert.deepEqual([KIB, MIB], [1024, 1_048_576]);
  assert.equal(bytes(MIB), '1 MiB');
  assert.equal(bytes(64 * MIB), '64 MiB');
  assert.equal(bytes(MIB + KIB), '1025 KiB');
  assert.equal(bytes(KIB), '1 KiB');
  assert.equal(bytes(512 * KIB), '512 KiB');
  assert.equal(bytes(MIB + 1), '1,048,577 bytes');
  assert.equal(bytes(KIB + 1), '1,025 bytes');
  assert.equal(bytes(0), '0 bytes');
  assert.equal(showAmount(MIB, 'rows'), '1,048,576 rows');
});
