// The audit table. Rows are found by their ids, which begin with their time.

import {
  AUDIT_ROW_KINDS,
  type AuditFilter,
  type AuditRow,
  type AuditRowKind,
  countedFrom,
  matchesAudit,
} from '../../rules/accounts/audit.ts';
import { accountMax } from '../../rules/limits/budgets.ts';
import { idsFrom } from '../../rules/requests/id.ts';
import type { AuditKept, AuditPage, AuditPiece } from '../ports/access-store.ts';
import { BEHIND_ALL } from '../ports/list-piece.ts';
import { all, get, run, type Steps } from './steps.ts';

const COLUMNS = `id, at, last_at AS "lastAt", count, kind, account_id AS "accountId", via, token_id AS "tokenId",
  token_name AS "tokenName", address, call, target, status, code, request_id AS "requestId"`;

const KEPT: AuditKept = {
  change: accountMax('auditRows'),
  frequent: accountMax('auditFrequent'),
  refused: accountMax('auditRefusals'),
};

/** Stands for the account of a caller that is not known. */
const NOBODY = '';

export function* saveAudit(rows: readonly AuditRow[], kept: AuditKept = KEPT): Steps<void> {
  // In one order, so that two nodes that write the same rows do not wait for each other.
  const sorted = [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const row of sorted) yield* saveRow(row);
  // After all rows: a delete in between would lock rows out of that order.
  const accounts = Map.groupBy(sorted, (row) => row.accountId ?? NOBODY);
  for (const [accountId, own] of accounts) {
    for (const kind of AUDIT_ROW_KINDS) {
      if (own.some((row) => row.kind === kind)) yield* deleteOldest(accountId, kind, kept[kind]);
    }
  }
}

function* newestNumber(accountId: string, kind: AuditRowKind): Steps<number> {
  const sql = 'SELECT number FROM audit WHERE account_id = ? AND kind = ? ORDER BY number DESC LIMIT 1';
  return (yield* get<{ number: number }>(sql, [accountId, kind]))?.number ?? 0;
}

function* deleteOldest(accountId: string, kind: AuditRowKind, kept: number): Steps<void> {
  const last = (yield* newestNumber(accountId, kind)) - kept;
  yield* run('DELETE FROM audit WHERE account_id = ? AND kind = ? AND number <= ?', [accountId, kind, last]);
}

function* saveRow(row: AuditRow): Steps<void> {
  const accountId = row.accountId ?? NOBODY;
  const number = (yield* newestNumber(accountId, row.kind)) + 1;
  yield* run(
    `INSERT INTO audit (id, account_id, kind, number, at, last_at, count, via, token_id, token_name, address, call,
         target, status, code, request_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE
         SET count = audit.count + excluded.count, last_at = excluded.last_at, status = excluded.status`,
    [
      row.id,
      accountId,
      row.kind,
      number,
      row.at,
      row.lastAt,
      row.count,
      row.via,
      row.tokenId,
      row.tokenName,
      row.address,
      row.call,
      row.target,
      row.status,
      row.code,
      row.requestId,
    ],
  );
}

/** The filter is applied here, not by the database: a statement that looks for a rare row would read without a limit. */
export function* listAudit(filter: AuditFilter, page: AuditPage): Steps<AuditPiece> {
  const read = yield* readRows(filter, page);
  const rows: AuditRow[] = [];
  let looked = 0;
  for (const each of read.slice(0, page.look)) {
    if (rows.length === page.limit) break;
    looked += 1;
    const row = { ...each, accountId: each.accountId === NOBODY ? null : each.accountId };
    if (matchesAudit(filter, row)) rows.push(row);
  }
  return { rows, looked, after: looked < read.length ? (read[looked - 1]?.id ?? null) : null };
}

/** The next rows by their ids, and one more than the piece may examine. With one account its index is read. */
function* readRows(filter: AuditFilter, { order, after, look }: AuditPage): Steps<AuditRow[]> {
  const [first, last] = boundsOf(filter);
  const accountIds = filter.accountIds?.length === 1 ? filter.accountIds : [];
  const ofAccount = accountIds.length === 1 ? 'account_id = ? AND ' : '';
  const [bounds, from, to] =
    order === 'newestFirst'
      ? ['id < ? AND id > ? ORDER BY id DESC', last, first]
      : ['id > ? AND id < ? ORDER BY id', first, last];
  const sql = `SELECT ${COLUMNS} FROM audit WHERE ${ofAccount}${bounds} LIMIT ?`;
  return yield* all<AuditRow>(sql, [...accountIds, after ?? from, to, look + 1]);
}

/** Rows outside these ids do not match. A row that counts several calls has the id of the minute that they came in. */
function boundsOf({ fromAt, toAt }: AuditFilter): [string, string] {
  return [
    fromAt === undefined ? '' : idsFrom('aud', countedFrom(fromAt)),
    toAt === undefined ? BEHIND_ALL : idsFrom('aud', toAt + 1),
  ];
}

export function* deleteAudit(before: number, limit: number): Steps<number> {
  const sql =
    'DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED)';
  return yield* run(sql, [idsFrom('aud', before), limit]);
}
