// Notifies the targets of alerts. The caller evaluates an alert; what its target was notified of is written together
// with the message, and only if the alert has not changed since it was read. If several nodes evaluate an alert at
// once, only one writes.

import { evaluatedUpTo, OVER_QUOTA } from '../../../rules/alerts/alert.ts';
import { earlier } from '../../../rules/time/instant.ts';
import type { EvaluatedAlert, NotifyResult } from '../../ports/upkeep-store.ts';
import { acceptAll } from '../deliveries/accept.ts';
import type { Database } from '../sessions/database.ts';

export async function notifyAlerts(
  database: Database,
  evaluated: readonly EvaluatedAlert[],
  now: number,
): Promise<{ results: NotifyResult[]; dueAt: number | null }> {
  const rows = await database.all<{ index: number }>(
    `SELECT (g.at - 1)::int AS index
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
         AS g (account_id, id, version, created_at, at)
       JOIN alerts a ON a.account_id = g.account_id AND a.id = g.id AND a.version = g.version
         AND a.created_at = g.created_at
       ORDER BY g.at FOR UPDATE OF a SKIP LOCKED`,
    evaluated.map(({ alert }) => alert.accountId),
    evaluated.map(({ alert }) => alert.id),
    evaluated.map(({ alert }) => alert.version),
    // An alert that was deleted and created again starts with a new version number.
    evaluated.map(({ alert }) => alert.createdAt),
  );
  const taken = rows.map(({ index }) => evaluated[index]!);
  const notifying = taken.filter((each) => each.notification !== null);
  const replies = await acceptAll(
    database,
    notifying.map(({ notification, dayMax }) => ({
      messages: [notification!.message],
      leases: [],
      node: '',
      now,
      dayMax,
    })),
  );
  const overQuota = new Set(notifying.filter((_, index) => replies[index]!.isOverQuota));
  await write(database, taken, overQuota, now);
  const results: NotifyResult[] = evaluated.map(() => 'lost');
  for (const { index } of rows) {
    const each = evaluated[index]!;
    results[index] = overQuota.has(each) ? 'overQuota' : each.notification ? 'notified' : 'kept';
  }
  return { results, dueAt: replies.reduce<number | null>((at, reply) => earlier(at, reply.dueAt), null) };
}

async function write(
  database: Database,
  taken: readonly EvaluatedAlert[],
  overQuota: ReadonlySet<EvaluatedAlert>,
  now: number,
): Promise<void> {
  const problems = taken.map((each) => (overQuota.has(each) ? OVER_QUOTA : each.problem));
  const notified = taken.map((each) =>
    each.notification && !overQuota.has(each) ? each.notification.notified : each.alert,
  );
  await database.run(
    `UPDATE alerts a SET judged_at = g.judged_at, version = a.version + 1, next_at = g.next_at, problem = g.problem,
         state = g.state, since_at = g.since_at, told_at = g.told_at, message_id = g.message_id, text = g.text
       FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
         $9::text[], $10::text[]) AS g (judged_at, account_id, id, next_at, problem, state, since_at, told_at, message_id, text)
       WHERE a.account_id = g.account_id AND a.id = g.id`,
    taken.map(({ alert }, index) => evaluatedUpTo(alert, problems[index] ?? null, now)),
    taken.map(({ alert }) => alert.accountId),
    taken.map(({ alert }) => alert.id),
    taken.map(({ nextAt }) => nextAt),
    problems,
    notified.map(({ state }) => state),
    notified.map(({ sinceAt }) => sinceAt),
    notified.map(({ notifiedAt }) => notifiedAt),
    notified.map(({ messageId }) => messageId),
    notified.map(({ text }) => text),
  );
}
