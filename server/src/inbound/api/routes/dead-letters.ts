// Dead letters over the API: failed messages, to read, send again or delete, one by one or by filter. A dead letter
// that was sent again is listed only on demand (`retried`), but can be read until its retention ends.

import type { FastifyReply } from 'fastify';
import { withDefaults } from '../../../publish/publications.ts';
import { deadLetterId, messageIdOf } from '../../../rules/delivery/callback.ts';
import { divideDescendants, NO_DESCENT } from '../../../rules/delivery/descent.ts';
import type { HeaderList, Message, NewMessage } from '../../../rules/delivery/message.ts';
import { retriedMessage, retryWithChanges } from '../../../rules/delivery/retry.ts';
import { foreignSetting } from '../../../rules/publish/foreign-settings.ts';
import { deliveredHeadersProblem } from '../../../rules/publish/headers.ts';
import { noDebounceProblem } from '../../../rules/publish/publish.ts';
import {
  headerLimits,
  KNOWN_SETTINGS,
  parsePublishSettings,
  scheduleOnlyProblem,
} from '../../../rules/publish/publish-settings.ts';
import { isSetting } from '../../../rules/publish/query-settings.ts';
import type { MessageFilter } from '../../../rules/reads/message-filter.ts';
import { messageWeight } from '../../../rules/reads/page-weight.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { MessageStore, PageRequest } from '../../../store/ports/message-store.ts';
import { parseBody } from '../../publish/batch.ts';
import { descentOf } from '../../publish/descent-of.ts';
import { requireQuota, requireRoom } from '../../publish/quota.ts';
import { reportUnknownSettings } from '../../publish/setting-warnings.ts';
import { rawHeaders } from '../../server/whole-request.ts';
import { objectPieces, StreamedResponse } from '../answer-stream.ts';
import type { Api, RouteContext } from '../api.ts';
import { SEARCH_FOR_CHANGE } from '../cancelling.ts';
import { ApiError } from '../errors.ts';
import {
  FILTER_NAMES,
  isEmptyFilter,
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
  DeadLetterAnswer,
  DeadLettersAnswer,
  DeletedAnswer,
  MessageIdAnswer,
  RetriedAnswer,
} from '../shapes/answers.ts';
import { viewsFor } from '../shapes/qstash-view.ts';
import Type, { type Static } from '../shapes/schema.ts';

const DlqId = Type.Object({ dlqId: Type.String() });
const NAMES = [...FILTER_NAMES.deadLetters, ...PAGE_PARAMETERS];
const BULK_NAMES = [...NAMES, 'all'];
const COUNT_MAX = 1000;

const LISTED = { withBodies: true, withLastAttempts: true };
/** The response does not contain the retried messages, so their bodies together may be larger than a page allows. */
const RETRIED = { withBodies: true, bytesMax: 32 * 1024 * 1024 };

