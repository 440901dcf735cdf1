// Lists ordered by name or id, read in pieces, and the counts with them. The size of a large row is checked before it
// is read.

import type { Account, Token, UsageRow } from '../../../rules/accounts/account.ts';
import type { Job } from '../../../rules/delivery/job.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import type { Topic } from '../../../rules/publish/topic.ts';
import type { LinePiece, LinePosition } from '../../ports/line-store.ts';
import {
  BEHIND_ALL,
  FIRST_PART,
  fitting,
  type ListPart,
  type ListPiece,
  pieceOf,
  usagePosition,
  type WeighedKey,
} from '../../ports/list-piece.ts';
import type { MessageState } from '../../ports/message-store.ts';
import type { ListedSchedule } from '../../ports/resource-store.ts';
import { type StateOfRow, toState } from '../../rows/message-columns.ts';
import {
  type AccountRow,
  JOB_COLUMNS,
  type JobRow,
  type ScheduleRow,
  TOKEN_COLUMNS,
  TOPIC_COLUMNS,
  type TokenRow,
  type TopicRow,
  toAccount,
  toJob,
  toListedSchedule,
  toToken,
  toTopic,
} from '../../rows/rows.ts';
import { ACCOUNT } from '../resources/accounts.ts';
import type { Database } from '../sessions/database.ts';
import { listByKey } from './list-by-key.ts';
import { nullEachUnstorable, nullIfUnstorable } from './null-if-unstorable.ts';

export function listTopics(
  database: Database,
  accountId: string,
  part: ListPart = FIRST_PART,
): Promise<ListPiece<Topic>> {
  const bytes = 'octet_length(endpoints) + octet_length(defaults)';
  const list = { table: 'topics', key: 'name', columns: TOPIC_COLUMNS, bytes };
  return listByKey<TopicRow, Topic>(database, list, accountId, part, toTopic);
}

export async function listSchedules(
  database: Database,
  accountId: string,
  part: ListPart = FIRST_PART,
): Promise<ListPiece<ListedSchedule>> {
  const bodyMax = eachMax('listedBodyBytes');
  const keys = await database.all<WeighedKey>(
    `SELECT id AS key, octet_length(headers) + octet_length(last_message_ids) + $4::int AS bytes FROM schedules
       WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
    accountId,
    part.after ?? '',
    part.limit + 1,
    bodyMax,
  );
  const { last, count } = fitting(keys, part);
  const rows = await database.all<ScheduleRow & { is_body_left_out: boolean }>(
    `SELECT id, account_id, cron, destination, queue_name, headers, caller_ip, is_paused, next_at, last_at,
         last_message_ids, created_at, CASE WHEN octet_length(body) > $5 THEN ''::bytea ELSE body END AS body,
         octet_length(body) > $5 AS is_body_left_out
       FROM schedules WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`,
    accountId,
    part.after ?? '',
    last,
    count,
    bodyMax,
  );
  return { entries: rows.map(toListedSchedule), hasMore: keys.length > count };
}

/** Newest first. */
export async function listJobs(
  database: Database,
  accountId: string,
  part: ListPart = FIRST_PART,
): Promise<ListPiece<Job>> {
  const after = part.after ?? BEHIND_ALL;
  const keys = await database.all<WeighedKey>(
    `SELECT id AS key, octet_length(filter) AS bytes FROM jobs WHERE account_id = $1 AND id < $2
       ORDER BY id DESC LIMIT $3`,
    accountId,
    after,
    part.limit + 1,
  );
  const { last, count } = fitting(keys, part);
  const rows = await database.all<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE account_id = $1 AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4`,
    accountId,
    after,
    last,
    count,
  );
  return { entries: rows.map(toJob), hasMore: keys.length > count };
}

export async function listAccounts(
  database: Database,
  { after, limit }: ListPart = FIRST_PART,
): Promise<ListPiece<Account>> {
  const sql = `SELECT ${ACCOUNT} FROM accounts WHERE id > $1 ORDER BY id LIMIT $2`;
  return pieceOf(await database.all<AccountRow>(sql, after ?? '', limit + 1), limit, toAccount);
}

export async function listTokens(
  database: Database,
  accountId: string,
  { after, limit }: ListPart = FIRST_PART,
): Promise<ListPiece<Token>> {
  const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`;
  return pieceOf(
    await database.all<TokenRow>(sql, nullIfUnstorable(accountId), after ?? '', limit + 1),
    limit,
    toToken,
  );
}

export async function usage(
  database: Database,
  accountId: string,
  fromDay: string,
  toDay: string,
  { after, limit }: ListPart = FIRST_PART,
): Promise<ListPiece<UsageRow>> {
  const rows = await database.all<UsageRow>(
    `SELECT day, kind, sum(count)::bigint AS count FROM usage
       WHERE account_id = $1 AND day BETWEEN $2 AND $3 AND (day, kind) > ($4, $5)
       GROUP BY day, kind ORDER BY day, kind LIMIT $6`,
    nullIfUnstorable(accountId),
    fromDay,
    toDay,
    ...usagePosition(after),
    limit + 1,
  );
  return pieceOf(rows, limit, (row) => row);
}

/** How many rows the account has in the table, counted up to `max`. */
export function countUpTo(table: 'queues' | 'schedules' | 'topics') {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE account_id = $1 LIMIT $2) AS few`;
  return async (database: Database, accountId: string, max: number) =>
    (await database.get<{ n: number }>(sql, accountId, max))!.n;
}

const LINE = `SELECT first_due_at, seq FROM messages WHERE ended_at IS NULL AND queue_name IS NOT NULL
  AND account_id = $1 AND queue_name = $2 AND (first_due_at, seq) > ($3::bigint, $4::bigint) ORDER BY first_due_at, seq`;

export async function countLine(
  database: Database,
  accountId: string,
  name: string,
  from: LinePosition | null,
): Promise<LinePiece> {
  const values = [accountId, nullIfUnstorable(name), from?.dueAt ?? Number.MIN_SAFE_INTEGER, from?.seq ?? 0] as const;
  const max = eachMax('lineCount');
  const last = await database.get<{ first_due_at: number; seq: number }>(
    `${LINE} LIMIT 1 OFFSET $5`,
    ...values,
    max - 1,
  );
  if (last) return { count: max, next: { dueAt: last.first_due_at, seq: last.seq } };
  const row = await database.get<{ n: number }>(`SELECT count(*) AS n FROM (${LINE} LIMIT $5) AS few`, ...values, max);
  return { count: row!.n, next: null };
}

export async function messageStates(
  database: Database,
  accountId: string,
  ids: readonly string[],
): Promise<MessageState[]> {
  const rows = await database.all<StateOfRow & { readonly id: string }>(
    'SELECT id, state, held_at FROM messages WHERE account_id = $1 AND id = ANY ($2::text[])',
    accountId,
    nullEachUnstorable(ids),
  );
  return rows.map((row) => ({ id: row.id, state: toState(row) }));
}
