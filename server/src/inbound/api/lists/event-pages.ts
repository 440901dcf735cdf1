// Pages of events of exactly the requested size. The store returns all events of a journal position together. If a page
// ends between them, its cursor says how many of that position were already returned.

import { type MessageEvent, STEP_EVENTS_MAX } from '../../../rules/delivery/event.ts';
import type { EventPage, PageRequest } from '../../../store/ports/message-store.ts';
import type { NumberPosition } from './cursors.ts';

/** The page to request from the store. It begins after a position, or at a position with events not yet returned. */
export function pageToRequest(page: PageRequest, cursor: NumberPosition | null): PageRequest {
  // The store ends a page before a journal step whose events do not all fit. With this larger limit it still returns
  // at least as many events as are wanted.
  const limit = page.limit + STEP_EVENTS_MAX - 1;
  if (cursor === null) return { ...page, limit };
  const again = page.order === 'newestFirst' ? cursor.position + 1 : cursor.position - 1;
  return { ...page, limit: limit + cursor.seen, cursor: cursor.seen === 0 ? cursor.position : again };
}

/** The page that follows the cursor, and the next cursor. */
export function cutPage(
  page: EventPage,
  count: number,
  cursor: NumberPosition | null,
): { readonly events: readonly MessageEvent[]; readonly cursor: NumberPosition | null } {
  let seen = cursor?.seen ?? 0;
  // Skips by position, because the events that were returned may have been deleted since then, after their retention.
  const unseen = page.events.filter(({ position }) => {
    if (position !== cursor?.position || seen === 0) return true;
    seen -= 1;
    return false;
  });
  const events = unseen.slice(0, count);
  const next = unseen[count];
  if (next === undefined) return { events, cursor: page.cursor === null ? null : positionAfter(page.cursor) };
  const { position } = events.at(-1)!;
  if (next.position !== position) return { events, cursor: positionAfter(position!) };
  const shown = events.filter((event) => event.position === position).length;
  const before = cursor?.position === position ? cursor!.seen : 0;
  return { events, cursor: { position: position!, seen: before + shown } };
}

/** The cursor of a page that begins after this position, all of whose events were returned. */
export function positionAfter(position: number): NumberPosition {
  return { position, seen: 0 };
}