/** The fields that a retry may change. Other fields stay as they were. */
const Overrides = Type.Object(
  {
    url: Type.Optional(Type.String()),
    body: Type.Optional(Type.String()),
    /** Replaces `body` when the bytes are not text. */
    bodyBase64: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);

interface Overriding {
  readonly url?: string;
  readonly body?: Uint8Array;
  readonly headers: HeaderList;
}

type Context = RouteContext<MessageStore>;

export function deadLetterRoutes(api: Api, context: Context): void {
  readRoutes(api, context);
  deleteRoutes(api, context);
  retryRoutes(api, context);
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;
  const views = viewsFor(context.isForQstashClients);

  api.add({
    method: 'GET',
    path: '/v2/dlq',
    scope: 'read',
    query: querySchema(NAMES),
    summary: 'List dead letters',
    answer: DeadLettersAnswer,
    handle: async ({ principal, query }) => {
      const values = requestValues(query, null, NAMES, context.isForQstashClients);
      const { messages, lastAttempts, next } = await search(context, principal, values, LISTED);
      const held = messages.reduce((sum, message) => sum + messageWeight(message), 0);
      const entries = () =>
        messages.values().map((message, index) => views.deadLetter(message, lastAttempts[index] ?? undefined));
      return new StreamedResponse(held, () => objectPieces([['messages', entries()]], next));
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/dlq/:dlqId',
    scope: 'read',
    params: DlqId,
    summary: 'Read a dead letter',
    answer: DeadLetterAnswer,
    handle: async ({ principal, params }) => {
      const stored = await store.getMessage(principal.account.id, messageIdOf(params.dlqId));
      if (!stored || !isShown(context, stored.message)) throw unknownDeadLetter(params.dlqId);
      return views.deadLetter(stored.message, stored.attempts.at(-1));
    },
  });
}

function deleteRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'DELETE',
    path: '/v2/dlq/:dlqId',
    audit: 'message',
    scope: 'manage',
    params: DlqId,
    summary: 'Delete a dead letter',
    answer: DeletedAnswer,
    handle: async ({ principal, params }) => {
      const messageId = messageIdOf(params.dlqId);
      const stored = await store.getMessage(principal.account.id, messageId, 'outline');
      const isThere = stored !== null && isShown(context, stored.message);
      const deleted = isThere ? await store.deleteDeadLetters(principal.account.id, [messageId]) : 0;
      if (deleted === 0) throw unknownDeadLetter(params.dlqId);
      return { deleted };
    },
  });

  api.add({
    method: 'DELETE',
    path: '/v2/dlq',
    scope: 'manage',
    query: querySchema(BULK_NAMES),
    body: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    summary: 'Delete dead letters by id or by filter',
    answer: DeletedAnswer,
    isRead: true,
    handle: async ({ principal, query, body }) => {
      const values = bulk(context, query, body);
      return deleteMatching(context, principal.account.id, deadLetterFilter(values), values);
    },
  });
}

function retryRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'POST',
    path: '/v2/dlq/retry/:dlqId',
    audit: 'message',
    scope: 'manage',
    params: DlqId,
    body: Type.Optional(Overrides),
    makesMessages: true,
    summary: 'Send a dead letter again, as a new message',
    answer: MessageIdAnswer,
    statuses: [201],
    handle: async ({ principal, params, body, reply }) => {
      const stored = await store.getMessage(principal.account.id, messageIdOf(params.dlqId));
      if (!stored || !isShown(context, stored.message)) throw unknownDeadLetter(params.dlqId);
      const { message } = stored;
      refuseRetried(message);
      const fresh = await again(context, principal, reply, message, overridesOf(context, reply, body), 1);
      const [isRetried] = await retryAll(context, principal, reply, [{ messageId: message.id, message: fresh }]);
      if (!isRetried) throw await whyNotRetried(context, principal, params.dlqId, fresh);
      reply.status(201);
      return { messageId: fresh.id };
    },
  });

  api.add({
    method: 'POST',
    path: '/v2/dlq/retry',
    scope: 'manage',
    query: querySchema(BULK_NAMES),
    body: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    makesMessages: true,
    summary: 'Send dead letters again, by id or by filter',
    answer: RetriedAnswer,
    statuses: [200, 201],
    isRead: true,
    handle: async ({ principal, query, body, reply }) => {
      const { messages, next } = await search(context, principal, bulk(context, query, body), RETRIED);
      const overrides = overridesOf(context, reply);
      const retries: { messageId: string; message: NewMessage }[] = [];
      for (const message of messages) {
        retries.push({
          messageId: message.id,
          message: await again(context, principal, reply, message, overrides, messages.length),
        });
      }
      const isRetried = retries.length > 0 ? await retryAll(context, principal, reply, retries) : [];
      const responses = retries
        .filter((_, index) => isRetried[index])
        .map(({ message }) => ({ messageId: message.id }));
      if (responses.length > 0) reply.status(201);
      return { responses, ...next };
    },
  });
}

