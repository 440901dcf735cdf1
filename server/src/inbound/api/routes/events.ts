// Events over the API: in pages, under the two paths /v2/events and /v2/logs, and as a live stream.

import type { EventFilter, MessageEvent } from '../../../rules/delivery/event.ts';
import {
  EVENT_STATES,
  type EventState,
  isEventWanted,
  JOURNAL_ONLY,
  messageEvents,
  needsJournal,
  stepEvents,
} from '../../../rules/delivery/event.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { Matcher } from '../../../rules/reads/message-filter.ts';
import { eventWeight } from '../../../rules/reads/page-weight.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { EventPage, MessageStore, PageRequest, StoredMessage } from '../../../store/ports/message-store.ts';
import type { AccessWatch } from '../../live/access-watch.ts';
import type { EventStreams } from '../../live/event-streams.ts';
import { objectPieces, StreamedResponse } from '../answer-stream.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { cursorMarkOf, type NumberPosition, parseNumberCursor, toNumberCursor } from '../lists/cursors.ts';
import { cutPage, pageToRequest, positionAfter } from '../lists/event-pages.ts';
import {
  FILTER_NAMES,
  PAGE_PARAMETERS,
  parseMessageFilter,
  parsePage,
  parseSingleText,
  parseStateName,
  parseTexts,
  parseTimeValue,
  querySchema,
  requestValues,
} from '../lists/filters.ts';
import { EventsAnswer, QstashEventsAnswer } from '../shapes/answers.ts';
import { viewsFor } from '../shapes/qstash-view.ts';

const NAMES = [...FILTER_NAMES.messages.filter((name) => name !== 'text' && name !== 'responseStatus')];
const COUNT_MAX = 1000;
/** Limit for the events of messages that a filter names by id. All are sorted before a page is cut from them. */
const LOOKED_AT_MAX = 20_000;
const JOURNAL_PAGE = {
  limit: COUNT_MAX,
  order: 'newestFirst',
  withBodies: false,
  bytesMax: Number.MAX_SAFE_INTEGER,
} as const;

type Context = RouteContext<MessageStore>;

export function eventRoutes(api: Api, context: Context, streams: EventStreams, access: AccessWatch): void {
  listRoutes(api, context);
  streamRoutes(api, context, streams, access);
}

function listRoutes(api: Api, context: Context): void {
  const { isForQstashClients } = context;
  const views = viewsFor(isForQstashClients);

  for (const path of ['/v2/events', '/v2/logs']) {
    api.add({
      method: 'GET',
      path,
      scope: 'read',
      query: querySchema([...NAMES, ...PAGE_PARAMETERS]),
      summary: 'List events of messages',
      answer: isForQstashClients ? QstashEventsAnswer : EventsAnswer,
      handle: async ({ principal, query }) => {
        const values = requestValues(query, null, [...NAMES, ...PAGE_PARAMETERS], isForQstashClients);
        const countDefault = isForQstashClients && path === '/v2/events' ? COUNT_MAX : 100;
        const { cursor: goesOnFrom, ...rest } = values;
        const filter = parseEventFilter(rest);
        const page = parsePage(rest, countDefault, COUNT_MAX, true);
        const mark = cursorMarkOf('events', rest);
        const text = goesOnFrom === undefined ? null : parseSingleText('cursor', goesOnFrom);
        const { events, cursor } = await listFrom(context, principal, filter, page, text, mark);
        const held = events.reduce((sum, event) => sum + eventWeight(event), 0);
        const entries = () => events.values().map((event) => views.event(event));
        // Both lists show the same events. Each event is converted to text only when it is written.
        return new StreamedResponse(held, () =>
          objectPieces(
            [
              ['events', entries()],
              ['logs', entries()],
            ],
            cursor === null ? {} : { cursor: toNumberCursor(cursor, mark) },
          ),
        );
      },
    });
  }
}

function until(at: number, filter: EventFilter): EventFilter {
  return { ...filter, toAt: Math.min(filter.toAt ?? at, at) };
}

function streamRoutes(api: Api, context: Context, streams: EventStreams, access: AccessWatch): void {
  const { isForQstashClients } = context;

  api.add({
    method: 'GET',
    path: '/v2/events/stream',
    scope: 'read',
    query: querySchema(NAMES),
    summary: 'Live events as Server-Sent Events; continues after the event named by Last-Event-ID',
    mediaType: 'text/event-stream',
    isRead: false,
    handle: async ({ principal, query, reply }) => {
      const filter = parseEventFilter(requestValues(query, null, NAMES, isForQstashClients));
      let isTaken = false;
      // The caller may have disconnected meanwhile. Then no `close` event will come any more.
      if (!reply.raw.destroyed) {
        const letGo = access.add(principal, () => reply.raw.destroy());
        reply.raw.on('close', letGo);
      }
      try {
        await streams.open({
          accountId: principal.account.id,
          filter,
          lastSeen: reply.request.headers['last-event-id'],
          takeOver: () => {
            reply.hijack();
            isTaken = true;
            return reply.raw;
          },
        });
      } catch (error) {
        if (!isTaken) throw error;
        // The stream owns the response now, so nobody else handles this error.
        context.onFault(error);
        reply.raw.destroy();
      }
    },
  });
}

