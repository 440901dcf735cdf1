// Messages over the API: read, search, cancel, deliver now, and explain why a message is not delivered yet.

import type { FastifyReply } from 'fastify';
import type { Account } from '../../../rules/accounts/account.ts';
import type { AwaitedAck } from '../../../rules/acks/ack.ts';
import { versionOf } from '../../../rules/delivery/change.ts';
import type { Message } from '../../../rules/delivery/message.ts';
import { isSuspect } from '../../../rules/delivery/recovery.ts';
import { waitsForOthers, whyNotDelivered } from '../../../rules/delivery/why.ts';
import { summaryOf } from '../../../rules/hosts/host-health.ts';
import { parks } from '../../../rules/hosts/parking.ts';
import { type MessageFilter, OPEN_STATES, shownState } from '../../../rules/reads/message-filter.ts';
import { entityTag } from '../../../rules/requests/if-match.ts';
import type { AckStore } from '../../../store/ports/ack-store.ts';
import type { HostStore } from '../../../store/ports/host-store.ts';
import type { MessageStore, WaitFacts } from '../../../store/ports/message-store.ts';
import type { Api, RouteContext } from '../api.ts';
import { CancelCall, type CancelCount, reportUnconfirmed, SEARCH_FOR_CHANGE } from '../cancelling.ts';
import { ApiError } from '../errors.ts';
import {
  FILTER_NAMES,
  messageCursors,
  PAGE_PARAMETERS,
  parseMessageFilter,
  parsePage,
  querySchema,
  refuseEmptyFilters,
  requestValues,
  selectsAll,
} from '../lists/filters.ts';
import {
  CancelledAnswer,
  MessageAnswer,
  MessageIdAnswer,
  MessagesAnswer,
  ReleasedAnswer,
  StateCountsAnswer,
  WhyAnswer,
} from '../shapes/answers.ts';
import { ackView, attemptView } from '../shapes/message-view.ts';
import { viewsFor } from '../shapes/qstash-view.ts';
import Type from '../shapes/schema.ts';

const MessageId = Type.Object({ messageId: Type.String() });
const LIST_MAX = 1000;
/** How many messages are cancelled in one transaction. */
const CANCEL_CHUNK = 500;
const CANCEL_NAMES = [
  ...FILTER_NAMES.messages.filter((name) => name !== 'state' && name !== 'text' && name !== 'retried'),
  'count',
  'all',
  'cursor',
];

/** The filters of a count. `state` is not one of them, because the count covers all states. */
const COUNT_NAMES = FILTER_NAMES.messages.filter((name) => name !== 'state');
const STATES_COUNTED_MAX = 20_000;

type Context = RouteContext<MessageStore & Pick<HostStore, 'getHost'> & Pick<AckStore, 'openAttempt'>>;

export function messageRoutes(api: Api, context: Context): void {
  readRoutes(api, context);
  cancelRoutes(api, context);
  resumeRoutes(api, context);
}

