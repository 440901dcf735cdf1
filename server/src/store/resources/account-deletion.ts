// Deletes accounts: first everything of the account ends, in one transaction, and then its rows are deleted in pieces.

import { checkDeletion, type Deletion, isForgettable } from '../../rules/accounts/account.ts';
import type { DeletionPiece } from '../ports/account-store.ts';
import { getAccount } from './accounts.ts';
import { all, COUNTED_TABLES, type CountedTable, get, run, type Steps, step } from './steps.ts';
import { ADMIN_TOKENS } from './tokens.ts';

export function* beginDeletion(accountId: string, now: number): Steps<Deletion> {
  // Without the lock, each of two accounts that are deleted at once could count the tokens of the other.
  yield* step('lockTokens', 'request');
  yield* step('lockAccount', accountId);
  const account = yield* getAccount(accountId);
  const hasAdmin = (yield* get(`${ADMIN_TOKENS} AND account_id = ? LIMIT 1`, [accountId])) !== undefined;
  const hasOtherAdmin = (yield* get(`${ADMIN_TOKENS} AND account_id <> ? LIMIT 1`, [accountId])) !== undefined;
  const result = checkDeletion(account, hasAdmin, hasOtherAdmin);
  if (result !== 'begun') return result;
  yield* step('forgetAccounts');
  yield* run('UPDATE accounts SET deleting_since = ?, suspended_at = coalesce(suspended_at, ?) WHERE id = ?', [
    now,
    now,
    accountId,
  ]);
  yield* run('UPDATE tokens SET revoked_at = ? WHERE account_id = ? AND revoked_at IS NULL', [now, accountId]);
  return result;
}

/**
 * The tables with rows of an account, besides those of messages, in the order in which they are emptied: what makes messages
 * comes first, and what counts comes last. With the column that follows the account in their key.
 */
const TABLES: readonly (readonly [table: string, key: string])[] = [
  ['schedules', 'id'],
  ['alerts', 'id'],
  ['jobs', 'id'],
  ['topics', 'name'],
  ['queues', 'name'],
  ['flow_keys', 'key'],
  ['hosts', 'host'],
  ['deduplication', 'key'],
  ['acks', 'message_seq'],
  ['message_labels', 'label'],
  ['journal', 'seq'],
  ['activity_minutes', 'at'],
  ['activity_hours', 'at'],
  ['usage', 'day'],
  ['stored', 'account_id'],
  ['tokens', 'id'],
];

/** The condition on `suspended_at` lets the index of suspended accounts find it. */
const NEXT = `SELECT id, deleting_since AS since FROM accounts
  WHERE suspended_at IS NOT NULL AND deleting_since IS NOT NULL AND id > ? ORDER BY id LIMIT 1
  FOR NO KEY UPDATE SKIP LOCKED`;

/** The account is locked: of several nodes, one works on it at a time. */
export function* deleteAccountPiece(after: string, now: number, limit: number): Steps<DeletionPiece | null> {
  const account = yield* get<{ id: string; since: number }>(NEXT, [after]);
  if (!account) return null;
  const { id, since } = account;
  if (yield* deleteSome(id, limit)) return { accountId: id, outcome: 'more' };
  if (!isForgettable(since, now)) return { accountId: id, outcome: 'waiting' };
  yield* step('forgetAccounts');
  yield* run('DELETE FROM accounts WHERE id = ?', [id]);
  return { accountId: id, outcome: 'gone' };
}

/** Deletes rows of one table. Returns whether there were any: the account goes in a transaction that has found none. */
function* deleteSome(accountId: string, limit: number): Steps<boolean> {
  if (yield* hasRows('messages', 'seq', accountId)) {
    yield* step('deleteMessagesOf', accountId, limit);
    return true;
  }
  yield* step('applyRequestedLimits');
  for (const [table, key] of TABLES) {
    if (!(yield* hasRows(table, key, accountId))) continue;
    // The sessions of a token go before it.
    if (table !== 'tokens' || !(yield* deleteSessions(accountId, limit)))
      yield* deleteRows(table, key, accountId, limit);
    return true;
  }
  return false;
}

/**
 * A statement of its own, which also sees a row that another transaction is about to delete or to replace. ORDER BY names the
 * columns of the index: after large deletes, a planner that goes by old counts would read the table instead.
 */
function* hasRows(table: string, key: string, accountId: string): Steps<boolean> {
  const sql = `SELECT 1 AS one FROM ${table} WHERE account_id = ? ORDER BY account_id, ${key} LIMIT 1`;
  return (yield* get(sql, [accountId])) !== undefined;
}

function* deleteRows(table: string, key: string, accountId: string, limit: number): Steps<void> {
  const last = yield* get<{ key: string | number }>(
    `SELECT ${key} AS key FROM ${table} WHERE account_id = ? ORDER BY account_id, ${key} LIMIT 1 OFFSET ?`,
    [accountId, limit - 1],
  );
  const sql = `DELETE FROM ${table} WHERE account_id = ?${last ? ` AND ${key} <= ?` : ''}`;
  const values = last ? [accountId, last.key] : [accountId];
  if (isCounted(table)) yield* step('deleteCounted', accountId, sql, values);
  else yield* run(sql, values);
}

function isCounted(table: string): table is CountedTable {
  return Object.hasOwn(COUNTED_TABLES, table);
}

function* deleteSessions(accountId: string, limit: number): Steps<boolean> {
  const rows = yield* all<{ id: string }>(
    'SELECT s.id FROM tokens t JOIN sessions s ON s.token_id = t.id WHERE t.account_id = ? LIMIT ?',
    [accountId, limit],
  );
  if (rows.length > 0) yield* run('DELETE FROM sessions WHERE id = ANY (?)', [rows.map(({ id }) => id)]);
  return rows.length > 0;
}
