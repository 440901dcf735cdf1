// Lists ordered by name or id, read in pieces, and the counts with them. The size of a large row is checked before it
// is read.

import type { Account, Token, UsageRow } from '../../../rules/accounts/account.ts';
import type { Job } from '../../../rules/delivery/job.ts';
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
import { type StateOfRow, toState } from '../../rows/message-columns.ts';
import {
  type AccountRow,
  JOB_COLUMNS,
  type JobRow,
  TOKEN_COLUMNS,
  type TokenRow,
  toAccount,
  toJob,
  toToken,
} from '../../rows/rows.ts';
import { ACCOUNT } from '../resources/accounts.ts';
import type { Database } from '../sessions/database.ts';
import { nullEachUnstorable, nullIfUnstorable } from './null-if-unstorable.ts';

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
