// Flow control over the API: the limits and state of each key, and changing its limits by hand.

import { bytesOfLine } from '../../../rules/limits/stored-bytes.ts';
import {
  FLOW_KEY_RULE,
  FLOW_PERIOD_MS_DEFAULT,
  FLOW_PERIOD_MS_MAX,
  FLOW_PERIOD_MS_MIN,
  isFlowKey,
} from '../../../rules/lines/flow-control.ts';
import type { FlowKey } from '../../../rules/lines/flow-key.ts';
import { parseDurationMs } from '../../../rules/time/duration.ts';
import type { LineStore } from '../../../store/ports/line-store.ts';
import { requireRoom } from '../../publish/quota.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { parseWholeNumber } from '../lists/filters.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { FlowKeyAnswer, ParallelismAnswer } from '../shapes/answers.ts';
import Type from '../shapes/schema.ts';

const Key = Type.Object({ key: Type.String() });
const Texts = (...names: string[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())])), {
    additionalProperties: false,
  });

type Context = RouteContext<LineStore>;

export function flowControlRoutes(api: Api, context: Context): void {
  readRoutes(api, context);
  pauseRoutes(api, context);
  limitRoutes(api, context);
  parallelismRoutes(api, context);
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/flowControl',
    scope: 'read',
    summary: 'List flow-control keys',
    answer: Type.Array(FlowKeyAnswer),
    query: PageQuery,
    handle: async ({ principal, query, reply }) =>
      arrayPage(
        {
          name: 'flowControl',
          read: (part) => store.listFlowKeys(principal.account.id, part),
          keyOf: ({ key }) => key,
          show: (keys) => keys.map(shown),
        },
        query,
        reply,
      ),
  });

  api.add({
    method: 'GET',
    path: '/v2/flowControl/:key',
    scope: 'read',
    params: Key,
    summary: 'Read a flow-control key',
    answer: FlowKeyAnswer,
    handle: async ({ principal, params }) =>
      known(params.key, await store.getFlowKey(principal.account.id, params.key)),
  });
}

function pauseRoutes(api: Api, context: Context): void {
  const { store, world } = context;

  for (const [action, isPaused] of [
    ['pause', true],
    ['resume', false],
  ] as const) {
    api.add({
      method: 'POST',
      path: `/v2/flowControl/:key/${action}`,
      storesNothing: true,
      scope: 'manage',
      params: Key,
      summary: isPaused ? 'Pause a flow-control key: no more messages start' : 'Resume a flow-control key',
      answer: FlowKeyAnswer,
      handle: async ({ principal, params }) =>
        known(params.key, await store.pauseFlowKey(principal.account.id, params.key, isPaused, world.clock.now())),
    });
  }
}

function limitRoutes(api: Api, context: Context): void {
  const { store, world } = context;

  api.add({
    method: 'POST',
    path: '/v2/flowControl/:key/pin',
    scope: 'manage',
    params: Key,
    query: Texts('parallelism', 'rate', 'period'),
    summary: 'Pin the limits of a key: limits in messages no longer change them',
    answer: FlowKeyAnswer,
    handle: async ({ principal, params, query }) => {
      if (!isFlowKey(params.key)) throw new ApiError('bad_parameter', `key: must be ${FLOW_KEY_RULE}`);
      if (query.period && !query.rate) throw new ApiError('bad_parameter', 'period: needs a rate');
      if (query.parallelism === undefined && query.rate === undefined) {
        throw new ApiError('bad_parameter', 'give at least one limit to pin: parallelism or rate');
      }
      const pin = pinOf(query);
      const { account } = principal;
      if (!(await store.getFlowKey(account.id, params.key))) {
        await requireRoom(context.room, account, bytesOfLine(params.key));
      }
      return shown(await store.pinFlowKey(account.id, params.key, pin, world.clock.now()));
    },
  });

  api.add({
    method: 'POST',
    path: '/v2/flowControl/:key/unpin',
    storesNothing: true,
    scope: 'manage',
    params: Key,
    query: Texts('parallelism', 'rate'),
    summary: 'Unpin the limits of a key: messages set them again',
    answer: FlowKeyAnswer,
    handle: async ({ principal, params, query }) => {
      known(params.key, await store.getFlowKey(principal.account.id, params.key));
      const isBoth = query.parallelism === undefined && query.rate === undefined;
      const unpin = (flag: string | undefined) => (isBoth || flag === 'true' ? ('unpin' as const) : ('keep' as const));
      const pin = { parallelism: unpin(query.parallelism), rate: unpin(query.rate) };
      return shown(await store.pinFlowKey(principal.account.id, params.key, pin, world.clock.now()));
    },
  });

  api.add({
    method: 'POST',
    path: '/v2/flowControl/:key/resetRate',
    storesNothing: true,
    scope: 'manage',
    params: Key,
    summary: 'Start a new rate period of a key now',
    answer: FlowKeyAnswer,
    handle: async ({ principal, params }) =>
      known(params.key, await store.resetFlowRate(principal.account.id, params.key, world.clock.now())),
  });
}

function parallelismRoutes(api: Api, context: Context): void {
  const { concurrency } = context;

  api.add({
    method: 'GET',
    path: '/v2/globalParallelism',
    scope: 'read',
    summary: 'Attempts in flight on this node, and their limit',
    answer: ParallelismAnswer,
    isRead: false,
    handle: async () => ({ parallelismMax: concurrency.max, parallelismCount: await concurrency.inFlight() }),
  });
}

function known(key: string, flowKey: FlowKey | null) {
  if (!flowKey) throw new ApiError('flow_key_not_found', `there is no flow-control key "${key}"`);
  return shown(flowKey);
}

function pinOf(query: { readonly parallelism?: string; readonly rate?: string; readonly period?: string }) {
  const { parallelism, rate } = query;
  return {
    parallelism: parallelism === undefined ? ('keep' as const) : positive('parallelism', parallelism),
    rate: rate === undefined ? ('keep' as const) : { rate: positive('rate', rate), periodMs: period(query.period) },
  };
}

function positive(name: string, text: string): number {
  const value = parseWholeNumber(name, text);
  if (value < 1) throw new ApiError('bad_parameter', `${name}: must be at least 1`);
  return value;
}

function period(text: string | undefined): number {
  const ms = text === undefined || text === '' ? FLOW_PERIOD_MS_DEFAULT : parseDurationMs(text);
  if (ms === null || ms < FLOW_PERIOD_MS_MIN || ms > FLOW_PERIOD_MS_MAX) {
    throw new ApiError('bad_parameter', 'period: must be a duration from 1s to 7d');
  }
  return ms;
}

function shown(key: FlowKey) {
  return {
    flowControlKey: key.key,
    waitListSize: key.waiting,
    ...(key.isWaitingCut && { isWaitListSizeCut: true }),
    parallelismMax: key.limits.parallelism ?? 0,
    parallelismCount: key.active,
    rateMax: key.limits.rate ?? 0,
    rateCount: key.windowCount,
    ratePeriod: key.limits.periodMs / 1000,
    ratePeriodStart: Math.floor(key.windowStartAt / 1000),
    isPaused: key.isPaused,
    isPinnedParallelism: key.isParallelismPinned,
    isPinnedRate: key.isRatePinned,
  };
}
