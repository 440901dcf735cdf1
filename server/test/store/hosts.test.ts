// What nodes have measured of hosts is written with few statements, because other nodes and accounts wait meanwhile.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addHostHealth } from '../../src/store/resources/hosts.ts';

const span = { at: 0, attempts: 1, delivered: 1, durations: { 6: 1 } };
const health = { spans: [span], lastAttemptAt: 0, lastAnswerAt: 0, failingSince: null, lastFailure: null };

const measured = (accountIds: readonly string[], hosts: number) =>
  accountIds.flatMap((accountId) =>
    Array.from({ length: hosts }, (_, index) => ({ accountId, host: `h${index}:443`, health })),
  );

/** What the table of accounts has, if a statement asks for those with these ids. */
function accountsIn(sql: string, [ids]: readonly unknown[]): readonly { readonly id: string }[] | null {
  return /FROM accounts/.test(sql) ? (ids as readonly string[]).map((id) => ({ id })) : null;
}

/** Takes the steps with these results, and returns the statements with their values. */
function steps(verb: ReturnType<typeof addHostHealth>, result: (sql: string, values: readonly unknown[]) => unknown) {
  const statements: (readonly [sql: string, values: readonly unknown[]])[] = [];
  let turn = verb.next();
  while (!turn.done) {
    const [sql, values] = turn.value.args as [string, readonly unknown[]];
    statements.push([sql, values]);
    turn = verb.next(result(sql, values));
  }
  return { statements, leftOut: turn.value };
}

test('the hosts of an account are counted once for all that was measured, also when it has too many', () => {
  const { statements, leftOut } = steps(addHostHealth(measured(['acc_1', 'acc_2'], 100), 1000), (sql, [first]) => {
    // The first account is full, and the second one has room for 10 hosts. None of these is there yet.
    if (/count\(\*\)/.test(sql)) return { n: first === 'acc_1' ? 1000 : 990 };
    return /^INSERT/.test(sql) ? 1 : (accountsIn(sql, [first]) ?? []);
  });
  const counts = statements.filter(([sql]) => /count\(\*\)/.test(sql));
  assert.deepEqual(
    counts.map(([, [first]]) => first),
    ['acc_1', 'acc_2'],
  );
  assert.equal(statements.filter(([sql]) => /^INSERT/.test(sql)).length, 10);
  assert.equal(leftOut, 190);
});

test('hosts that are known are locked, read and written in few statements, each host once', () => {
  const twice = [...measured(['acc_2', 'acc_1'], 100), ...measured(['acc_1'], 100)];
  const written: unknown[] = [];
  const { statements } = steps(addHostHealth(twice, 1000), (sql, values) => {
    if (/DO UPDATE/.test(sql)) return written.push(...values);
    if (/count\(\*\)/.test(sql)) return { n: 200 };
    // Another node inserts this one after it was not found.
    if (/DO NOTHING/.test(sql)) return 0;
    const accounts = accountsIn(sql, values);
    if (accounts) return accounts;
    const isLocked = /FOR UPDATE/.test(sql);
    const rows = Array.from({ length: values.length / 2 }, (_, at) => values.slice(2 * at, 2 * at + 2));
    const found = isLocked ? rows : rows.filter(([, host]) => host !== 'h5:443');
    return found.map(([account_id, host]) => ({ account_id, host, health: JSON.stringify(health) }));
  });
  assert.ok(statements.length <= 14, `${statements.length} statements`);
  const rows = Array.from({ length: written.length / 4 }, (_, at) => written.slice(4 * at, 4 * at + 4));
  assert.equal(rows.length, 200);
  for (const [accountId, , text] of rows) {
    const { attempts } = JSON.parse(String(text)).spans[0];
    assert.equal(attempts, accountId === 'acc_1' ? 3 : 2);
  }
  const keys = rows.map(([accountId, host]) => `${accountId} ${host}`);
  assert.deepEqual(keys, keys.toSorted(), 'in one order');
});