async function retryAll(
  { store, tiers, world, room }: Context,
  principal: Principal,
  reply: FastifyReply,
  retries: Parameters<MessageStore['retryDeadLetters']>[0],
) {
  await requireRoom(
    room,
    principal.account,
    retries.map(({ message }) => message),
  );
  const tier = tiers[principal.account.tier];
  const now = world.clock.now();
  const isRetried = await store.retryDeadLetters(retries, now, tier.messagesPerDayMax);
  requireQuota(isRetried === 'overQuota', tier, now, (name, value) => reply.header(name, value));
  return isRetried === 'overQuota' ? [] : isRetried;
}

/** Finds one page of dead letters by filter, or all dead letters with the given ids. */
async function search(
  { store }: Context,
  principal: Principal,
  values: ReturnType<typeof requestValues>,
  how: Pick<PageRequest, 'withBodies' | 'withLastAttempts' | 'bytesMax'>,
) {
  const filter = deadLetterFilter(values);
  const cursors = messageCursors('dlq', values);
  const page = pageOf(values, how.withBodies);
  const asked = { ...page, ...how, cursor: cursors.from };
  const { messages, lastAttempts, cursor } = await store.searchMessages(principal.account.id, filter, asked);
  return { messages, lastAttempts, next: cursors.next(cursor) };
}

/** Deletes one page of dead letters. If the messages are large, this takes several transactions. */
async function deleteMatching(
  { store }: Context,
  accountId: string,
  filter: MessageFilter,
  values: ReturnType<typeof requestValues>,
) {
  const cursors = messageCursors('dlq', values);
  const page = pageOf(values, SEARCH_FOR_CHANGE.withBodies);
  let deleted = 0;
  let cursor = cursors.from;
  for (let left = page.limit; left > 0; ) {
    const found = await store.searchMessages(accountId, filter, { ...page, ...SEARCH_FOR_CHANGE, limit: left, cursor });
    const ids = found.messages.map(({ id }) => id);
    if (ids.length > 0) deleted += await store.deleteDeadLetters(accountId, ids);
    left -= ids.length;
    cursor = found.cursor;
    if (cursor === null || ids.length === 0) break;
  }
  return { deleted, ...cursors.next(cursor) };
}

function deadLetterFilter(values: ReturnType<typeof requestValues>): MessageFilter {
  return { isRetried: false, ...parseMessageFilter(values), states: ['FAILED'] };
}

function pageOf(values: ReturnType<typeof requestValues>, withBodies: boolean) {
  return parsePage(values, 'dlqIds' in values ? COUNT_MAX : 100, COUNT_MAX, withBodies);
}

function bulk(context: Context, query: unknown, body: unknown): ReturnType<typeof requestValues> {
  const { all, ...values } = requestValues(query, body, BULK_NAMES, context.isForQstashClients);
  if (isEmptyFilter(parseMessageFilter(values)) && !selectsAll(all)) {
    refuseEmptyFilters(query, body);
    if (!context.isForQstashClients) {
      throw new ApiError('bad_filter', 'no filter was given; to select all dead letters, use all=true');
    }
  }
  return values;
}

/** Whether a dead letter is shown. The public clients expect that it disappears once it was retried. */
function isShown(context: Context, { state, retriedAs }: Message): boolean {
  return state === 'failed' && (retriedAs === undefined || !context.isForQstashClients);
}

function refuseRetried({ retriedAs }: Message): void {
  if (retriedAs === undefined) return;
  throw new ApiError(
    'already_retried',
    `this dead letter was already sent again, as ${retriedAs}; retry that message if it failed`,
  );
}

