// Events over the API: in pages, under two names, and as a live stream.

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
import type { MessageStore, PageRequest, StoredMessage } from '../../../store/ports/message-store.ts';
import type { AccessWatch } from '../../live/access-watch.ts';
import type { EventStreams } from '../../live/event-streams.ts';
import { objectPieces, StreamedAnswer } from '../answer-stream.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { markOf, type NumberPosition, parseNumberCursor, toNumberCursor } from '../lists/cursors.ts';
import { afterAll, cutPage, pageToRequest } from '../lists/event-pages.ts';
import {
  FILTER_NAMES,
  given,
  instant,
  PAGE_NAMES,
  parseMessageFilter,
  parsePage,
  querySchema,
  single,
  stateName,
  texts,
} from '../lists/filters.ts';
import { EventsAnswer, QstashEventsAnswer } from '../shapes/answers.ts';
import { viewsFor } from '../shapes/qstash-view.ts';

const NAMES = [...FILTER_NAMES.messages.filter((name) => name !== 'text' && name !== 'responseStatus')];
const COUNT_MAX = 1000;
/** Limit for the events of named messages. All of them are sorted before a page is cut from them. */
const LOOKED_AT_MAX = 20_000;

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
      query: querySchema([...NAMES, ...PAGE_NAMES]),
      summary: 'List events of messages',
      answer: isForQstashClients ? QstashEventsAnswer : EventsAnswer,
      handle: async ({ principal, query }) => {
        const values = given(query, null, [...NAMES, ...PAGE_NAMES], isForQstashClients);
        const countDefault = isForQstashClients && path === '/v2/events' ? COUNT_MAX : 100;
        const { cursor: goesOnFrom, ...rest } = values;
        const filter = parseEventFilter(rest);
        const page = parsePage(rest, countDefault, COUNT_MAX, true);
        const mark = markOf('events', rest);
        const text = goesOnFrom === undefined ? null : single('cursor', goesOnFrom);
        const { events, cursor } = await listFrom(context, principal, filter, page, text, mark);
        const held = events.reduce((sum, event) => sum + eventWeight(event), 0);
        const entries = () => events.values().map((event) => views.event(event));
        // Both lists show the same events. Each event is converted to text only when it is written.
        return new StreamedAnswer(held, () =>
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
      const filter = parseEventFilter(given(query, null, NAMES, isForQstashClients));
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
 * Reads the journal or, when messages are named, the messages themselves, which are kept longer than their journal.
 * Sorted oldest first, the events of named messages only grow at the end. So a position in that order is a cursor.
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
    return { events: filled, cursor: start > 0 ? afterAll(start) : null };
  }
  const start = from?.position ?? 0;
  const filled = await fill(context, principal, wanted.slice(start, start + page.limit));
  const end = start + filled.length;
  return { events: filled, cursor: end < wanted.length ? afterAll(end) : null };
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
  if (!needsJournal(attempts)) return messageEvents(message, attempts);
  const { events } = await store.listEvents(
    principal.account.id,
    { messages: { messageIds: [message.id] }, states: JOURNAL_ONLY },
    { limit: COUNT_MAX, cursor: null, order: 'newestFirst', withBodies: false },
  );
  return messageEvents(message, attempts, events.toReversed());
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
function parseEventFilter(values: ReturnType<typeof given>): EventFilter {
  const { state, fromDate, toDate, ...rest } = values;
  return {
    messages: parseMessageFilter(rest),
    ...(state !== undefined && { states: parseStates(state) }),
    ...(fromDate !== undefined && { fromAt: instant('fromDate', fromDate) }),
    ...(toDate !== undefined && { toAt: instant('toDate', toDate) }),
  };
}

function parseStates(value: unknown): EventState[] {
  return texts('state', value).flatMap((each) => {
    const text = stateName(each);
    if (text === 'IN_PROGRESS') return ['ACTIVE', 'RETRY', 'ERROR'] as const;
    const state = EVENT_STATES.find((known) => known === text);
    if (!state) throw new ApiError('bad_filter', `state: must be one of ${EVENT_STATES.join(', ')}, IN_PROGRESS`);
    return [state];
  });
}