async function listFrom(
  context: Context,
  principal: Principal,
  filter: EventFilter,
  page: PageRequest,
  cursor: string | null,
  mark: string,
) {
  if (cursor === null) return list(context, principal, filter, page, null);
  if (context.isForQstashClients && isTime(cursor)) {
    return list(context, principal, until(Number(cursor), filter), page, null);
  }
  return list(context, principal, filter, page, parseNumberCursor(cursor, mark));
}

/**
 * Reads the journal. But if the filter has ids of messages, it reads these messages, which are kept longer than the
 * journal. The list of their events, oldest first, only grows at its end, so an index in this list serves as a cursor.
 */
async function list(
  context: Context,
  principal: Principal,
  filter: EventFilter,
  page: PageRequest,
  from: NumberPosition | null,
) {
  const { store } = context;
  const ids = filter.messages.messageIds;
  if (!ids) {
    return cutPage(await store.listEvents(principal.account.id, filter, pageToRequest(page, from)), page.limit, from);
  }
  const events = await eventsOfAll(context, principal, ids);
  const matcher = new Matcher(filter.messages);
  const wanted = events.filter((event) => matcher.matches(event.message) && isEventWanted(filter, event));
  wanted.sort((a, b) => a.at - b.at);
  if (page.order === 'newestFirst') {
    const end = Math.min(from?.position ?? wanted.length, wanted.length);
    const filled = await fill(context, principal, wanted.slice(Math.max(0, end - page.limit), end).reverse());
    const start = end - filled.length;
    return { events: filled, cursor: start > 0 ? positionAfter(start) : null };
  }
  const start = from?.position ?? 0;
  const filled = await fill(context, principal, wanted.slice(start, start + page.limit));
  const end = start + filled.length;
  return { events: filled, cursor: end < wanted.length ? positionAfter(end) : null };
}

async function eventsOfAll(context: Context, principal: Principal, ids: readonly string[]): Promise<MessageEvent[]> {
  const events: MessageEvent[] = [];
  for (const id of new Set(ids)) {
    const stored = await context.store.getMessage(principal.account.id, id, 'outline');
    if (stored) events.push(...(await eventsOf(context, principal, stored)));
    if (events.length > LOOKED_AT_MAX) {
      const text = `messageIds: these messages have more than ${LOOKED_AT_MAX} events in total; give fewer ids in one call`;
      throw new ApiError('bad_filter', text);
    }
  }
  return events;
}

async function eventsOf(
  { store }: Context,
  principal: Principal,
  { message, attempts }: StoredMessage,
): Promise<MessageEvent[]> {
  if (!needsJournal(message, attempts)) return messageEvents(message, attempts);
  const filter = { messages: { messageIds: [message.id] }, states: JOURNAL_ONLY };
  const journal: MessageEvent[] = [];
  let cursor: number | null = null;
  // All of them are read: their number is bounded (messageChanges), and these pages are not those of the response.
  do {
    const page: EventPage = await store.listEvents(principal.account.id, filter, { ...JOURNAL_PAGE, cursor });
    // Each may have a message of its own, with its headers.
    for (const event of page.events) journal.push({ ...event, message });
    ({ cursor } = page);
  } while (cursor !== null);
  return messageEvents(message, attempts, journal.reverse());
}

/** Adds to the events the bodies and responses that were left out so far. Returns as many events as a page holds. */
async function fill(
  { store }: Context,
  principal: Principal,
  events: readonly MessageEvent[],
): Promise<MessageEvent[]> {
  const filled: MessageEvent[] = [];
  let stored: StoredMessage | null = null;
  let bytes = 0;
  for (const event of events) {
    if (stored?.message.id !== event.message.id) {
      stored = await store.getMessage(principal.account.id, event.message.id);
    }
    const attempt = stored?.attempts.find(({ number }) => number === event.attempt?.number) ?? event.attempt;
    const body = stored?.message.body ?? event.message.body;
    const [cut] = stepEvents({ ...event.message, body }, { kind: 'accepted', isStarted: false });
    const whole = { ...event, attempt, message: cut!.message, ...(cut!.isBodyCut && { isBodyCut: true }) };
    filled.push(whole);
    bytes += eventWeight(whole);
    if (bytes >= eachMax('pageBytes')) break;
  }
  return filled;
}

/**
 * Whether a cursor is a time. The documentation of the public clients uses the current time as the first cursor of the
 * log. No cursor of this service looks like a time, because each has a mark.
 */
function isTime(cursor: string): boolean {
  return /^\d{13,14}$/.test(cursor);
}

/** Parses a filter for events. Its dates and states are those of the events, not of their messages. */
function parseEventFilter(values: ReturnType<typeof requestValues>): EventFilter {
  const { state, fromDate, toDate, ...rest } = values;
  return {
    messages: parseMessageFilter(rest),
    ...(state !== undefined && { states: parseStates(state) }),
    ...(fromDate !== undefined && { fromAt: parseTimeValue('fromDate', fromDate) }),
    ...(toDate !== undefined && { toAt: parseTimeValue('toDate', toDate) }),
  };
}

function parseStates(value: unknown): EventState[] {
  return parseTexts('state', value).flatMap((each) => {
    const text = parseStateName(each);
    if (text === 'IN_PROGRESS') return ['ACTIVE', 'RETRY', 'ERROR'] as const;
    const state = EVENT_STATES.find((known) => known === text);
    if (!state) throw new ApiError('bad_filter', `state: must be one of ${EVENT_STATES.join(', ')}, IN_PROGRESS`);
    return [state];
  });
}
