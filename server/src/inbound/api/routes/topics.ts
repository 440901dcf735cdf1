// Topics over the API: a name and its endpoints. Editing needs the scope `manage`.

import type { FastifyReply } from 'fastify';
import type { HeaderList } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfTopic } from '../../../rules/limits/stored-bytes.ts';
import type { Tier } from '../../../rules/limits/tier.ts';
import { parseTargetUrl } from '../../../rules/publish/destination.ts';
import { tooManyHeaders } from '../../../rules/publish/headers.ts';
import { defaultsProblem, noDebounceProblem } from '../../../rules/publish/publish.ts';
import { parsePublishSettings, scheduleOnlyProblem } from '../../../rules/publish/publish-settings.ts';
import { type Endpoint, type Topic, withEndpoints, withoutEndpoints } from '../../../rules/publish/topic.ts';
import { ENDPOINT_NAME_RULE, isEndpointName, isName, NAME_RULE } from '../../../rules/requests/name.ts';
import type { ResourceStore } from '../../../store/ports/resource-store.ts';
import { requireRoom } from '../../publish/quota.ts';
import { reportUnknownSettings } from '../../publish/setting-warnings.ts';
import type { Api, ApiContext, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { arrayPage, PageQuery } from '../lists/list-pages.ts';
import { NothingAnswer, TopicAnswer, TopicOrNothing } from '../shapes/answers.ts';
import Type, { type Static } from '../shapes/schema.ts';

const EndpointBody = Type.Object(
  { url: Type.String(), name: Type.Optional(Type.String()) },
  { additionalProperties: false },
);
const ChangeBody = Type.Object(
  {
    endpoints: Type.Optional(Type.Array(EndpointBody, { minItems: 1 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]))),
  },
  { additionalProperties: false, minProperties: 1 },
);
const SelectorBody = Type.Union([
  Type.Object({ name: Type.String(), url: Type.Optional(Type.String()) }, { additionalProperties: false }),
  Type.Object({ url: Type.String() }, { additionalProperties: false }),
]);
const EndpointsBody = Type.Object(
  { endpoints: Type.Array(EndpointBody, { minItems: 1 }) },
  { additionalProperties: false },
);
const SelectorsBody = Type.Object(
  { endpoints: Type.Array(SelectorBody, { minItems: 1 }) },
  { additionalProperties: false },
);
const Named = Type.Object({ name: Type.String() });

const NEW_TOPIC = { defaults: [], version: 0 };

/** How many times an edit is tried. It is repeated when another request has changed the topic in the meantime. */
const EDIT_TRIES_MAX = 20;

type Context = RouteContext<ResourceStore>;

export function topicRoutes(api: Api, context: Context): void {
  readRoutes(api, context);
  changeRoutes(api, context);
}

function readRoutes(api: Api, context: Context): void {
  const { store } = context;

  api.add({
    method: 'GET',
    path: '/v2/topics',
    summary: 'List topics',
    answer: Type.Array(TopicAnswer),
    scope: 'read',
    query: PageQuery,
    handle: async ({ principal, query, reply }) =>
      arrayPage(
        {
          name: 'topics',
          read: (part) => store.listTopics(principal.account.id, part),
          keyOf: ({ name }) => name,
          show: (topics) => topics.map(shown),
        },
        query,
        reply,
      ),
  });

  api.add({
    method: 'GET',
    path: '/v2/topics/:name',
    summary: 'Read a topic',
    answer: TopicAnswer,
    scope: 'read',
    params: Named,
    handle: async ({ principal, params }) => {
      const topic = await store.getTopic(principal.account.id, params.name);
      if (!topic) throw unknownTopic(params.name);
      return shown(topic);
    },
  });
}

