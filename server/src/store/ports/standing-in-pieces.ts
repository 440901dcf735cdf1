// Counts the messages of an account by state, the open ones in pieces: other work can run between two of them.

import { type AccountStanding, type OpenGroup, standingOf } from '../../rules/accounts/standing.ts';
import type { MessageStore } from './message-store.ts';

/** Reads at most `limit` of the oldest open messages, and counts the other kinds up to `limit`. */
export async function readStanding(
  store: Pick<MessageStore, 'openPiece' | 'endedCounts'>,
  accountId: string,
  now: number,
  limit: number,
): Promise<AccountStanding> {
  const groups: OpenGroup[] = [];
  let left = limit;
  for (let cursor: number | null = null; left > 0; ) {
    const piece = await store.openPiece(accountId, now, left, cursor);
    groups.push(...piece.groups);
    left -= piece.groups.reduce((sum, { count }) => sum + count, 0);
    cursor = piece.cursor;
    if (cursor === null) break;
  }
  return { ...standingOf(groups), ...(await store.endedCounts(accountId, limit)), countedMax: limit };
}
