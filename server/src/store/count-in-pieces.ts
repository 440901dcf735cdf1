// Counts what a filter means, in pieces: each looks at a bounded number of messages, and between two of them others have
// their turn. There is an end to it: then the count is "at least so many".

import type { Counted, CountPiece, MessageFilter } from '../domain/message-filter.ts';
import type { MessageStore } from './message-store.ts';

/** Pieces of one count. */
const PIECES_MAX = 10;

/** How many messages are meant; stops counting at `max`, and when it has looked at very many. */
export function countMatching(
  store: Pick<MessageStore, 'countPiece'>,
  accountId: string,
  filter: MessageFilter,
  max: number,
): Promise<Counted> {
  return countInPieces((rest, cursor) => store.countPiece(accountId, filter, rest, cursor), max);
}

export async function countInPieces(
  piece: (max: number, cursor: number | null) => Promise<Omit<CountPiece, 'states'>>,
  max: number,
): Promise<Counted> {
  let count = 0;
  let cursor: number | null = null;
  for (let pieces = 0; pieces < PIECES_MAX; pieces += 1) {
    // One more than is told: else nobody knew whether there is one.
    const counted: Omit<CountPiece, 'states'> = await piece(max + 1 - count, cursor);
    count += counted.count;
    cursor = counted.cursor;
    if (count > max) return { count: max, isCut: true };
    if (cursor === null) return { count, isCut: false };
  }
  return { count, isCut: true };
}
