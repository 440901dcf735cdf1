// Messages that expire while they wait, in whatever state: which have expired, and their end. A claimed message is not
// among them: its attempt has started, or is released before it starts. Several nodes end messages at once: each skips
// the messages that another node is changing.

import { COUNT_KINDS } from '../../../rules/accounts/activity.ts';
import { EXPIRED as EXPIRED_CODE } from '../../../rules/delivery/expiry.ts';
import type { Expiration, ExpiredMessage } from '../../../rules/delivery/settle.ts';
import type { DueExpiries, ExpiryLimits } from '../../ports/upkeep-store.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { EXPIRED } from '../../rows/rows.ts';
import {
  chooseExpired,
  EXPIRY_ACCOUNTS_MAX,
  EXPIRY_OF_ACCOUNT_MAX,
  type ExpiredRow,
  type ExpiringRow,
  isLive,
  type ReadInTurn,
} from '../../shared/expiries.ts';
import { accept } from '../deliveries/accept.ts';
import { bodyBytesSql, readBodies } from '../deliveries/bodies.ts';
import { positionSql } from '../deliveries/journal.ts';
import {
  forgetDeduplication,
  LockedLines,
  OPEN_MESSAGE_COLUMNS,
  type OpenMessage,
} from '../deliveries/open-message.ts';
import type { Database } from '../sessions/database.ts';
import { activityCountSql } from './activity.ts';
import { readAttempts } from './messages.ts';

/** The condition of the indexes. */
const WAITS = 'must_start_before IS NOT NULL AND ended_at IS NULL AND lease IS NULL';
const FOUND = `account_id, seq, failure_callback IS NOT NULL AS is_reported, body_id, ${bodyBytesSql('m')} AS bytes`;

const OLDEST = `SELECT ${FOUND} FROM messages m WHERE ${WAITS} AND must_start_before <= $1
  ORDER BY must_start_before LIMIT $2`;

/**
 * The first $3 expired messages of each of the $4 accounts after $2, found by steps through the index. An account without
 * any has one row, in which `seq` is null.
 */
const OF_ACCOUNTS = `WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM messages WHERE ${WAITS} AND account_id > $2 ORDER BY account_id, must_start_before LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM messages WHERE ${WAITS} AND account_id > account.id
              ORDER BY account_id, must_start_before LIMIT 1)
      FROM account WHERE account.id IS NOT NULL)
  SELECT a.id AS account_id, m.seq, m.is_reported, m.body_id, m.bytes
    FROM (SELECT id FROM account WHERE id IS NOT NULL LIMIT $4) AS a LEFT JOIN LATERAL
      (SELECT ${FOUND} FROM messages m WHERE ${WAITS} AND account_id = a.id AND must_start_before <= $1
         ORDER BY account_id, must_start_before LIMIT $3) AS m ON true
    ORDER BY a.id`;

const NEXT_AT = `SELECT must_start_before AS at FROM messages WHERE ${WAITS} ORDER BY must_start_before LIMIT 1`;

export async function dueExpiries(
  database: Database,
  now: number,
  { messages, after }: ExpiryLimits,
): Promise<DueExpiries> {
  const nextAt = (await database.get<{ at: number }>(NEXT_AT))?.at ?? null;
  // Mostly nothing has expired, and nothing else is read.
  if (nextAt === null || nextAt > now) return { expired: [], nextAt, lastInTurn: null };
  const oldest = await database.all<ExpiredRow>(OLDEST, now, messages + 1);
  const inTurn = oldest.length > messages ? await expiredInTurn(database, now, after) : null;
  const { chosen, lastInTurn } = chooseExpired(inTurn, oldest, messages);
  return { expired: await readWhole(database, chosen), nextAt, lastInTurn };
}

async function expiredInTurn(database: Database, now: number, after: string): Promise<ReadInTurn<ExpiredRow>> {
  const read = await database.all<ExpiredRow | (Pick<ExpiredRow, 'account_id'> & { readonly seq: null })>(
    OF_ACCOUNTS,
    now,
    after,
    EXPIRY_OF_ACCOUNT_MAX,
    EXPIRY_ACCOUNTS_MAX,
  );
  const rows = read.filter((row) => row.seq !== null);
  const looked = new Set(read.map(({ account_id }) => account_id));
  // No account is left behind these.
  const isLast = looked.size < EXPIRY_ACCOUNTS_MAX;
  return { rows, lastLooked: isLast ? '' : read.at(-1)!.account_id };
}

