// Deletes ended messages past their retention, with all rows that belong to them. Those that expired first go first; if
// too many have expired for one transaction, accounts take turns. Skips messages that another transaction has locked,
// so that several nodes share the work. And deletes messages of an account that is being deleted.

import {
  EXPIRED_ACCOUNTS_MAX,
  EXPIRED_LOOKED_MAX,
  type ExpiredCandidate,
  type ExpiredTurns,
  firstWithinBytes,
  mergeChosen,
} from '../../shared/expired.ts';
import { bodyBytesSql } from '../deliveries/bodies.ts';
import type { Database } from '../sessions/database.ts';
import { deleteLocked, type LockedRow } from './messages.ts';

type Row = ExpiredCandidate & LockedRow;

const LOOKED = `account_id, seq, expires_at, labels, body_id, ${bodyBytesSql('m')} AS bytes`;

/** The verb that deletes expired messages. `turns` remembers which account is next. */
export function deletingExpired(turns: ExpiredTurns) {
  return async (database: Database, now: number, limit: number): Promise<number> => {
    const oldest = await database.all<Row>(
      `SELECT ${LOOKED} FROM messages m WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
      now,
      limit + 1,
    );
    if (oldest.length <= limit) return deleteLocked(database, firstWithinBytes(oldest));
    const chosen = await inTurn(database, turns, oldest[0]!.account_id, now, limit);
    return deleteLocked(database, firstWithinBytes(mergeChosen(await lock(database, chosen, now), oldest, limit)));
  };
}

/** $2 accounts with messages after $1, found by steps through the index. */
const NEXT_ACCOUNTS = `WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM messages WHERE account_id > $1 ORDER BY account_id, seq LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM messages WHERE account_id > account.id ORDER BY account_id, seq LIMIT 1)
      FROM account WHERE account.id IS NOT NULL)
  SELECT id FROM account WHERE id IS NOT NULL LIMIT $2`;

/** `served` is the account whose messages expired first: these are deleted anyway. */
async function inTurn(
  database: Database,
  turns: ExpiredTurns,
  served: string,
  now: number,
  limit: number,
): Promise<Row[]> {
  const found = await database.all<{ id: string }>(NEXT_ACCOUNTS, turns.lastAccount, EXPIRED_ACCOUNTS_MAX);
  const accounts = found.map(({ id }) => id).filter((id) => id !== served);
  const looked = await database.all<Row>(
    `SELECT m.account_id, m.seq, m.expires_at, m.labels, m.body_id, m.bytes FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS g (account_id, position, at)
       CROSS JOIN LATERAL
         (SELECT ${LOOKED} FROM messages m WHERE account_id = g.account_id AND seq > g.position
            ORDER BY account_id, seq LIMIT $3) AS m
       ORDER BY g.at, m.seq`,
    accounts,
    accounts.map((id) => turns.positionOf(id)),
    EXPIRED_LOOKED_MAX,
  );
  const byAccount = Map.groupBy(looked, ({ account_id }) => account_id);
  const chosen: Row[] = [];
  const areAllLooked = accounts.every((id) =>
    turns.turn(chosen, id, byAccount.get(id) ?? [], now, Math.floor(limit / 2)),
  );
  if (areAllLooked && found.length < EXPIRED_ACCOUNTS_MAX) turns.startAgain();
  return chosen;
}

async function lock(database: Database, rows: readonly Row[], now: number): Promise<Row[]> {
  if (rows.length === 0) return [];
  return database.all<Row>(
    `SELECT ${LOOKED} FROM messages m
       WHERE (account_id, seq) IN (SELECT g.account_id, g.seq FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq)) AND expires_at <= $3
       FOR UPDATE SKIP LOCKED`,
    rows.map(({ account_id }) => account_id),
    rows.map(({ seq }) => seq),
    now,
  );
}

/** Deletes the oldest messages of an account, whatever their states are. */
export async function deleteMessagesOf(database: Database, accountId: string, limit: number): Promise<void> {
  const oldest = await database.all<Row>(
    `SELECT ${LOOKED} FROM messages m WHERE account_id = $1 ORDER BY account_id, seq LIMIT $2 FOR UPDATE SKIP LOCKED`,
    accountId,
    limit,
  );
  const rows = firstWithinBytes(oldest);
  await database.run(
    'DELETE FROM acks WHERE account_id = $1 AND message_seq = ANY ($2::bigint[])',
    accountId,
    rows.map(({ seq }) => seq),
  );
  await deleteLocked(database, rows);
}