function changeRoutes(api: Api, context: Context): void {
  api.add({
    method: 'POST',
    path: '/v2/topics/:name/endpoints',
    summary: 'Add endpoints to a topic; creates the topic if needed',
    answer: TopicAnswer,
    scope: 'manage',
    params: Named,
    body: EndpointsBody,
    handle: async ({ principal, params, body }) => {
      if (!isName(params.name)) throw new ApiError('bad_parameter', `topic name: ${NAME_RULE}`);
      refuseTooMany(context, body.endpoints.length, principal.account.tier);
      const added = parseEndpoints(body.endpoints, context);
      return edit(context, principal.account, params.name, (topic) => ({
        endpoints: withEndpoints(topic?.endpoints ?? [], added),
      }));
    },
  });

  api.add({
    method: 'DELETE',
    path: '/v2/topics/:name/endpoints',
    summary: 'Remove endpoints from a topic; a topic without endpoints is deleted',
    answer: TopicOrNothing,
    scope: 'manage',
    params: Named,
    body: SelectorsBody,
    handle: async ({ principal, params, body }) =>
      edit(context, principal.account, params.name, (topic) => {
        if (!topic) throw unknownTopic(params.name);
        return { endpoints: withoutEndpoints(topic.endpoints, body.endpoints) };
      }),
  });

  api.add({
    method: 'PATCH',
    path: '/v2/topics/:name',
    scope: 'manage',
    params: Named,
    body: ChangeBody,
    summary: 'Replace the endpoints or the default headers of a topic',
    answer: TopicAnswer,
    handle: async ({ principal, params, body, reply }) => {
      if (body.endpoints) refuseTooMany(context, body.endpoints.length, principal.account.tier);
      const endpoints = body.endpoints && parseEndpoints(body.endpoints, context);
      if (endpoints) refuseRepeats(endpoints);
      const defaults = body.headers && parseDefaults(body.headers, context, principal.account.tier, reply);
      return edit(context, principal.account, params.name, (topic) => {
        if (!topic) throw unknownTopic(params.name);
        return { endpoints: endpoints ?? topic.endpoints, defaults: defaults ?? topic.defaults };
      });
    },
  });

  api.add({
    method: 'DELETE',
    path: '/v2/topics/:name',
    summary: 'Delete a topic',
    answer: NothingAnswer,
    scope: 'manage',
    params: Named,
    // Idempotent: deleting a topic that does not exist succeeds.
    handle: async ({ principal, params }) => {
      await edit(context, principal.account, params.name, () => ({ endpoints: [] }));
      return {};
    },
  });
}

/** Checks the request before the merge with the existing endpoints, so that a refusal costs little. */
function refuseTooMany({ tiers }: Context, count: number, tier: Tier['name']): void {
  const max = tiers[tier].endpointsPerTopicMax ?? eachMax('plannedMessages');
  if (count > max) throw tooMany(max, tier);
}

async function edit(
  context: Context,
  account: { id: string; tier: Tier['name'] },
  nameOrId: string,
  decide: (topic: Topic | null) => { readonly endpoints: readonly Endpoint[]; readonly defaults?: HeaderList },
): Promise<ReturnType<typeof shown> | Record<string, never>> {
  const { store, world } = context;
  for (let tries = 0; tries < EDIT_TRIES_MAX; tries += 1) {
    const before = await store.getTopic(account.id, nameOrId);
    const change = decide(before);
    const isEmpty = change.endpoints.length === 0;
    if (!before && isEmpty) return {};
    requireFewEndpoints(context, account.tier, change.endpoints.length);
    const now = world.clock.now();
    const topic: Topic = {
      ...(before ?? {
        ...NEW_TOPIC,
        id: context.newId('tpc'),
        accountId: account.id,
        name: nameOrId,
        createdAt: now,
      }),
      ...change,
      updatedAt: now,
    };
    if (!isEmpty) await requireTopicRoom(context, account, topic, before);
    if ((await store.saveTopic(topic)) === 'saved') return isEmpty ? {} : shown(topic);
  }
  throw new ApiError('conflict', `topic "${nameOrId}" is being changed by other requests; try again`);
}

/** Checks the number of endpoints after the merge with the existing ones. */
function requireFewEndpoints({ tiers }: Context, tier: Tier['name'], count: number): void {
  const max = tiers[tier].endpointsPerTopicMax;
  if (max !== null && count > max) throw tooMany(max, tier);
}

