// The rows of attempts that await their acks: written when a 202 is settled, deleted when the attempt ends.

import type { Settlement } from '../../../rules/delivery/message.ts';
import { bytesOfAttempt } from '../../../rules/limits/stored-bytes.ts';
import { AWAITING_ACK, LEASE_AWAITING, NODE_AWAITING } from '../../rows/rows.ts';
import { positionSql } from '../deliveries/journal.ts';
import type { OpenMessage } from '../deliveries/open-message.ts';
import type { Database } from '../sessions/database.ts';
import { storedBytesSql } from './stored.ts';

export type AwaitingSettlement = Settlement & { readonly next: { readonly state: 'awaiting' } };

export function isAwaiting(settlement: Settlement): settlement is AwaitingSettlement {
  return settlement.next.state === 'awaiting';
}

const AWAIT = `WITH given AS MATERIALIZED
    (SELECT account_id, id, lease, at, attempt, started_at, ended_at, deadline_at, latest_at, status, response_headers, is_cut,
       body_at, body_length, bytes FROM json_to_recordset($1::json) AS g (account_id text, id text, lease text, at int, attempt int,
       started_at bigint, ended_at bigint, deadline_at bigint, latest_at bigint, status int, response_headers text,
       is_cut boolean, body_at int, body_length int, bytes int)),
  settled AS
    (UPDATE messages m SET node = '${NODE_AWAITING}', lease = m.lease || '${LEASE_AWAITING}', stored_bytes = coalesce(m.stored_bytes, 0) + given.bytes
     FROM given
     WHERE m.account_id = given.account_id AND m.id = given.id AND m.lease = given.lease
       AND m.cancel_requested_at IS NULL
     RETURNING given.account_id, given.at, given.attempt, given.started_at, given.ended_at, given.deadline_at,
       given.latest_at, given.status, given.response_headers, given.is_cut, given.body_at, given.body_length, given.bytes, m.seq),
  kept AS
    (INSERT INTO acks AS a (account_id, message_seq, attempt, is_awaiting, started_at, deadline_at, latest_at, events,
       status, response_headers, response_body, is_response_body_cut, stored_bytes)
     SELECT account_id, seq, attempt, 1, started_at, deadline_at, latest_at, 0, status, response_headers,
       substring($2::bytea FROM body_at FOR body_length), is_cut, bytes FROM settled
     -- The receiver has reported progress before its response.
     ON CONFLICT (account_id, message_seq) DO UPDATE SET attempt = excluded.attempt, is_awaiting = 1, started_at = excluded.started_at,
       latest_at = excluded.latest_at, deadline_at = greatest(excluded.deadline_at, least(a.deadline_at, excluded.latest_at)),
       status = excluded.status, response_headers = excluded.response_headers, response_body = excluded.response_body,
       is_response_body_cut = excluded.is_response_body_cut, stored_bytes = excluded.stored_bytes),
  weighed AS
    (${storedBytesSql('SELECT account_id, bytes FROM settled')}),
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
     SELECT account_id, ${positionSql('account_id', 'at')}, ended_at, seq, ${AWAITING_ACK} FROM settled)
  SELECT at FROM settled`;

/**
 * The attempts stay open: their messages keep their places and their flow keys, and no node holds them.
 * Returns those that are written: not those whose lease is gone, or whose message is to be cancelled.
 */
export async function awaitAcks(
  database: Database,
  settlements: readonly AwaitingSettlement[],
): Promise<ReadonlySet<Settlement>> {
  if (settlements.length === 0) return new Set();
  let bodyAt = 1;
  const rows = settlements.map(({ accountId, messageId, lease, attempt, next }, at) => {
    const row = {
      account_id: accountId,
      id: messageId,
      lease,
      at,
      attempt: attempt.number,
      started_at: attempt.startedAt,
      ended_at: attempt.endedAt,
      deadline_at: next.deadlineAt,
      latest_at: next.latestAt,
      status: attempt.status,
      response_headers: JSON.stringify(attempt.responseHeaders),
      is_cut: attempt.isResponseBodyCut,
      body_at: bodyAt,
      body_length: attempt.responseBody.length,
      bytes: bytesOfAttempt(attempt),
    };
    bodyAt += attempt.responseBody.length;
    return row;
  });
  const bodies = Buffer.concat(settlements.map(({ attempt }) => attempt.responseBody));
  const written = await database.all<{ at: number }>(AWAIT, JSON.stringify(rows), bodies);
  return new Set(written.map(({ at }) => settlements[at]!));
}

/**
 * Those of the settlements that end their attempts because the acks are due, and are not: they were extended meanwhile.
 * Locks the messages, so that nothing is extended from now on. The statement after that sees what was extended before.
 */
export async function settlementsTooEarly(
  database: Database,
  settlements: readonly Settlement[],
  heldOf: (settlement: Settlement) => OpenMessage | undefined,
): Promise<ReadonlySet<Settlement>> {
  const due = settlements.flatMap((settlement) => {
    const held = heldOf(settlement);
    return settlement.ack && settlement.ack.dueBy !== null && held
      ? [{ settlement, held, dueBy: settlement.ack.dueBy }]
      : [];
  });
  if (due.length === 0) return new Set();
  const accounts = due.map(({ held }) => held.account_id);
  const seqs = due.map(({ held }) => held.seq);
  await database.run(
    `SELECT 1 FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq) JOIN messages m USING (account_id, seq)
       ORDER BY m.account_id, m.seq FOR UPDATE OF m`,
    accounts,
    seqs,
  );
  const isDue = await database.all<{ at: number }>(
    `SELECT (g.at - 1)::int AS at FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS g (account_id, seq, due_by, at)
       JOIN acks a ON a.account_id = g.account_id AND a.message_seq = g.seq AND a.is_awaiting = 1 AND a.deadline_at <= g.due_by`,
    accounts,
    seqs,
    due.map(({ dueBy }) => dueBy),
  );
  const found = new Set(isDue.map(({ at }) => at));
  return new Set(due.filter((_, index) => !found.has(index)).map(({ settlement }) => settlement));
}

/** The records of these attempts take the place of what was kept until their ends. */
export async function forgetAcks(database: Database, ended: readonly OpenMessage[]): Promise<void> {
  if (ended.length === 0) return;
  await database.run(
    `WITH gone AS
       (DELETE FROM acks a USING unnest($1::text[], $2::bigint[]) AS g (account_id, seq)
        WHERE a.account_id = g.account_id AND a.message_seq = g.seq
        RETURNING a.account_id, a.message_seq, a.stored_bytes AS bytes),
     lighter AS
       (UPDATE messages m SET stored_bytes = m.stored_bytes - gone.bytes FROM gone
        WHERE m.account_id = gone.account_id AND m.seq = gone.message_seq AND gone.bytes > 0)
     ${storedBytesSql('SELECT account_id, -bytes AS bytes FROM gone')}`,
    ended.map(({ account_id }) => account_id),
    ended.map(({ seq }) => seq),
  );
}

/** Cancelled messages end with their attempts, so the acks are due now. */
export async function endAwaiting(database: Database, accountId: string, seqs: readonly number[]): Promise<void> {
  await database.run(
    'UPDATE acks SET deadline_at = 0 WHERE account_id = $1 AND message_seq = ANY($2::bigint[]) AND is_awaiting = 1',
    accountId,
    seqs,
  );
}
