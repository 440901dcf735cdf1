// Existing schedules over the API: read, change, pause, resume, run now, delete.

import { headerMap } from '../../../rules/delivery/callback.ts';
import type { Message } from '../../../rules/delivery/message.ts';
import type { Tier } from '../../../rules/limits/tier.ts';
import { parseDestination } from '../../../rules/publish/destination.ts';
import { deliveredHeaders } from '../../../rules/publish/headers.ts';
import { parsePublishSettings } from '../../../rules/publish/publish-settings.ts';
import { shownState } from '../../../rules/reads/message-filter.ts';
import { type Schedule, settingsByName } from '../../../rules/schedules/schedule.ts';
import { skippedText } from '../../../rules/schedules/tick.ts';
import { nextTicks, parseTickTimes, zoneOf } from '../../../rules/schedules/tick-times.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { DeliveryStore } from '../../../store/ports/delivery-store.ts';
import type { MessagePage, MessageStore, PageRequest } from '../../../store/ports/message-store.ts';
import type { ListedSchedule, ResourceStore } from '../../../store/ports/resource-store.ts';
import { parseBody } from '../../publish/batch.ts';
import { descentOf } from '../../publish/descent-of.ts';
import { existingMessageUrl } from '../../publish/existing-message.ts';
import { requireQuota, requireRoom } from '../../publish/quota.ts';
import { type ScheduleChange, ScheduleMaker } from '../../publish/schedule-maker.ts';
import { reportUnknownSettings } from '../../publish/setting-warnings.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { CronAnswer, NothingAnswer, RunAnswer, ScheduleAnswer } from '../shapes/answers.ts';
import { shownBody, shownCaller, shownContent, shownFlow, shownJitter } from '../shapes/message-view.ts';
import Type, { type Static } from '../shapes/schema.ts';

const ScheduleId = Type.Object({ scheduleId: Type.String() });
const ChangeBody = Type.Object(
  {
    cron: Type.Optional(Type.String()),
    destination: Type.Optional(Type.String()),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body: Type.Optional(Type.String()),
    /** Replaces `body` when the bytes are not text. */
    bodyBase64: Type.Optional(Type.String()),
  },
  { additionalProperties: false, minProperties: 1 },
);
/** How many times a change is tried. It is repeated when another request has changed the schedule in the meantime. */
const CHANGE_TRIES_MAX = 20;
const TICKS_SHOWN = 5;
const RUNS_SHOWN = 10;
/** In how many pieces of a list its runs are looked for: callbacks and retries carry the id of the schedule too. */
const RUN_PIECES_MAX = 4;
/** How many states of messages are read in one call of the store. */
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
      return whole(context, await find(context, principal, params.scheduleId), principal);
    },
  });
}

function changeRoutes(api: Api, context: Context): void {
  const { store } = context;
  const maker = new ScheduleMaker({ ...context, headerPrefix: context.rules.headerPrefix });

  api.add({
    method: 'PATCH',
    path: '/v2/schedules/:scheduleId',
    scope: 'manage',
    params: ScheduleId,
    body: ChangeBody,
    carriesMessage: true,
    summary: 'Change parts of a schedule, which keeps its history',
    answer: ScheduleAnswer,
    handle: async ({ principal, params, body, reply }) => {
      const change = changeOf(body, context.rules.headerPrefix);
      const descent = descentOf(reply.request.raw, context.rules);
      for (let tries = 0; tries < CHANGE_TRIES_MAX; tries += 1) {
        const before = await find(context, principal, params.scheduleId);
        const made = await maker.change(before, change, descent, principal.account);
        if (made === null) continue;
        reportUnknownSettings(made.unknownNames, context, reply);
        return whole(context, await find(context, principal, params.scheduleId), principal);
      }
      throw new ApiError('conflict', `schedule "${params.scheduleId}" is being changed by others; try again`);
    },
  });

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
      handle: async ({ principal, params }) => pause(context, principal, params.scheduleId, true),
    });
    api.add({
      method,
      path: '/v2/schedules/:scheduleId/resume',
      storesNothing: true,
      scope: 'manage',
      params: ScheduleId,
      summary: 'Resume a schedule; runs missed during the pause are not repeated',
      answer: NothingAnswer,
      handle: async ({ principal, params }) => pause(context, principal, params.scheduleId, false),
    });
  }
}

