// Existing schedules over the API: read, pause, resume, run now, delete.

import { headerMap } from '../../../rules/delivery/callback.ts';
import type { Message } from '../../../rules/delivery/message.ts';
import type { Tier } from '../../../rules/limits/tier.ts';
import { parseDestination } from '../../../rules/publish/destination.ts';
import { deliveredHeaders } from '../../../rules/publish/headers.ts';
import { parsePublishSettings } from '../../../rules/publish/publish-settings.ts';
import { nextCronTime, parseCron } from '../../../rules/schedules/cron.ts';
import { givenSettings, type Schedule } from '../../../rules/schedules/schedule.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { DeliveryStore } from '../../../store/ports/delivery-store.ts';
import type { MessageStore } from '../../../store/ports/message-store.ts';
import type { ListedSchedule, ResourceStore } from '../../../store/ports/resource-store.ts';
import { descentOf } from '../../publish/descent-of.ts';
import { requireQuota, requireRoom } from '../../publish/quota.ts';
import { standingUrl } from '../../publish/standing-message.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { CronAnswer, NothingAnswer, RunAnswer, ScheduleAnswer } from '../shapes/answers.ts';
import { shownBody, shownCaller, shownContent, shownFlow } from '../shapes/message-view.ts';
import Type from '../shapes/schema.ts';

const ScheduleId = Type.Object({ scheduleId: Type.String() });
const TICKS_SHOWN = 5;
/** How many messages have their states read at once. */
const STATES_PIECE = 1000;

type Context = RouteContext<ResourceStore & Pick<DeliveryStore, 'accept'> & MessageStore>;

export function scheduleRoutes(api: Api, context: Context): void {
  readRoutes(api, context);
  changeRoutes(api, context);
  runRoutes(api, context);
  cronRoutes(api, context);
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/schedules',
    scope: 'read',
    summary: 'List schedules',
    query: PageQuery,
    answer: Type.Array(ScheduleAnswer),
    handle: async ({ principal, query, reply }) =>
      arrayPage(
        {
          name: 'schedules',
          read: (part) => store.listSchedules(principal.account.id, part),
          keyOf: ({ id }) => id,
          show: (schedules) => shown(context, schedules, principal),
        },
        query,
        reply,
      ),
  });

  api.add({
    method: 'GET',
    path: '/v2/schedules/:scheduleId',
    scope: 'read',
    params: ScheduleId,
    summary: 'Read a schedule',
    answer: ScheduleAnswer,
    handle: async ({ principal, params }) => {
      const [schedule] = await shown(context, [await find(context, principal, params.scheduleId)], principal);
      return schedule;
    },
  });
}

function changeRoutes(api: Api, context: Context): void {
  const { store, world } = context;

  api.add({
    method: 'DELETE',
    path: '/v2/schedules/:scheduleId',
    scope: 'manage',
    params: ScheduleId,
    summary: 'Delete a schedule; messages that it created are still delivered',
    answer: NothingAnswer,
    handle: async ({ principal, params }) => {
      if (await store.deleteSchedule(principal.account.id, params.scheduleId)) return {};
      throw unknownSchedule(params.scheduleId);
    },
  });

  for (const method of ['POST', 'PATCH'] as const) {
    api.add({
      method,
      path: '/v2/schedules/:scheduleId/pause',
      storesNothing: true,
      scope: 'manage',
      params: ScheduleId,
      summary: 'Pause a schedule',
      answer: NothingAnswer,
      handle: async ({ principal, params }) => {
        const schedule = await find(context, principal, params.scheduleId);
        await store.setScheduleNext(principal.account.id, schedule.id, null, true);
        return {};
      },
    });
    api.add({
      method,
      path: '/v2/schedules/:scheduleId/resume',
      storesNothing: true,
      scope: 'manage',
      params: ScheduleId,
      summary: 'Resume a schedule; runs missed during the pause are not repeated',
      answer: NothingAnswer,
      handle: async ({ principal, params }) => {
        const schedule = await find(context, principal, params.scheduleId);
        const cron = parseCron(schedule.cron);
        const nextAt = 'problem' in cron ? null : nextCronTime(cron, world.clock.wallNow());
        if (schedule.isPaused) await store.setScheduleNext(principal.account.id, schedule.id, nextAt, false);
        return {};
      },
    });
  }
}

function runRoutes(api: Api, context: Context): void {
  const { publications, store, tiers, world } = context;

  api.add({
    method: 'POST',
    path: '/v2/schedules/:scheduleId/run',
    scope: 'manage',
    params: ScheduleId,
    makesMessages: true,
    summary: 'Run a schedule now, in addition to its regular times',
    answer: RunAnswer,
    statuses: [201],
    handle: async ({ principal, params, reply }) => {
      const schedule = await find(context, principal, params.scheduleId);
      const plan = await publications.plan(
        { ...schedule, scheduleId: schedule.id, descent: descentOf(reply.request.raw, context.rules) },
        principal.account,
      );
      if ('problem' in plan) throw new ApiError(plan.problem.code, plan.problem.message);
      await requireRoom(context.room, principal.account, plan.messages);
      const now = world.clock.now();
      const tier = tiers[principal.account.tier];
      const { duplicates, isOverQuota } = await store.accept(plan.messages, now, tier.messagesPerDayMax);
      requireQuota(isOverQuota, tier, now, (name, value) => reply.header(name, value));
      reply.status(201);
      return Promise.all(
        plan.messages.map(async ({ id, url, topicName }, index) => {
          const standing = duplicates[index] ?? null;
          if (standing === null || topicName !== null) return { messageId: standing ?? id, url };
          const first = await standingUrl(store, principal.account.id, standing);
          return { messageId: standing, url: first ?? url };
        }),
      );
    },
  });
}

