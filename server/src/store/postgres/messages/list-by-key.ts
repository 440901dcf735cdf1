// A list of an account, ordered by a text that is unique in it. The sizes of its rows are read before the rows, so that
// a piece never holds more bytes than it may.

import { fitting, type ListPart, type ListPiece, type WeighedKey } from '../../ports/list-piece.ts';
import type { Database } from '../sessions/database.ts';

/** All of it SQL. */
export interface KeyedList {
  readonly table: string;
  readonly key: string;
  readonly columns: string;
  readonly bytes: string;
}

export async function listByKey<Row extends object, T>(
  database: Database,
  { table, key, columns, bytes }: KeyedList,
  accountId: string,
  part: ListPart,
  make: (row: Row) => T,
): Promise<ListPiece<T>> {
  const after = part.after ?? '';
  const keys = await database.all<WeighedKey>(
    `SELECT ${key} AS key, ${bytes} AS bytes FROM ${table} WHERE account_id = $1 AND ${key} > $2 ORDER BY ${key} LIMIT $3`,
    accountId,
    after,
    part.limit + 1,
  );
  const { last, count } = fitting(keys, part);
  const rows = await database.all<Row>(
    `SELECT ${columns} FROM ${table} WHERE account_id = $1 AND ${key} > $2 AND ${key} <= $3 ORDER BY ${key} LIMIT $4`,
    accountId,
    after,
    last,
    count,
  );
  return { entries: rows.map(make), hasMore: keys.length > count };
}
