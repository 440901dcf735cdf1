// Ends messages that wait under a debounce key beside a newer one, which then stands for them too. Several wait only after
// claims were given back: a message under way does not wait, so a new one with its key waits itself.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { hasEvent, OVERTAKEN_KEPT_MS, standingForAll } from '../../../rules/publish/debounce.ts';
import { CANCELLED, updatedStep } from '../../rows/rows.ts';
import { positionSql } from '../deliveries/journal.ts';
import { OPEN_MESSAGE_COLUMNS, type OpenMessage } from '../deliveries/open-message.ts';
import { keyOf } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { activityCountSql } from './activity.ts';
import { lockDebounceKeys } from './debounce.ts';

export type DebounceKey = Pick<OpenMessage, 'account_id'> & { readonly debounce_key: string };

type Waiting = OpenMessage & DebounceKey & { readonly debounced: number; readonly must_start_before: number | null };

/** The keys of claims whose first attempt has not begun. */
const KEYS = `SELECT DISTINCT account_id, debounce_key FROM messages
  WHERE state = 'claimed' AND node = $1 AND lease = ANY ($2::text[]) AND debounce_key IS NOT NULL AND attempts = 0
    AND cancel_requested_at IS NULL`;

/** What has expired ends by that. */
const OF_KEYS = `SELECT ${OPEN_MESSAGE_COLUMNS}, m.debounce_key, m.debounced
  FROM unnest($1::text[], $2::text[]) AS g (account_id, key)
  JOIN messages m ON m.account_id = g.account_id AND m.debounce_key = g.key AND m.debounce_key IS NOT NULL
    AND m.ended_at IS NULL AND m.lease IS NULL AND m.attempts = 0
    AND (m.must_start_before IS NULL OR m.must_start_before > $3)
  ORDER BY m.account_id, m.seq`;

function waitingUnder(
  database: Database,
  keys: readonly DebounceKey[],
  now: number,
  lock: '' | 'FOR UPDATE OF m' = '',
): Promise<Waiting[]> {
  return database.all<Waiting>(
    `${OF_KEYS} ${lock}`,
    keys.map(({ account_id }) => account_id),
    keys.map(({ debounce_key }) => debounce_key),
    now,
  );
}

/** The debounce keys of claims that are given back, locked, and the messages that wait under them, locked too. */
export interface LockedDebounceKeys {
  readonly keys: readonly DebounceKey[];
  readonly waiting: readonly OpenMessage[];
}

/**
 * It comes before any line is locked: an accept takes its locks in this order, and a claim locks its messages before
 * their lines.
 */
export async function lockKeysOfClaims(
  database: Database,
  node: string,
  leases: readonly string[],
  now: number,
): Promise<LockedDebounceKeys> {
  const keys = await database.all<DebounceKey>(KEYS, node, leases);
  if (keys.length === 0) return { keys, waiting: [] };
  await lockDebounceKeys(
    database,
    keys.map(({ account_id, debounce_key }) => keyOf(account_id, debounce_key)),
  );
  return { keys, waiting: await waitingUnder(database, keys, now, 'FOR UPDATE OF m') };
}

const END = `WITH overtaken AS
    (UPDATE messages m SET state = 'cancelled', holds_place = false, ended_at = $3, expires_at = $4
     FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq) WHERE m.account_id = g.account_id AND m.seq = g.seq
     RETURNING m.account_id, m.seq),
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
     SELECT account_id, ${positionSql('account_id', 'seq')}, $3, seq, ${CANCELLED} FROM overtaken)
  ${activityCountSql(`SELECT account_id, $3::bigint AS at, ${COUNT_KINDS.cancelled}::smallint AS kind FROM overtaken`)}`;

const STANDS_FOR = `WITH newest AS
    (UPDATE messages m SET debounced = $3 WHERE m.account_id = $1 AND m.seq = $2 RETURNING m.account_id, m.seq)
  INSERT INTO journal (account_id, seq, at, message_seq, step)
    SELECT account_id, ${positionSql('account_id', 'seq')}, $5::bigint, seq, $4::int FROM newest WHERE $4::int IS NOT NULL`;

/**
 * Of the messages that wait under each of these keys, ends all but the newest. The lines of all must be locked. Returns
 * those that have ended.
 */
export async function endOvertaken(
  database: Database,
  keys: readonly DebounceKey[],
  now: number,
): Promise<readonly OpenMessage[]> {
  if (keys.length === 0) return [];
  const waiting = await waitingUnder(database, keys, now);
  const byKey = Map.groupBy(waiting, ({ account_id, debounce_key }) => keyOf(account_id, debounce_key));
  const ended: OpenMessage[] = [];
  for (const ofKey of byKey.values()) {
    const plan = standingForAll(ofKey);
    if (!plan) continue;
    const { newest, overtaken, count } = plan;
    await database.run(
      END,
      overtaken.map(({ account_id }) => account_id),
      overtaken.map(({ seq }) => seq),
      now,
      now + OVERTAKEN_KEPT_MS,
    );
    const step = hasEvent({ debounce: { count } }) ? updatedStep(['debounced'], 0) : null;
    await database.run(STANDS_FOR, newest.account_id, newest.seq, count, step, now);
    ended.push(...overtaken);
  }
  return ended;
}
