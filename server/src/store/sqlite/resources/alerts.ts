// The alerts table. An alert is evaluated outside; what its target is told is written with the message that tells it, and
// only if the alert has not changed since it was read.

import { type Alert, evaluatedUpTo, OVER_QUOTA } from '../../../rules/alerts/alert.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../../ports/list-piece.ts';
import type { DueAlerts, EvaluatedAlert, NotifyResult } from '../../ports/upkeep-store.ts';
import { ALERT_BYTES, ALERT_COLUMNS, type AlertRow, toAlert } from '../../rows/alert-rows.ts';
import { accept } from '../deliveries/accept.ts';
import { listByKey } from '../messages/list-by-key.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

export function saveAlert(database: Database, alert: Alert, max: number): Alert | null {
  const { accountId, id } = alert;
  const values = [
    JSON.stringify(alert.rule),
    JSON.stringify(alert.target),
    alert.remindEveryMs,
    alert.updatedAt,
  ] as const;
  const changed = database.run(
    `UPDATE alerts SET rule = ?, target = ?, remind_every_ms = ?, updated_at = ?, problem = NULL,
       version = version + 1 WHERE account_id = ? AND id = ?`,
    ...values,
    accountId,
    id,
  );
  if (changed === 0) {
    const count = database.get<{ n: number }>('SELECT count(*) AS n FROM alerts WHERE account_id = ?', accountId)!.n;
    if (count >= max) return null;
    database.run(
      `INSERT INTO alerts (rule, target, remind_every_ms, updated_at, account_id, id, state, next_at, created_at, version)
         VALUES (?, ?, ?, ?, ?, ?, 'calm', ?, ?, 1)`,
      ...values,
      accountId,
      id,
      alert.nextAt,
      alert.createdAt,
    );
  }
  return getAlert(database, accountId, id);
}

export function getAlert(database: Database, accountId: string, id: string): Alert | null {
  const row = database.get<AlertRow>(
    `SELECT ${ALERT_COLUMNS} FROM alerts WHERE account_id = ? AND id = ?`,
    accountId,
    id,
  );
  return row ? toAlert(row) : null;
}

export function deleteAlert(database: Database, accountId: string, id: string): boolean {
  return database.run('DELETE FROM alerts WHERE account_id = ? AND id = ?', accountId, id) > 0;
}

export function listAlerts(database: Database, accountId: string, part: ListPart = FIRST_PART): ListPiece<Alert> {
  return listByKey<AlertRow, Alert>(
    database,
    { table: 'alerts', key: 'id', columns: ALERT_COLUMNS, bytes: ALERT_BYTES },
    accountId,
    part,
    toAlert,
  );
}

export function dueAlerts(database: Database, now: number, limit: number): DueAlerts {
  const due = database.all<AlertRow>(
    `SELECT ${ALERT_COLUMNS} FROM alerts WHERE next_at <= ? ORDER BY next_at LIMIT ?`,
    now,
    limit,
  );
  const next = database.get<{ at: number }>('SELECT next_at AS at FROM alerts ORDER BY next_at LIMIT 1');
  return { due: due.map(toAlert), nextAt: next?.at ?? null };
}

export function notifyAlerts(
  database: Database,
  caches: TransactionCaches,
  evaluated: readonly EvaluatedAlert[],
  now: number,
): { results: NotifyResult[]; dueAt: number | null } {
  let dueAt: number | null = null;
  const results = evaluated.map(({ alert, nextAt, problem, notification, dayMax }): NotifyResult => {
    const { accountId, id } = alert;
    const taken = database.run(
      `UPDATE alerts SET judged_at = ?, next_at = ?, problem = ?, version = version + 1
         WHERE account_id = ? AND id = ? AND version = ? AND created_at = ?`,
      evaluatedUpTo(alert, problem, now),
      nextAt,
      problem,
      accountId,
      id,
      alert.version,
      // One that was deleted and made again counts its versions anew.
      alert.createdAt,
    );
    if (taken === 0) return 'lost';
    if (!notification) return 'kept';
    const accepted = accept(database, caches, { messages: [notification.message], leases: [], node: '', now, dayMax });
    dueAt = earlier(dueAt, accepted.dueAt);
    if (accepted.isOverQuota) {
      database.run(
        'UPDATE alerts SET problem = ?, judged_at = ? WHERE account_id = ? AND id = ?',
        OVER_QUOTA,
        evaluatedUpTo(alert, OVER_QUOTA, now),
        accountId,
        id,
      );
      return 'overQuota';
    }
    const { state, sinceAt, toldAt, messageId, text } = notification.standing;
    database.run(
      `UPDATE alerts SET state = ?, since_at = ?, told_at = ?, message_id = ?, text = ?
         WHERE account_id = ? AND id = ?`,
      state,
      sinceAt,
      toldAt,
      messageId,
      text,
      accountId,
      id,
    );
    return 'notified';
  });
  return { results, dueAt };
}