async function pause({ store, world }: Context, { account }: Principal, id: string, isPaused: boolean) {
  if (await store.pauseSchedule(account.id, id, isPaused, world.clock.wallNow())) return {};
  throw unknownSchedule(id);
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
          const first = await existingMessageUrl(store, principal.account.id, standing);
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
      const times = parseTickTimes(query.cron);
      if ('problem' in times) throw new ApiError('bad_cron', `cron: ${times.problem}`);
      const now = world.clock.wallNow();
      return { cron: query.cron, timeZone: zoneOf(times), times: nextTicks(times, now, now, TICKS_SHOWN) };
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

/** A schedule as it is shown alone: also with its next times and its last runs. */
async function whole(context: Context, schedule: Schedule, principal: Principal) {
  const states = await lastStates(context, principal.account.id, [schedule]);
  const shownInList = view(context, schedule, principal.account.tier, states);
  // The public clients do not know these fields.
  if (context.isForQstashClients) return shownInList;
  const open = schedule.lastMessageIds.filter((id) => states.get(id) === 'IN_PROGRESS');
  const text = skippedText(schedule, open);
  return {
    ...shownInList,
    nextScheduleTimes: shownTicks(schedule),
    lastRuns: await lastRuns(context, schedule),
    ...(text !== null && { skippedText: text }),
  };
}

function shownTicks({ cron, createdAt, nextAt }: Schedule): number[] {
  const times = parseTickTimes(cron);
  if (nextAt === null || 'problem' in times) return [];
  return [nextAt, ...nextTicks(times, createdAt, nextAt, TICKS_SHOWN - 1)];
}

/** The newest messages of the schedule, with their ends. */
async function lastRuns({ store }: Context, { accountId, id }: Schedule) {
  const filter = { scheduleIds: [id], kinds: ['schedule'] } as const;
  const runs: Message[] = [];
  let cursor: number | null = null;
  for (let pieces = 0; pieces < RUN_PIECES_MAX && runs.length < RUNS_SHOWN; pieces += 1) {
    const page: PageRequest = { limit: RUNS_SHOWN - runs.length, cursor, order: 'newestFirst', withBodies: false };
    const piece: MessagePage = await store.searchMessages(accountId, filter, page);
    runs.push(...piece.messages);
    cursor = piece.cursor;
    if (cursor === null) break;
  }
  return runs.map((message) => ({
    messageId: message.id,
    url: message.url,
    createdAt: message.createdAt,
    notBefore: message.firstDueAt,
    state: shownState(message),
    ...(message.endedAt !== null && { endedAt: message.endedAt }),
    ...(message.lastStatus !== null && { responseStatus: message.lastStatus }),
    ...(message.failure !== null && { failure: message.failure }),
  }));
}

function changeOf(change: Static<typeof ChangeBody>, headerPrefix: string): ScheduleChange {
  const { cron, destination, headers = {}, body, bodyBase64 } = change;
  const isBodyGiven = body !== undefined || bodyBase64 !== undefined;
  const cronName = `${headerPrefix}Cron`;
  const given = Object.entries(headers);
  if (cron !== undefined && given.some(([name]) => name.toLowerCase() === cronName.toLowerCase())) {
    throw new ApiError('bad_body', `give cron or the header ${cronName}, not both`);
  }
  return {
    ...(destination !== undefined && { destination }),
    headers: cron === undefined ? given : [...given, [cronName, cron]],
    ...(isBodyGiven && { body: parseBody(body, bodyBase64) }),
  };
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
    ...(!context.isForQstashClients && {
      settings: settingsByName(schedule.headers, context.rules.headerPrefix),
      ...(schedule.overlap !== 'allow' && { overlap: schedule.overlap }),
      ...(schedule.jitterMs !== 0 && { jitter: schedule.jitterMs / 1000 }),
      ...(schedule.skippedAt !== null && { skippedCount: schedule.skippedCount, lastSkippedTime: schedule.skippedAt }),
    }),
    retries: retries ?? tiers[tier].retriesDefault,
    ...(delayMs !== null && { delay: delayMs / 1000 }),
    ...(retryDelay !== null && { retryDelayExpression: retryDelay }),
    ...shownJitter(settings.settings),
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
