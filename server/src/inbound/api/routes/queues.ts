// Queues over the API: create (the first message to a queue does so too), pause, resume, set parallelism, delete.

import { PRIORITY_MAX } from '../../../rules/delivery/priority.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfLine } from '../../../rules/limits/stored-bytes.ts';
import { QUEUE_PARALLELISM_MAX, type Queue, type QueueChange } from '../../../rules/lines/queue.ts';
import { parseTimeout } from '../../../rules/publish/setting-values.ts';
import { OPEN_STATES } from '../../../rules/reads/message-filter.ts';
import { isName, NAME_RULE } from '../../../rules/requests/name.ts';
import { formatDurationMs } from '../../../rules/time/duration.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { LineStore } from '../../../store/ports/line-store.ts';
import type { MessageStore } from '../../../store/ports/message-store.ts';
import { requireRoom } from '../../publish/quota.ts';
import type { Api, RouteContext } from '../api.ts';
import { CancelCall, reportUnconfirmed, SEARCH_FOR_CHANGE } from '../cancelling.ts';
import { ApiError } from '../errors.ts';
import { LagCounter } from '../lists/lags.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { QueueAnswer, QueueDeletedAnswer } from '../shapes/answers.ts';
import { Outage } from '../shapes/part-answers.ts';
import Type from '../shapes/schema.ts';

const Named = Type.Object({ queueName: Type.String() });
const CANCEL_CHUNK = 500;
const DELETE_TRIES_MAX = 10;
/** The states in which a message can be cancelled. With CANCEL_REQUESTED it already was, and will leave the queue. */
const CANCELLABLE = OPEN_STATES.filter((state) => state !== 'CANCEL_REQUESTED');

type Context = RouteContext<LineStore & MessageStore>;

export function queueRoutes(api: Api, context: Context): void {
  saveRoutes(api, context);
  readRoutes(api, context);
  deleteRoutes(api, context);
  pauseRoutes(api, context);
}

function saveRoutes(api: Api, context: Context): void {
  api.add({
    method: 'POST',
    path: '/v2/queues',
    scope: 'manage',
    body: Type.Object(
      {
        queueName: Type.String(),
        parallelism: Type.Optional(Type.Integer({ minimum: 1, maximum: QUEUE_PARALLELISM_MAX })),
        paused: Type.Optional(Type.Boolean()),
        expires: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        priority: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: PRIORITY_MAX }), Type.Null()])),
        outage: Type.Optional(Type.Union([Outage, Type.Null()])),
      },
      { additionalProperties: false },
    ),
    summary: 'Create or change a queue',
    answer: QueueAnswer,
    handle: async ({ principal, body, about }) => {
      if (!isName(body.queueName)) throw new ApiError('bad_queue_name', `queueName: ${NAME_RULE}`);
      about(body.queueName);
      const expiresMs = expiryOf(body.expires);
      await requireQueueRoom(context, principal, body.queueName);
      return save(context, principal, body.queueName, {
        ...(body.parallelism !== undefined && { parallelism: body.parallelism }),
        ...(body.paused !== undefined && { isPaused: body.paused }),
        ...(expiresMs !== undefined && { expiresMs }),
        ...(body.priority !== undefined && { priority: body.priority }),
        ...(body.outage !== undefined && { outage: body.outage }),
      });
    },
  });
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/queues',
    scope: 'read',
    summary: 'List queues',
    query: PageQuery,
    answer: Type.Array(QueueAnswer),
    handle: async ({ principal, query, reply }) => {
      const lags = new LagCounter(store);
      return arrayPage(
        {
          name: 'queues',
          read: (part) => store.listQueues(principal.account.id, part),
          keyOf: ({ name }) => name,
          show: async (queues) => (await lags.counted(queues)).map(shown),
        },
        query,
        reply,
      );
    },
  });

  api.add({
    method: 'GET',
    path: '/v2/queues/:queueName',
    scope: 'read',
    params: Named,
    summary: 'Read a queue',
    answer: QueueAnswer,
    handle: async ({ principal, params }) => {
      const queue = await store.getQueue(principal.account.id, params.queueName);
      if (!queue) throw unknownQueue(params.queueName);
      return shownCounted(context, queue);
    },
  });
}