function cronRoutes(api: Api, context: Context): void {
  const { world } = context;

  api.add({
    method: 'GET',
    path: '/v2/cron',
    scope: 'read',
    query: Type.Object({ cron: Type.String() }, { additionalProperties: false }),
    summary: 'Read the next times of a cron expression',
    answer: CronAnswer,
    isRead: false,
    handle: async ({ query }) => {
      const cron = parseCron(query.cron);
      if ('problem' in cron) throw new ApiError('bad_cron', `cron: ${cron.problem}`);
      const times: number[] = [];
      let at: number | null = world.clock.wallNow();
      while (times.length < TICKS_SHOWN) {
        at = nextCronTime(cron, at);
        if (at === null) break;
        times.push(at);
      }
      return { cron: query.cron, timeZone: cron.timeZone, times };
    },
  });
}

async function find({ store }: Context, principal: Principal, id: string): Promise<Schedule> {
  const schedule = await store.getSchedule(principal.account.id, id);
  if (!schedule) throw unknownSchedule(id);
  return schedule;
}

async function shown(context: Context, schedules: readonly ListedSchedule[], { account }: Principal) {
  const states = await lastStates(context, account.id, schedules);
  return schedules.map((schedule) => view(context, schedule, account.tier, states));
}

function view(context: Context, schedule: ListedSchedule, tier: Tier['name'], states: LastStates) {
  const { tiers } = context;
  const settings = parsePublishSettings(schedule.headers, context.rules);
  if ('problem' in settings) throw new ApiError(settings.problem.code, settings.problem.message);
  const { contentType, flow, labels, callback, failureCallback, redaction } = settings;
  const { forward, method, retries, delayMs, retryDelay } = settings.settings;
  const headers = deliveredHeaders(contentType, forward);
  const { header, body } = shownContent({ redaction, headers, body: schedule.body });
  return {
    scheduleId: schedule.id,
    cron: schedule.cron,
    createdAt: schedule.createdAt,
    destination: shownDestination(schedule.destination),
    method: method ?? 'POST',
    header: headerMap(header),
    ...shownBody('body', body),
    ...(schedule.isBodyLeftOut && { isBodyLeftOut: true }),
    // The public clients do not know this field.
    ...(!context.isForQstashClients && { settings: givenSettings(schedule.headers, context.rules.headerPrefix) }),
    retries: retries ?? tiers[tier].retriesDefault,
    ...(delayMs !== null && { delay: delayMs / 1000 }),
    ...(retryDelay !== null && { retryDelayExpression: retryDelay }),
    ...(callback && { callback: callback.target.url }),
    ...(failureCallback && { failureCallback: failureCallback.target.url }),
    ...shownCaller(schedule.callerIp),
    isPaused: schedule.isPaused,
    ...(schedule.queueName !== null && { queueName: schedule.queueName }),
    ...(labels.length > 0 && { label: labels[0], labels }),
    ...shownFlow(flow, context.isForQstashClients),
    ...(schedule.nextAt !== null && { nextScheduleTime: schedule.nextAt }),
    ...(schedule.lastAt !== null && { lastScheduleTime: schedule.lastAt }),
    ...(schedule.lastMessageIds.length > 0 && { lastScheduleStates: ownStates(schedule, states) }),
  };
}

/** The states of the messages of the last ticks. A message that was deleted after its retention is left out. */
async function lastStates({ store }: Context, accountId: string, schedules: readonly Schedule[]): Promise<LastStates> {
  const ids = schedules.flatMap(({ lastMessageIds }) => lastMessageIds);
  const states = new Map<string, LastState>();
  for (let at = 0; at < ids.length; at += STATES_PIECE) {
    for (const { id, state } of await store.messageStates(accountId, ids.slice(at, at + STATES_PIECE))) {
      states.set(id, lastStateOf(state));
    }
  }
  return states;
}

type LastState = 'IN_PROGRESS' | 'SUCCESS' | 'FAIL';
type LastStates = ReadonlyMap<string, LastState>;

function lastStateOf(state: Message['state']): LastState {
  if (state === 'delivered') return 'SUCCESS';
  return state === 'failed' || state === 'cancelled' ? 'FAIL' : 'IN_PROGRESS';
}

function ownStates({ lastMessageIds }: Schedule, states: LastStates): Record<string, LastState> {
  const own: Record<string, LastState> = Object.create(null);
  for (const id of lastMessageIds) {
    const state = states.get(id);
    if (state !== undefined) own[id] = state;
  }
  return own;
}

/** The destination as the delivery uses it, even if the caller sent it encoded. */
function shownDestination(text: string): string {
  const destination = parseDestination(text);
  return 'kind' in destination && destination.kind === 'url' ? destination.target.url : text;
}

function unknownSchedule(id: string): ApiError {
  return new ApiError('schedule_not_found', `there is no schedule "${id}"`);
}
