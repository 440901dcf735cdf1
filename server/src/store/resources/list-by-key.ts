// Lists of an account, ordered by a text column that is unique in the account. The sizes of the rows are read before
// the rows, so that a piece never holds more bytes than it may.

import { eachMax } from '../../rules/limits/budgets.ts';
import {
  BEHIND_ALL,
  FIRST_PART,
  fittingKeys,
  type ListPiece,
  type ListPieceRequest,
  type SizedKey,
} from '../ports/list-piece.ts';
import { all, get, type Steps } from './steps.ts';

/** Every field but `isDescending` is a piece of SQL. */
export interface KeyedList {
  readonly table: string;
  readonly key: string;
  readonly columns: string;
  readonly bytes: string;
  readonly isDescending?: true;
}

export function listByKey<Row extends object, T>(list: KeyedList, make: (row: Row) => T) {
  const { table, key, columns, bytes, isDescending } = list;
  const [behind, upTo, order, start] = isDescending ? ['<', '>=', `${key} DESC`, BEHIND_ALL] : ['>', '<=', key, ''];
  const from = `FROM ${table} WHERE account_id = ? AND ${key} ${behind} ?`;
  const weigh = `SELECT ${key} AS key, ${bytes} AS bytes ${from} ORDER BY ${order} LIMIT ?`;
  const read = `SELECT ${columns} ${from} AND ${key} ${upTo} ? ORDER BY ${order} LIMIT ?`;
  return function* (accountId: string, part: ListPieceRequest = FIRST_PART): Steps<ListPiece<T>> {
    const after = part.after ?? start;
    const keys = yield* all<SizedKey>(weigh, [accountId, after, part.limit + 1]);
    const { last, count } = fittingKeys(keys, part);
    const rows = yield* all<Row>(read, [accountId, after, last, count]);
    return { entries: rows.map(make), hasMore: keys.length > count };
  };
}

/** How many rows the account has in the table, counted up to `max`. */
export function countUpTo(table: 'queues' | 'schedules' | 'topics' | 'hosts') {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} WHERE account_id = ? LIMIT ?) AS few`;
  return function* (accountId: string, max: number): Steps<number> {
    return (yield* get<{ n: number }>(sql, [accountId, max]))!.n;
  };
}

/**
 * A list of queues or flow keys, each with the count of its messages. A piece ends early when enough messages are
 * counted, and the next call continues. A further row after `limit` rows means that the list has more entries. `count`
 * makes entries of the first rows that it gets, of at least one.
 */
export function* listCounted<Row, T>(
  rows: readonly Row[],
  limit: number,
  count: (rows: readonly Row[]) => Steps<T[]>,
  countOf: (entry: T) => number,
): Steps<ListPiece<T>> {
  const wanted = rows.slice(0, limit);
  const entries: T[] = [];
  let counted = 0;
  while (entries.length < wanted.length && counted <= eachMax('lineCount')) {
    const some = yield* count(wanted.slice(entries.length));
    entries.push(...some);
    for (const entry of some) counted += countOf(entry);
  }
  return { entries, hasMore: rows.length > entries.length };
}