function deleteRoutes(api: Api, context: Context): void {
  const { isForQstashClients, store, room, world } = context;

  api.add({
    method: 'DELETE',
    path: '/v2/queues/:queueName',
    scope: 'manage',
    params: Named,
    query: Type.Object({ force: Type.Optional(Type.String()) }, { additionalProperties: false }),
    summary: 'Delete a queue; with force=true, cancel its messages first',
    statuses: [200, 202],
    answer: QueueDeletedAnswer,
    isRead: true,
    handle: async ({ principal, params, query, reply }) => {
      const isForced = query.force === undefined ? isForQstashClients : query.force === 'true';
      const call = new CancelCall({ store, clock: world.clock, room }, principal.account);
      const open = isForced
        ? await cancelAndDelete(context, call, principal, params.queueName)
        : await store.deleteQueue(principal.account.id, params.queueName);
      if (open === null) throw unknownQueue(params.queueName);
      if (open > 0) {
        throw new ApiError(
          'queue_not_empty',
          `queue "${params.queueName}" has ${atLeast(open)} open messages; cancel them, or use force=true`,
        );
      }
      const { requested } = await call.confirm();
      return isForQstashClients ? {} : reportUnconfirmed(requested, reply);
    },
  });
}

/** Returns how many open messages still keep the queue from being deleted. Null if there is no such queue. */
async function cancelAndDelete(
  context: Context,
  call: CancelCall,
  principal: Principal,
  name: string,
): Promise<number | null> {
  let open: number | null = null;
  // Other callers may enqueue between the cancellation and the deletion.
  for (let tries = 0; tries < DELETE_TRIES_MAX; tries += 1) {
    await cancelAll(context, call, principal, name);
    open = await context.store.deleteQueue(principal.account.id, name);
    if (open === null || open === 0) break;
  }
  return open;
}

function pauseRoutes(api: Api, context: Context): void {
  const { store } = context;

  for (const [action, isPaused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    api.add({
      method: 'POST',
      path: `/v2/queues/:queueName/${action}`,
      storesNothing: true,
      scope: 'manage',
      params: Named,
      summary: isPaused ? 'Pause a queue: no more messages start' : 'Resume a queue',
      answer: QueueAnswer,
      handle: async ({ principal, params }) => {
        if (!(await store.getQueue(principal.account.id, params.queueName))) throw unknownQueue(params.queueName);
        return save(context, principal, params.queueName, { isPaused });
      },
    });
  }
}

async function save(context: Context, principal: Principal, name: string, change: QueueChange) {
  const { store, world } = context;
  return shownCounted(context, await store.saveQueue(principal.account.id, name, change, world.clock.now()));
}

async function shownCounted({ store }: Context, queue: Queue) {
  const [counted] = await new LagCounter(store).counted([queue]);
  return shown(counted!);
}

async function requireQueueRoom(context: Context, { account }: Principal, name: string): Promise<void> {
  const { store, tiers, room } = context;
  if (await store.getQueue(account.id, name)) return;
  await requireRoom(room, account, bytesOfLine(name));
  const max = tiers[account.tier].queuesMax;
  if (max !== null && (await store.countQueues(account.id, max)) >= max) {
    throw new ApiError('limit_exceeded', `queues: at most ${max} on the ${account.tier} tier`);
  }
}

async function cancelAll({ store }: Context, call: CancelCall, { account }: Principal, name: string): Promise<void> {
  const filter = { queueNames: [name], states: CANCELLABLE } as const;
  for (let cursor: number | null = null; ; ) {
    const page = { limit: CANCEL_CHUNK, cursor, order: 'newestFirst', ...SEARCH_FOR_CHANGE } as const;
    const found = await store.searchMessages(account.id, filter, page);
    if (found.messages.length > 0) await call.cancel(found.messages.map(({ id }) => id));
    cursor = found.cursor;
    if (cursor === null) return;
  }
}

function unknownQueue(name: string): ApiError {
  return new ApiError('queue_not_found', `there is no queue "${name}"`);
}

function atLeast(open: number): string {
  return open < eachMax('lineCount') ? String(open) : `at least ${open}`;
}

/** The default expiry that the body gives; null removes it. */
function expiryOf(given: string | null | undefined): number | null | undefined {
  if (given === undefined || given === null) return given;
  const parsed = parseTimeout(given);
  if ('problem' in parsed) throw new ApiError('bad_body', `expires: ${parsed.problem}`);
  return parsed.value;
}

function shown(queue: Queue) {
  return {
    name: queue.name,
    createdAt: queue.createdAt,
    updatedAt: queue.updatedAt,
    parallelism: queue.parallelism,
    paused: queue.isPaused,
    ...(queue.expiresMs !== null && { expires: formatDurationMs(queue.expiresMs) }),
    ...(queue.priority !== null && { priority: queue.priority }),
    ...(queue.outage !== null && { outage: queue.outage }),
    lag: queue.lag,
    ...(queue.isLagCut && { isLagCut: true }),
  };
}
