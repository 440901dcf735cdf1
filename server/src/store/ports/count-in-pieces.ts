// Counts the messages that match a filter, and the messages of an account by state, in pieces. Each piece reads a
// bounded number of messages, and other work can run between two pieces. The number of pieces is bounded too: a count
// that reaches this limit means "at least this many".

import { type AccountOverview, type OpenGroup, openOverviewOf } from '../../rules/accounts/overview.ts';
import type { CountPiece, MessageCount, MessageFilter } from '../../rules/reads/message-filter.ts';
import type { MessageStore } from './message-store.ts';

/** Limit for the pieces of one count. */
const PIECES_MAX = 10;

/** How many messages match. The count stops at `max`, or when it has read too many messages. */
export function countMatching(
  store: Pick<MessageStore, 'countPiece'>,
  accountId: string,
  filter: MessageFilter,
  max: number,
): Promise<MessageCount> {
  return countInPieces((rest, cursor) => store.countPiece(accountId, filter, rest, cursor), max);
}

export async function countInPieces(
  piece: (max: number, cursor: number | null) => Promise<Pick<CountPiece, 'count' | 'cursor'>>,
  max: number,
): Promise<MessageCount> {
  let count = 0;
  let cursor: number | null = null;
  for (let pieces = 0; pieces < PIECES_MAX; pieces += 1) {
    // Counts one more than it reports, to know whether there are more than `max`.
    const counted: Pick<CountPiece, 'count' | 'cursor'> = await piece(max + 1 - count, cursor);
    count += counted.count;
    cursor = counted.cursor;
    if (count > max) return { count: max, isCut: true };
    if (cursor === null) return { count, isCut: false };
  }
  return { count, isCut: true };
}

/** Counts messages by state: reads at most `limit` of the oldest open ones, and stops each other count at `limit`. */
export async function readOverview(
  store: Pick<MessageStore, 'openMessagesPiece' | 'endedCounts'>,
  accountId: string,
  now: number,
  limit: number,
): Promise<AccountOverview> {
  const groups: OpenGroup[] = [];
  let left = limit;
  for (let cursor: number | null = null; left > 0; ) {
    const piece = await store.openMessagesPiece(accountId, now, left, cursor);
    groups.push(...piece.groups);
    left -= piece.groups.reduce((sum, { count }) => sum + count, 0);
    cursor = piece.cursor;
    if (cursor === null) break;
  }
  return { ...openOverviewOf(groups), ...(await store.endedCounts(accountId, limit)), countedMax: limit };
}