function readRoutes(api: Api, context: Context): void {
  const { store, world } = context;
  const views = viewsFor(context.isForQstashClients);

  api.add({
    method: 'GET',
    path: '/v2/messages/:messageId',
    scope: 'read',
    params: MessageId,
    summary: 'Read a message and its attempts',
    versions: 'ETag',
    answer: MessageAnswer,
    handle: async ({ principal, params, reply }) => {
      const stored = await store.getMessage(principal.account.id, params.messageId);
      if (!stored) throw unknownMessage(params.messageId);
      reply.header('ETag', entityTag(versionOf(stored.message)));
      const ack = await shownAck(context, stored.message);
      return { ...views.message(stored.message), ...ack, attempts: stored.attempts.map(attemptView) };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/messages/:messageId/why',
    scope: 'read',
    params: MessageId,
    summary: 'Read why a message is not delivered yet',
    answer: WhyAnswer,
    handle: async ({ principal, params }) => {
      const facts = await store.waitFacts(principal.account.id, params.messageId);
      if (!facts) throw unknownMessage(params.messageId);
      const now = world.clock.now();
      const why = whyNotDelivered({
        ...facts,
        ...(await hostFacts(context, facts, now)),
        first: await firstAhead(context, facts),
        ack: await awaitedAck(context, facts.message),
        isDraining: !context.isServing(),
        now,
      });
      return { messageId: params.messageId, ...why };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/messages/counts',
    scope: 'read',
    query: querySchema(COUNT_NAMES),
    summary: 'Count the matching messages, by state',
    answer: StateCountsAnswer,
    handle: async ({ principal, query }) => {
      const filter = parseMessageFilter(requestValues(query, null, COUNT_NAMES, context.isForQstashClients));
      const { states, cursor } = await store.countPiece(principal.account.id, filter, STATES_COUNTED_MAX, null);
      return { states, ...(cursor !== null && { isCut: true }) };
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/messages',
    scope: 'read',
    query: querySchema([...FILTER_NAMES.messages, ...PAGE_PARAMETERS]),
    summary: 'List and search messages',
    answer: MessagesAnswer,
    handle: async ({ principal, query }) => {
      const values = requestValues(
        query,
        null,
        [...FILTER_NAMES.messages, ...PAGE_PARAMETERS],
        context.isForQstashClients,
      );
      const cursors = messageCursors('messages', values);
      const page = { ...parsePage(values, 100, LIST_MAX, false), cursor: cursors.from };
      const { messages, cursor } = await store.searchMessages(principal.account.id, parseMessageFilter(values), page);
      return { messages: messages.map(views.message), ...cursors.next(cursor) };
    },
  });
}

/** The ack that an attempt of the message awaits now. */
async function awaitedAck({ store }: Context, message: Message): Promise<AwaitedAck | null> {
  const { accountId, id, state, awaitAckMs, cancelRequestedAt } = message;
  if (awaitAckMs === null || state !== 'claimed' || cancelRequestedAt !== undefined) return null;
  const ack = (await store.openAttempt(accountId, id))?.ack;
  return ack?.isAwaiting ? ack : null;
}

async function shownAck(context: Context, message: Message) {
  const ack = await awaitedAck(context, message);
  return ack ? { ack: ackView(ack) } : {};
}

/** What is known of the host of a message, if that matters. */
async function hostFacts({ store }: Context, facts: WaitFacts, now: number) {
  const { message } = facts;
  const [isInLine, isParking] = [waitsForOthers(facts), parks(message)];
  const known = isInLine || isParking ? await store.getHost(message.accountId, message.host) : null;
  return {
    paceMs: known && isInLine ? summaryOf(known.health, now).p50Ms : null,
    parking: known && isParking ? known.parking : null,
  };
}

/** The first of the messages that this one waits for, with what it waits for itself. */
async function firstAhead(context: Context, { message: { accountId }, ahead, flowAhead }: WaitFacts) {
  const { store } = context;
  const id = (ahead ?? flowAhead)?.messageId ?? null;
  const message = id === null ? undefined : (await store.waitFacts(accountId, id))?.message;
  if (!message) return null;
  const host = parks(message) ? await store.getHost(accountId, message.host) : null;
  return { message, ack: await awaitedAck(context, message), parking: host?.parking ?? null };
}

function cancelRoutes(api: Api, context: Context): void {
  api.add({
    method: 'DELETE',
    path: '/v2/messages/:messageId',
    audit: 'message',
    scope: 'manage',
    params: MessageId,
    summary: 'Cancel a message',
    statuses: [200, 202],
    answer: CancelledAnswer,
    handle: async ({ principal, params, reply }) => {
      const call = cancelCall(context, principal.account);
      await call.cancel([params.messageId]);
      if (call.count === 0)
        throw new ApiError('message_not_found', `message "${params.messageId}" is unknown or has ended`);
      return answerTo(context, await call.confirm(), reply);
    },
  });

  api.add({
    method: 'DELETE',
    path: '/v2/messages',
    scope: 'manage',
    query: querySchema(CANCEL_NAMES),
    body: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    summary: 'Cancel messages by id or by filter',
    statuses: [200, 202],
    answer: CancelledAnswer,
    isRead: true,
    handle: async ({ principal, query, body, reply }) => {
      const values = requestValues(query, body, CANCEL_NAMES, context.isForQstashClients);
      const filter = parseMessageFilter(values);
      if (Object.keys(filter).length === 0 && !selectsAll(values.all)) {
        refuseEmptyFilters(query, body);
        if (!context.isForQstashClients) {
          throw new ApiError('bad_filter', 'no filter was given; to cancel all open messages, use all=true');
        }
      }
      // The public clients always send `count=100`, and document that it has no effect.
      const max =
        values.count === undefined || context.isForQstashClients
          ? Number.POSITIVE_INFINITY
          : parsePage({ count: values.count }, 1, 1_000_000, false).limit;
      return answerTo(context, await cancelMatching(context, principal.account, filter, max), reply);
    },
  });
}

function resumeRoutes(api: Api, context: Context): void {
  const { store, world } = context;

  api.add({
    method: 'POST',
    path: '/v2/messages/:messageId/retry',
    audit: 'message',
    storesNothing: true,
    scope: 'manage',
    params: MessageId,
    summary:
      'Deliver a waiting message now. A message in a queue is refused, except a head that waits after crashes interrupted its attempts',
    answer: MessageIdAnswer,
    handle: async ({ principal, params }) => {
      const result = await store.deliverNow(principal.account.id, params.messageId, world.clock.now());
      if (result === 'notWaiting')
        throw new ApiError('message_not_found', `message "${params.messageId}" is unknown or has ended`);
      if (result === 'held') {
        throw new ApiError('message_held', `message "${params.messageId}" is held: release it, or cancel it`);
      }
      if (result === 'inQueue') {
        throw new ApiError('in_queue', `message "${params.messageId}" is in a queue and must wait for its turn`);
      }
      return { messageId: params.messageId };
    },
  });

  api.add({
    method: 'POST',
    path: '/v2/messages/:messageId/release',
    audit: 'message',
    storesNothing: true,
    scope: 'manage',
    params: MessageId,
    summary: 'Release a held message',
    answer: ReleasedAnswer,
    handle: async ({ principal, params }) => {
      const { length } = await store.releaseHeld(principal.account.id, [params.messageId], world.clock.now());
      if (length > 0) return { released: length };
      const stored = await store.getMessage(principal.account.id, params.messageId, 'outline');
      if (!stored) throw unknownMessage(params.messageId);
      const hint = isSuspect(stored.message) ? '; it waits after crashes: to start it now, use /retry' : '';
      throw new ApiError('not_held', `message "${params.messageId}" is ${shownState(stored.message)}, not HELD${hint}`);
    },
  });
}

function cancelCall({ store, room, world }: Context, account: Account): CancelCall {
  return new CancelCall({ store, clock: world.clock, room }, account);
}

function answerTo(context: Context, { cancelled, requested }: CancelCount, reply: FastifyReply) {
  const rest = reportUnconfirmed(requested, reply);
  return context.isForQstashClients ? { cancelled } : { cancelled, ...rest };
}

async function cancelMatching(
  context: Context,
  account: Account,
  filter: MessageFilter,
  max: number,
): Promise<CancelCount> {
  const { store } = context;
  const call = cancelCall(context, account);
  for (let cursor: number | null = null; ; ) {
    const page = {
      limit: Math.min(CANCEL_CHUNK, max - call.count),
      cursor,
      order: 'newestFirst',
      ...SEARCH_FOR_CHANGE,
    } as const;
    const found = await store.searchMessages(account.id, { ...filter, states: OPEN_STATES }, page);
    if (found.messages.length > 0) await call.cancel(found.messages.map(({ id }) => id));
    cursor = found.cursor;
    if (cursor === null || call.count >= max) return call.confirm();
  }
}

function unknownMessage(id: string): ApiError {
  return new ApiError('message_not_found', `there is no message "${id}"`);
}