async function readWhole(database: Database, chosen: readonly ExpiredRow[]): Promise<ExpiredMessage[]> {
  const rows = await database.all<MessageRow>(
    `SELECT ${READ_COLUMNS}, ''::bytea AS body FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq)
       JOIN messages m USING (account_id, seq)`,
    chosen.map(({ account_id }) => account_id),
    chosen.map(({ seq }) => seq),
  );
  const reported = rows.filter(({ failure_callback }) => failure_callback !== null);
  const bodies = await readBodies(database, reported);
  const attempts = new Map<number, ExpiredMessage['lastAttempt']>();
  for (const [accountId, own] of Map.groupBy(reported, ({ account_id }) => account_id)) {
    const tried = own.filter((row) => row.attempts > 0).map((row) => ({ seq: row.seq, number: row.attempts }));
    const found = tried.length === 0 ? [] : await readAttempts(database, accountId, tried);
    for (const [index, { seq }] of tried.entries()) attempts.set(seq, found[index] ?? null);
  }
  return rows.map((row) => {
    const message = toMessage(row);
    const body = bodies.get(row.seq) ?? message.body;
    return { message: { ...message, body }, lastAttempt: attempts.get(row.seq) ?? null };
  });
}

/** The columns that tell whether a message still waits. */
interface MayWait extends ExpiringRow {
  readonly ended_at: number | null;
  readonly lease: string | null;
}

/**
 * Reads by the key alone: with the condition of the index in the statement and statistics from before the messages
 * came, the planner would read all that have expired.
 */
const BY_ID = `SELECT ${OPEN_MESSAGE_COLUMNS}, m.ended_at, m.must_start_before
  FROM unnest($1::text[], $2::text[]) AS g (account_id, id) JOIN messages m ON m.account_id = g.account_id AND m.id = g.id`;

/** By the key alone too. Does not wait for a message, as `cancelFree` does not: a claim may hold it. */
const LOCK = `SELECT m.seq, m.ended_at, m.lease, m.must_start_before
  FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq) JOIN messages m USING (account_id, seq)
  ORDER BY m.account_id, m.seq FOR UPDATE OF m SKIP LOCKED`;

const END = `WITH gone AS
    (UPDATE messages m SET state = 'failed', holds_place = false, ended_at = $6, expires_at = g.expires_at,
       failure = g.failure, failure_code = '${EXPIRED_CODE}',
       due_at = coalesce(m.alone_from_at, m.due_at), alone_from_at = NULL, held_at = NULL
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[]) AS g (account_id, seq, expires_at, failure, at)
     WHERE m.account_id = g.account_id AND m.seq = g.seq
     RETURNING m.account_id, m.seq, g.at),
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
     SELECT account_id, ${positionSql('account_id', 'at')}, $6, seq, ${EXPIRED} FROM gone)
  ${activityCountSql(`SELECT account_id, $6::bigint AS at, ${COUNT_KINDS.failed}::smallint AS kind FROM gone`)}`;

export interface ExpireReply {
  readonly expired: readonly string[];
  readonly dueAt: number | null;
}

/** Ends those of the messages that still wait, with all that follows from the end of a failed message. */
export async function expireMessages(
  database: Database,
  expirations: readonly Expiration[],
  now: number,
): Promise<ExpireReply> {
  const hasExpiredWaiting = (row: MayWait) => row.ended_at === null && row.lease === null && !isLive(row, now);
  const read = await database.all<OpenMessage & MayWait>(
    BY_ID,
    expirations.map(({ accountId }) => accountId),
    expirations.map(({ messageId }) => messageId),
  );
  const found = read.filter(hasExpiredWaiting);
  if (found.length === 0) return { expired: [], dueAt: null };
  const lines = await LockedLines.lock(database, found);
  const locked = await database.all<MayWait & { readonly seq: number }>(
    LOCK,
    found.map(({ account_id }) => account_id),
    found.map(({ seq }) => seq),
  );
  const isLocked = new Set(locked.filter(hasExpiredWaiting).map(({ seq }) => seq));
  const held = found.filter(({ seq }) => isLocked.has(seq));
  if (held.length === 0) return { expired: [], dueAt: null };
  const expirationOf = new Map(expirations.map((each) => [each.messageId, each]));
  const ending = held.map((each) => expirationOf.get(each.id)!);
  await database.run(
    END,
    held.map(({ account_id }) => account_id),
    held.map(({ seq }) => seq),
    ending.map(({ expiresAt }) => expiresAt),
    ending.map(({ failure }) => failure),
    held.map((_, index) => index),
    now,
  );
  await forgetDeduplication(database, held);
  await lines.startWaitingMessages(database, held, now);
  const messages = ending.flatMap(({ followUps }) => followUps);
  if (messages.length > 0) await accept(database, { messages, leases: [], node: '', now, dayMax: null });
  // Messages behind these may be claimed now.
  return { expired: held.map(({ id }) => id), dueAt: now };
}
