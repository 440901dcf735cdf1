// A list of an account, ordered by a text that is unique in it. The sizes of its rows are read before the rows, so that
// a piece never holds more bytes than it may.

import { fitting, type ListPart, type ListPiece, type WeighedKey } from '../../ports/list-piece.ts';
import type { Database } from '../thread/database.ts';

/** All of it SQL. */
export interface KeyedList {
  readonly table: string;
  readonly key: string;
  readonly columns: string;
  readonly bytes: string;
}

export function listByKey<Row extends object, T>(
  database: Database,
  { table, key, columns, bytes }: KeyedList,
  accountId: string,
  part: ListPart,
  make: (row: Row) => T,
): ListPiece<T> {
  const after = part.after ?? '';
  const keys = database.all<WeighedKey>(
    `SELECT ${key} AS key, ${bytes} AS bytes FROM ${table} WHERE account_id = ? AND ${key} > ? ORDER BY ${key} LIMIT ?`,
    accountId,
    after,
    part.limit + 1,
  );
  const { last, count } = fitting(keys, part);
  const rows = database.all<Row>(
    `SELECT ${columns} FROM ${table} WHERE account_id = ? AND ${key} > ? AND ${key} <= ? ORDER BY ${key}`,
    accountId,
    after,
    last,
  );
  return { entries: rows.map(make), hasMore: keys.length > count };
}
