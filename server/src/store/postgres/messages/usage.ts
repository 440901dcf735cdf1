// What accounts have used, by day.

import type { UsageRow } from '../../../rules/accounts/account.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest, pieceOf, usagePosition } from '../../ports/list-piece.ts';
import type { Database } from '../sessions/database.ts';
import { nullIfUnstorable } from './storable.ts';

export async function usage(
  database: Database,
  accountId: string,
  fromDay: string,
  toDay: string,
  { after, limit }: ListPieceRequest = FIRST_PART,
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