/** What this retry changes, from its JSON body or from settings in its headers. Null when it changes nothing. */
function overridesOf({ rules }: Context, reply: FastifyReply, body?: Static<typeof Overrides>): Overriding | null {
  const prefix = rules.headerPrefix.toLowerCase();
  const sent = rawHeaders(reply.request.raw).filter(
    ([name]) => isSetting(name.toLowerCase(), prefix, KNOWN_SETTINGS) || foreignSetting(name, prefix) !== null,
  );
  if (!body && sent.length === 0) return null;
  const { url, body: text, bodyBase64, headers = {} } = body ?? {};
  const isBodyGiven = text !== undefined || bodyBase64 !== undefined;
  return {
    ...(url !== undefined && { url }),
    ...(isBodyGiven && { body: parseBody(text, bodyBase64) }),
    headers: withDefaults(Object.entries(headers), sent),
  };
}

async function again(
  context: Context,
  principal: Principal,
  reply: FastifyReply,
  dead: Message,
  overrides: Overriding | null,
  /**
   * `count` is the number of messages that the request retries. If one of our deliveries made the request, these
   * messages share the descendants that it may still have.
   */
  count: number,
): Promise<NewMessage> {
  const { newId, rules, world } = context;
  const { hops, left } = descentOf(reply.request.raw, rules);
  const share = divideDescendants(left, count);
  if (typeof share !== 'number') throw new ApiError(share.problem.code, share.problem.message);
  const same = retriedMessage(dead, world.clock.now(), newId, hops);
  const fresh = overrides ? await changed(context, principal, reply, dead, same, overrides) : same;
  return { ...fresh, descendantsLeft: Math.min(fresh.descendantsLeft, share) };
}

/** Makes the changed message like any publish, so that the same rules validate the changes. */
async function changed(
  context: Context,
  principal: Principal,
  reply: FastifyReply,
  dead: Message,
  same: NewMessage,
  overrides: Overriding,
): Promise<NewMessage> {
  const { publications, rules } = context;
  const { headers } = overrides;
  const settings = parsePublishSettings(headers, rules);
  if ('problem' in settings) throw new ApiError(settings.problem.code, settings.problem.message);
  const misplaced =
    scheduleOnlyProblem(settings, rules) ??
    noDebounceProblem(settings, 'not for a retry, which is sent at once', rules.headerPrefix);
  if (misplaced) throw new ApiError(misplaced.problem.code, misplaced.problem.message);
  reportUnknownSettings(settings.unknownNames, context, reply);
  const plan = await publications.plan(
    {
      destination: overrides.url ?? dead.url,
      queueName: dead.queueName,
      headers,
      body: overrides.body ?? dead.body,
      callerIp: dead.callerIp,
      scheduleId: dead.scheduleId,
      descent: NO_DESCENT,
    },
    principal.account,
  );
  if ('problem' in plan) throw new ApiError(plan.problem.code, plan.problem.message);
  const planned = plan.messages[0]!;
  if (planned.topicName !== null)
    throw new ApiError('bad_body', 'url: must be a URL, not a topic: a retry has a single destination');
  const changed = retryWithChanges(same, planned, settings);
  const wrong = deliveredHeadersProblem(null, changed.headers, headerLimits(rules));
  if (wrong !== null) throw new ApiError('bad_forward_header', wrong);
  return changed;
}

async function whyNotRetried(
  context: Context,
  principal: Principal,
  dlqId: string,
  fresh: NewMessage,
): Promise<ApiError> {
  const left = await context.store.getMessage(principal.account.id, messageIdOf(dlqId), 'outline');
  // If two retries run at the same time, the second one finds the result of the first.
  if (left && isShown(context, left.message)) refuseRetried(left.message);
  if (left?.message.state === 'failed' && fresh.deduplication) {
    return new ApiError('conflict', 'a message with this deduplication id already exists; the dead letter is kept');
  }
  return unknownDeadLetter(dlqId);
}

function unknownDeadLetter(id: string): ApiError {
  return new ApiError('dead_letter_not_found', `there is no dead letter "${deadLetterId(id)}"`);
}
