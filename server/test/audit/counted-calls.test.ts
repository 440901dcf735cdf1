// Equal calls of a minute are counted in one row; however many calls come, there are only so many rows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CountedCalls } from '../../src/audit/counted-calls.ts';
import { type AuditFacts, COUNTED_MS, SIGN_IN } from '../../src/rules/accounts/audit.ts';
import { idsFrom } from '../../src/rules/requests/id.ts';

const NOW = Date.UTC(2026, 0, 1, 12) + 5000;
const MINUTE = NOW - 5000;

function facts(some: Partial<AuditFacts> = {}): AuditFacts {
  return {
    accountId: 'acc_1',
    via: 'token',
    tokenId: 'tok_1',
    tokenName: 'ci',
    address: '203.0.113.7',
    call: 'POST /v2/queues',
    target: null,
    status: 403,
    code: 'forbidden',
    requestId: 'req-1',
    ...some,
  };
}

const stranger = (address: string, call = 'GET /v2/keys') =>
  facts({
    accountId: null,
    via: 'none',
    tokenId: null,
    tokenName: null,
    address,
    call,
    code: 'unauthorized',
    status: 401,
  });

test('the first of its kind has a row at once, and further ones add to its count', () => {
  const counted = new CountedCalls();
  const row = counted.add(facts(), NOW);
  assert.ok(row);
  assert.deepEqual([row.at, row.lastAt, row.count, row.call], [NOW, NOW, 1, 'POST /v2/queues']);
  assert.ok(row.id.startsWith(idsFrom('aud', MINUTE)), 'an id of the minute, so that other lanes write the same row');
  assert.equal(new CountedCalls().add(facts({ requestId: 'req-2' }), NOW + 9000)!.id, row.id);
  for (const at of [NOW + 1, NOW + 2]) assert.equal(counted.add(facts({ requestId: `${at}` }), at), null);
  assert.deepEqual(counted.takeUncounted(NOW + 3), [{ ...row, lastAt: NOW + 2, count: 2 }]);
  assert.deepEqual(counted.takeUncounted(NOW + 4), []);
  counted.add(facts(), NOW + 5);
  assert.deepEqual(counted.takeUncounted(NOW + 6), [{ ...row, lastAt: NOW + 5, count: 1 }]);
});

test('a minute later there is a new row, and what the last one has not counted yet is still taken', () => {
  const counted = new CountedCalls();
  const row = counted.add(facts(), NOW)!;
  counted.add(facts(), NOW + 1);
  const next = counted.add(facts(), MINUTE + COUNTED_MS)!;
  assert.notEqual(next.id, row.id);
  assert.deepEqual(counted.takeUncounted(MINUTE + COUNTED_MS), [{ ...row, lastAt: NOW + 1, count: 1 }]);
  assert.deepEqual(counted.takeEnded(), [{ ...row, lastAt: NOW + 1, count: 2 }]);
  assert.deepEqual(counted.takeEnded(), []);
  // Without another call, the time alone ends the minute; one call needs no second line.
  assert.deepEqual(counted.takeUncounted(MINUTE + 2 * COUNTED_MS), []);
  assert.deepEqual(counted.takeEnded(), []);
});

test('calls differ by account, token, address, call, target and result, not by the id of the request', () => {
  const counted = new CountedCalls();
  const others: Partial<AuditFacts>[] = [
    {},
    { accountId: 'acc_2' },
    { via: 'session' },
    { tokenId: 'tok_2' },
    { address: '203.0.113.8' },
    { call: 'GET /v2/keys' },
    { target: 'orders' },
    { status: 404 },
    { code: 'not_found' },
  ];
  const ids = others.map((each) => counted.add(facts(each), NOW)?.id);
  assert.equal(new Set(ids).size, others.length);
  assert.equal(counted.add(facts({ requestId: 'other', tokenName: 'renamed' }), NOW), null);
});

test('callers that are not known have a row for each network, and one for its sign-ins, whatever they call', () => {
  const counted = new CountedCalls();
  assert.ok(counted.add(stranger('203.0.113.0/24'), NOW));
  for (let n = 0; n < 50; n += 1) assert.equal(counted.add(stranger('203.0.113.0/24', `GET /v2/${n}`), NOW), null);
  assert.ok(counted.add(stranger('203.0.113.0/24', SIGN_IN), NOW));
  assert.equal(counted.add(stranger('203.0.113.0/24', SIGN_IN), NOW), null);
  assert.ok(counted.add(stranger('198.51.100.0/24'), NOW));
});

test('beyond a limit, calls are counted together: of an account, of all accounts, of all networks', () => {
  const counted = new CountedCalls({ account: 2, node: 6, networks: 3 });
  const target = (accountId: string, n: number) => counted.add(facts({ accountId, target: `${n}` }), NOW);
  assert.ok(target('acc_1', 1) && target('acc_1', 2));
  const others = target('acc_1', 3)!;
  assert.deepEqual(
    [others.call, others.accountId, others.target, others.tokenId, others.code],
    ['*', 'acc_1', null, null, 'forbidden'],
  );
  assert.equal(target('acc_1', 4), null);
  assert.equal(target('acc_1', 1), null, 'what has a row keeps it');
  // Calls that were carried out are counted apart from refused ones.
  assert.deepEqual(counted.add(facts({ target: '5', code: null, status: 200 }), NOW)?.code, null);
  assert.ok(target('acc_2', 1), 'another account is not concerned');
  assert.ok(target('acc_3', 1));
  const ofAll = target('acc_4', 1)!;
  assert.deepEqual([ofAll.call, ofAll.accountId], ['*', null]);
  assert.equal(target('acc_5', 1), null);

  for (const n of [1, 2, 3]) assert.ok(counted.add(stranger(`10.0.${n}.0/24`), NOW));
  const networks = counted.add(stranger('10.0.4.0/24'), NOW)!;
  assert.deepEqual([networks.call, networks.address, networks.code], ['*', null, 'unauthorized']);
  assert.equal(counted.add(stranger('10.0.5.0/24'), NOW), null);
  assert.equal(
    counted.takeUncounted(NOW).reduce((sum, { count }) => sum + count, 0),
    4,
  );
});
