// The alerts that people set up. Each adapter has its own code that notifies the targets.

import type { Alert } from '../../rules/alerts/alert.ts';
import type { DueAlerts } from '../ports/upkeep-store.ts';
import { ALERT_BYTES, ALERT_COLUMNS, type AlertRow, toAlert } from '../rows/alert-rows.ts';
import { listByKey } from './list-by-key.ts';
import { all, get, run, type Steps, step } from './steps.ts';

/** The account is locked: of two calls at once, the second counts the alerts after the first has ended. */
export function* saveAlert(alert: Alert, max: number): Steps<Alert | null> {
  const { accountId, id, remindEveryMs, updatedAt, nextAt, createdAt } = alert;
  yield* step('lockAccount', accountId);
  const values = [JSON.stringify(alert.rule), JSON.stringify(alert.target), remindEveryMs, updatedAt, accountId, id];
  const changed = yield* run(
    `UPDATE alerts SET rule = ?, target = ?, remind_every_ms = ?, updated_at = ?, problem = NULL, version = version + 1
       WHERE account_id = ? AND id = ?`,
    values,
  );
  if (changed === 0) {
    const count = yield* get<{ n: number }>('SELECT count(*) AS n FROM alerts WHERE account_id = ?', [accountId]);
    if (count!.n >= max) return null;
    yield* run(
      `INSERT INTO alerts (rule, target, remind_every_ms, updated_at, account_id, id, state, next_at, created_at, version)
         VALUES (?, ?, ?, ?, ?, ?, 'calm', ?, ?, 1)`,
      [...values, nextAt, createdAt],
    );
  }
  return yield* getAlert(accountId, id);
}

export function* getAlert(accountId: string, id: string): Steps<Alert | null> {
  const sql = `SELECT ${ALERT_COLUMNS} FROM alerts WHERE account_id = ? AND id = ?`;
  const row = yield* get<AlertRow>(sql, [accountId, id]);
  return row ? toAlert(row) : null;
}

export function* deleteAlert(accountId: string, id: string): Steps<boolean> {
  return (yield* run('DELETE FROM alerts WHERE account_id = ? AND id = ?', [accountId, id])) > 0;
}

export const listAlerts = listByKey<AlertRow, Alert>(
  { table: 'alerts', key: 'id', columns: ALERT_COLUMNS, bytes: ALERT_BYTES },
  toAlert,
);

export function* dueAlerts(now: number, limit: number): Steps<DueAlerts> {
  const sql = `SELECT ${ALERT_COLUMNS} FROM alerts WHERE next_at <= ? ORDER BY next_at LIMIT ?`;
  const due = yield* all<AlertRow>(sql, [now, limit]);
  if (due.length > 0) return { due: due.map(toAlert), nextAt: due[0]!.next_at };
  const next = yield* get<{ at: number }>('SELECT next_at AS at FROM alerts ORDER BY next_at LIMIT 1', []);
  return { due: [], nextAt: next?.at ?? null };
}
