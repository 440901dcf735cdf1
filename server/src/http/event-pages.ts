// Pages of events of exactly the requested size. The store returns all events of a journal place together. If a page
// ends between them, its cursor says how many of that place were seen: `<place>.<seen>`.

import { type MessageEvent, STEP_EVENTS_MAX } from '../domain/event.ts';
import type { EventPage, PageRequest } from '../store/message-store.ts';
import { ApiError } from './errors.ts';

export interface EventCursor {
  readonly place: number;
  /** How many events of that place were seen. 0 means that the page begins after the place. */
  readonly seen: number;
}

export function parseEventCursor(text: string): EventCursor {
  const [, place, seen = '0'] = /^(\d{1,16})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (place === undefined || !Number.isSafeInteger(Number(place))) {
    throw new ApiError('bad_parameter', 'cursor: must be one that a page before has given');
  }
  return { place: Number(place), seen: Number(seen) };
}

/** What to ask the store for: the events after a place, or that place once more and what follows. */
export function pageToAsk(page: PageRequest, cursor: EventCursor | null): PageRequest {
  // The store ends a page before a step that does not fit whole. With this much room it returns at least as many as are
  // wanted.
  const limit = page.limit + STEP_EVENTS_MAX - 1;
  if (cursor === null) return { ...page, limit };
  const again = page.order === 'newestFirst' ? cursor.place + 1 : cursor.place - 1;
  return { ...page, limit: limit + cursor.seen, cursor: cursor.seen === 0 ? cursor.place : again };
}

/** The page that follows the cursor, and the next cursor. */
export function cutPage(
  told: EventPage,
  count: number,
  cursor: EventCursor | null,
): { readonly events: readonly MessageEvent[]; readonly cursor: string | null } {
  let seen = cursor?.seen ?? 0;
  // The place may be gone meanwhile, past its retention.
  const unseen = told.events.filter(({ place }) => {
    if (place !== cursor?.place || seen === 0) return true;
    seen -= 1;
    return false;
  });
  const events = unseen.slice(0, count);
  const next = unseen[count];
  if (next === undefined) return { events, cursor: told.cursor === null ? null : String(told.cursor) };
  const { place } = events.at(-1)!;
  if (next.place !== place) return { events, cursor: String(place) };
  const shown = events.filter((event) => event.place === place).length;
  const before = cursor?.place === place ? cursor!.seen : 0;
  return { events, cursor: `${place}.${before + shown}` };
}
