// A list of lines, each with the count of its messages. A piece ends early when enough messages are counted: the next call continues
// with the remaining lines.

import { eachMax } from '../../rules/limits/budgets.ts';
import type { ListPiece } from '../ports/list-piece.ts';
import type { Steps } from './steps.ts';

/** `rows` has one row more than `limit` if there are more. `count` makes the first of the rows it gets, at least one. */
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