async function requireTopicRoom(
  { store, tiers, room }: Context,
  account: { id: string; tier: Tier['name'] },
  topic: Topic,
  before: Topic | null,
): Promise<void> {
  const more = bytesOfTopic(topic) - (before ? bytesOfTopic(before) : 0);
  if (more > 0) await requireRoom(room, account, more);
  const max = tiers[account.tier].topicsMax;
  if (max === null || before) return;
  if ((await store.countTopics(account.id, max)) >= max) {
    throw new ApiError('limit_exceeded', `topics: at most ${max} on the ${account.tier} tier`);
  }
}

function tooMany(max: number, tier: Tier['name']): ApiError {
  return new ApiError('limit_exceeded', `endpoints: at most ${max} for a topic on the ${tier} tier`);
}

function parseEndpoints(
  given: Static<typeof EndpointsBody>['endpoints'],
  { isForQstashClients }: ApiContext,
): Endpoint[] {
  const [isGood, rule] = isForQstashClients ? [isEndpointName, ENDPOINT_NAME_RULE] : [isName, NAME_RULE];
  return given.map(({ url, name }, index) => {
    const target = parseTargetUrl(url);
    if ('problem' in target) throw new ApiError('bad_body', `endpoints[${index}].url: ${target.problem}`);
    if (name !== undefined && name !== '' && !isGood(name)) {
      throw new ApiError('bad_body', `endpoints[${index}].name: ${rule}`);
    }
    return { name: name || null, url };
  });
}

/** Parses default headers by the rules of a publish, so that no message to the topic can fail because of them. */
function parseDefaults(
  headers: Readonly<Record<string, string | string[]>>,
  context: Context,
  tier: Tier['name'],
  reply: FastifyReply,
): HeaderList {
  const { rules, tiers, world } = context;
  const given = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as const),
  );
  const defaults: HeaderList = given.filter(([, value]) => value !== '');
  const tooMany = tooManyHeaders(defaults, eachMax('topicHeaders'), eachMax('topicHeaderBytes'));
  if (tooMany !== null) throw new ApiError('bad_header', tooMany);
  const settings = parsePublishSettings(defaults, rules);
  if ('problem' in settings) throw new ApiError(settings.problem.code, `headers: ${settings.problem.message}`);
  const time = { now: world.clock.now(), wallNow: world.clock.wallNow() };
  const wrong =
    scheduleOnlyProblem(settings, rules) ??
    noDebounceProblem(settings, 'not in the headers of a topic; give it with each publish', rules.headerPrefix) ??
    defaultsProblem(settings, tiers[tier], time, rules.headerPrefix);
  if (wrong) throw new ApiError(wrong.problem.code, `headers: ${wrong.problem.message}`);
  reportUnknownSettings(settings.unknownNames, context, reply);
  return defaults;
}

function refuseRepeats(endpoints: readonly Endpoint[]): void {
  if (withEndpoints([], endpoints).length < endpoints.length) {
    throw new ApiError('bad_body', 'endpoints: two of them have the same name or, without a name, the same URL');
  }
}

function unknownTopic(nameOrId: string): ApiError {
  return new ApiError('topic_not_found', `topic ${nameOrId} not found`);
}

function shown(topic: Topic) {
  return {
    id: topic.id,
    name: topic.name,
    createdAt: topic.createdAt,
    updatedAt: topic.updatedAt,
    endpoints: topic.endpoints.map(({ name, url }) => ({ ...(name !== null && { name }), url })),
    ...(topic.defaults.length > 0 && { headers: shownDefaults(topic.defaults) }),
  };
}

/** The default headers as they were given: one value as text, several as a list. */
function shownDefaults(defaults: HeaderList): Record<string, string | string[]> {
  const byName = Map.groupBy(defaults, ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, list]) => [name, list.length === 1 ? list[0]![1] : list.map(([, value]) => value)]),
  );
}
