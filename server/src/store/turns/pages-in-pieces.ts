// Builds a page of a list, a search or a count from pieces. Each piece takes its turn separately, so that other work
// can run between two pieces.

import type { MessageEvent } from '../../rules/delivery/event.ts';
import type { Attempt, Message } from '../../rules/delivery/message.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { StateTally } from '../../rules/reads/message-filter.ts';
import { addReadAmounts, nextReadMax, type ReadAmount } from '../../rules/reads/read-amount.ts';
import type { MessageStore, PageRequest } from '../ports/message-store.ts';

const NOTHING: ReadAmount = { rows: 0, bytes: 0 };

/** What is left of a page for its next piece. Null when the page ends here. */
function restOf(
  page: PageRequest,
  cursor: number | null,
  made: { readonly count: number; readonly weight: number; readonly looked: ReadAmount },
): (PageRequest & { readonly look: ReadAmount }) | null {
  const bytesMax = (page.bytesMax ?? eachMax('pageBytes')) - made.weight;
  const limit = page.limit - made.count;
  const look = nextReadMax(made.looked);
  return limit <= 0 || bytesMax <= 0 || look === null ? null : { ...page, cursor, limit, bytesMax, look };
}

export function searchingInPieces(search: MessageStore['searchMessages']): MessageStore['searchMessages'] {
  return async (accountId, filter, page) => {
    // A caller that limits how much is read wants a single piece.
    if (page.look) return search(accountId, filter, page);
    const messages: Message[] = [];
    const lastAttempts: (Attempt | null)[] = [];
    let looked = NOTHING;
    let weight = 0;
    let cursor = page.cursor;
    for (let rest = restOf(page, cursor, { count: 0, weight, looked }); rest !== null; ) {
      const piece = await search(accountId, filter, rest);
      messages.push(...piece.messages);
      lastAttempts.push(...piece.lastAttempts);
      looked = addReadAmounts(looked, piece.looked);
      weight += piece.weight;
      cursor = piece.cursor;
      if (cursor === null) break;
      rest = restOf(page, cursor, { count: messages.length, weight, looked });
    }
    return { messages, lastAttempts, cursor, looked, weight };
  };
}

/** A live stream sets `look` and gets one piece at a time, because after a piece it may have no reader any more. */
export function listingInPieces(list: MessageStore['listEvents']): MessageStore['listEvents'] {
  return async (accountId, filter, page) => {
    if (page.look) return list(accountId, filter, page);
    const events: MessageEvent[] = [];
    let looked = NOTHING;
    let weight = 0;
    let cursor = page.cursor;
    let endedAt = page.cursor ?? 0;
    for (let rest = restOf(page, cursor, { count: 0, weight, looked }); rest !== null; ) {
      const piece = await list(accountId, filter, rest);
      events.push(...piece.events);
      looked = addReadAmounts(looked, piece.looked);
      weight += piece.weight;
      ({ cursor, endedAt } = piece);
      if (cursor === null) break;
      rest = restOf(page, cursor, { count: events.length, weight, looked });
    }
    return { events, cursor, endedAt, looked, weight };
  };
}

export function countingInPieces(countPiece: MessageStore['countPiece']): MessageStore['countPiece'] {
  return async (accountId, filter, max, from, look) => {
    if (look) return countPiece(accountId, filter, max, from, look);
    const tally = new StateTally();
    let looked = NOTHING;
    let cursor = from;
    for (let next = nextReadMax(looked); next !== null && tally.count < max; next = nextReadMax(looked)) {
      const piece = await countPiece(accountId, filter, max - tally.count, cursor, next);
      tally.addPiece(piece);
      looked = addReadAmounts(looked, piece.looked);
      cursor = piece.cursor;
      if (cursor === null) break;
    }
    return tally.piece(cursor, looked);
  };
}
