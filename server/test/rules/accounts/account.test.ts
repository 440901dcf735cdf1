import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkDeletion,
  checkRevocation,
  firstKeptDay,
  hasExpired,
  isForgettable,
  isUsageDay,
  shownToken,
  type Token,
  usageDay,
} from '../../../src/rules/accounts/account.ts';
import { eachMax } from '../../../src/rules/limits/budgets.ts';

test('the last token that can administer is not revoked', () => {
  const [none, another] = [() => false, () => true];
  assert.equal(checkRevocation({ scopes: ['publish', 'admin'] }, none), 'lastAdmin');
  assert.equal(checkRevocation({ scopes: ['admin'] }, another), 'revoked');
  assert.equal(checkRevocation({ scopes: ['publish', 'manage'] }, none), 'revoked');
  assert.equal(checkRevocation(null, another), 'unknown');
});

test('an account is deleted once, and not with the last token that can administer', () => {
  assert.equal(checkDeletion(null, false, true), 'unknown');
  assert.equal(checkDeletion({}, true, false), 'lastAdmin');
  assert.equal(checkDeletion({}, true, true), 'begun');
  assert.equal(checkDeletion({}, false, false), 'begun');
  assert.equal(checkDeletion({ deletingSince: 0 }, false, true), 'before');
});

test('an account that is being deleted stays for longer than a request takes', () => {
  const requestMs = eachMax('requestSeconds') * 1000;
  assert.equal(isForgettable(1000, 1000 + requestMs), false);
  assert.equal(isForgettable(1000, 1000 + 2 * requestMs), true);
});

test('usage is counted by the day of UTC and kept for 400 days', () => {
  assert.equal(usageDay(Date.UTC(2026, 0, 31, 23, 59, 59, 999)), '2026-01-31');
  assert.equal(usageDay(Date.UTC(2026, 1, 1)), '2026-02-01');
  assert.equal(firstKeptDay(Date.UTC(2026, 1, 5, 12)), '2025-01-01');
});

test('a day is one of the calendar, written in full', () => {
  for (const day of ['2026-01-31', '2024-02-29']) assert.equal(isUsageDay(day), true, day);
  for (const day of [
    '2026-02-29',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2026-1-1',
    'today',
    '2026-01-01T00:00Z',
  ]) {
    assert.equal(isUsageDay(day), false, day);
  }
});

test('a token is shown with when it was used and revoked, if it was', () => {
  const token: Token = {
    id: 'tok_1',
    accountId: 'acc_1',
    name: 'ci',
    scopes: ['publish'],
    createdAt: 5,
    revokedAt: null,
    lastUsedAt: null,
    expiresAt: null,
    addresses: [],
  };
  const shown = { tokenId: 'tok_1', accountId: 'acc_1', name: 'ci', scopes: ['publish'], createdAt: 5 };
  assert.deepEqual(shownToken(token), shown);
  assert.deepEqual(shownToken({ ...token, lastUsedAt: 0 }), { ...shown, lastUsedAt: 0 });
  assert.deepEqual(shownToken({ ...token, revokedAt: 0 }), { ...shown, revokedAt: 0 });
  const limits = { expiresAt: 9, addresses: ['10.0.0.0/8'] };
  assert.deepEqual(shownToken({ ...token, ...limits }), { ...shown, ...limits });
});

test('a token has expired from its expiry on, and one without an expiry never has', () => {
  assert.deepEqual(
    [99, 100, 101].map((now) => hasExpired({ expiresAt: 100 }, now)),
    [false, true, true],
  );
  assert.equal(hasExpired({ expiresAt: null }, Number.MAX_SAFE_INTEGER), false);
});
