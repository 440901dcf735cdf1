// Notifies the targets of alerts that the caller has evaluated. The notification is recorded in the transaction that
// accepts its message, and only if the alert has not changed since it was read.

import { evaluatedUpTo, OVER_QUOTA } from '../../../rules/alerts/alert.ts';
import { earlier } from '../../../rules/time/instant.ts';
import type { EvaluatedAlert, NotifyResult } from '../../ports/upkeep-store.ts';
import { accept } from '../deliveries/accept.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

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
      // An alert that was deleted and created again starts with a new version number.
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
    const { state, sinceAt, notifiedAt, messageId, text } = notification.notified;
    database.run(
      `UPDATE alerts SET state = ?, since_at = ?, told_at = ?, message_id = ?, text = ?
         WHERE account_id = ? AND id = ?`,
      state,
      sinceAt,
      notifiedAt,
      messageId,
      text,
      accountId,
      id,
    );
    return 'notified';
  });
  return { results, dueAt };
}
