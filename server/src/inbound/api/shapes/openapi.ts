// The OpenAPI document, made from the routes and the schemas that validate them. Only the publishing calls are written
// out here, because no router knows them.

import { SETTING_TABLE, type Setting } from '../../../rules/publish/setting-table.ts';
import { PROBLEMS } from '../../../rules/requests/problem.ts';
import { pathTemplate, type RouteEntry } from '../api.ts';
import { BatchAnswer, ErrorAnswer, PublishAnswer, ScheduleIdAnswer } from './answers.ts';
import { parameterMeaning } from './parameter-meanings.ts';
import Type, { type TSchema } from './schema.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Record<string, unknown>;
}

export function openApiDocument(routes: readonly RouteEntry[], version: string, headerPrefix: string) {
  const paths: Record<string, Record<string, Operation>> = Object.create(null);
  const put = (path: string, method: string, operation: Operation) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  };
  for (const route of routes) put(pathTemplate(route.path), route.method, operationOf(route));
  for (const call of publishingCalls(headerPrefix)) put(call.path, 'POST', call.operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postrider',
      version,
      description: 'Accepts messages over HTTP and delivers each one later, as an HTTP request.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: TAGS.map((name) => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        basic: { type: 'http', scheme: 'basic', description: 'The token as user name or as password.' },
      },
      schemas: { Error: ErrorAnswer },
      responses: {
        Error: {
          description: 'What went wrong, as text and as a stable code.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  };
}

const TAGS = [
  'publish',
  'messages',
  'queues',
  'topics',
  'schedules',
  'dlq',
  'events',
  'flowControl',
  'hosts',
  'acks',
  'bulk',
  'account',
  'admin',
  'dev',
  'health',
];

const SECURITY = [{ bearer: [] }, { basic: [] }];

function errorStatuses(isOpen: boolean): readonly number[] {
  return isOpen ? [500, 503] : [400, 401, 403, 404, 408, 409, 412, 413, 415, 429, 500, 503];
}

/** The errors of a call whose path contains its authority. */
const BY_SECRET = [400, 404, 408, 410, 413, 415, 429, 500, 503];

function operationOf(route: RouteEntry): Operation {
  const { method, path, scope, ownToken, isBySecret } = route;
  const isOpen = scope === null && ownToken === undefined;
  return {
    operationId: operationId(method, path),
    summary: route.summary,
    ...(scope !== null && { description: `Needs a token with the scope \`${scope}\`.` }),
    ...(ownToken !== undefined && { description: `Needs ${ownToken}.` }),
    ...(isBySecret && { description: 'Needs no token: the secret in its path is the authority.' }),
    tags: [tagOf(path)],
    security: isOpen ? [] : SECURITY,
    parameters: [
      ...parametersOf(path, 'path', route.params),
      ...parametersOf(path, 'query', route.query),
      ...(route.versions === 'ETagAndIfMatch' ? [IF_MATCH] : []),
    ],
    ...(route.body && {
      requestBody: { required: !Type.IsOptional(route.body), content: { 'application/json': { schema: route.body } } },
    }),
    responses: {
      ...errorsOf(isBySecret ? BY_SECRET : errorStatuses(isOpen)),
      ...Object.fromEntries((route.statuses ?? [200]).map((status) => [status, answerOf(route)])),
    },
  };
}

function answerOf({
  answer,
  query,
  mediaType = 'application/json',
  versions,
}: Pick<RouteEntry, 'answer' | 'query' | 'mediaType' | 'versions'>) {
  return {
    description: 'Success.',
    ...(isListInPages(answer, query) && { headers: { Link: NEXT_PAGE } }),
    ...(versions !== undefined && { headers: { ETag: VERSION } }),
    content: { [mediaType]: { schema: answer ?? { type: 'string' } } },
  };
}

const NEXT_PAGE = {
  description: 'The next page, as in `<?cursor=…>; rel="next"`; absent on the last page.',
  schema: { type: 'string' },
};

const VERSION = { description: 'The version, in double quotes, for If-Match.', schema: { type: 'string' } };
const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'Only if it still has this version, in double quotes, or one of several. `*` means any version.',
  schema: { type: 'string' },
};

/** Whether the response is a page of a list as an array. An array has no field for a cursor, so a header carries it. */
function isListInPages(answer: TSchema | undefined, query: TSchema | undefined): boolean {
  const { properties = {} } = (query ?? {}) as { properties?: Record<string, TSchema> };
  return answer !== undefined && 'items' in answer && 'cursor' in properties;
}

function errorsOf(statuses: readonly number[]): Record<string, unknown> {
  const known = new Set<number>(Object.values(PROBLEMS).map(([status]) => status));
  return Object.fromEntries(
    statuses.filter((status) => known.has(status)).map((status) => [status, { $ref: '#/components/responses/Error' }]),
  );
}

function parametersOf(path: string, kind: 'path' | 'query', schema: TSchema | undefined): unknown[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, each]) => {
    const { description = parameterMeaning(path, kind, name) } = each as { description?: string };
    return {
      name,
      in: kind,
      required: kind === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      schema: each,
    };
  });
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((part) => part !== '' && part !== 'v2');
  return [method.toLowerCase(), ...words.map((word) => word.replace(/^:/, 'by-'))].join('-').replace(/[^\w-]/g, '-');
}

function tagOf(path: string): string {
  const first = path.split('/').filter((part) => part !== '' && part !== 'v2')[0] ?? '';
  if (first === 'logs') return 'events';
  if (first === 'globalParallelism') return 'flowControl';
  if (['keys', 'usage', 'account'].includes(first)) return 'account';
  if (['overview', 'activity'].includes(first)) return 'messages';
  if (first === 'cron') return 'schedules';
  return TAGS.includes(first) ? first : 'health';
}

/** The responses of a batch, in addition to those of every publishing call. */
const BATCH_ANSWERS = {
  200: { ...answerOf({ answer: BatchAnswer }), description: 'The batch was empty.' },
  400: {
    ...answerOf({ answer: Type.Union([ErrorAnswer, BatchAnswer]) }),
    description:
      'The body is not a batch: the response is one error. Or no element is valid: an array has the error of each element.',
  },
};

/** The headers of a publish, with a short description each. docs/api.md has more. */
function publishParameters(prefix: string): unknown[] {
  return SETTING_TABLE.filter(({ of, name }) => of !== 'schedule' && !name.endsWith('-')).map((setting) =>
    settingParameter(setting, prefix),
  );
}

function settingParameter({ name, help, example }: Setting, prefix: string): Record<string, unknown> {
  return {
    name: prefix + name,
    in: 'header',
    required: name === 'Cron',
    description: `${help}.`,
    example,
    schema: { type: 'string' },
  };
}

function publishingCalls(prefix: string): { path: string; operation: Operation }[] {
  const destination = {
    name: 'destination',
    in: 'path',
    required: true,
    description: 'A URL, not encoded, up to the end of the request target; or the name or id of a topic.',
    schema: { type: 'string' },
  };
  const description = parameterMeaning('/v2/enqueue', 'path', 'queue');
  const queue = { name: 'queue', in: 'path', required: true, description, schema: { type: 'string' } };
  const cron = SETTING_TABLE.filter(({ of }) => of === 'schedule').map((setting) => settingParameter(setting, prefix));
  const anyBody = { required: false, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  const operation = (
    id: string,
    summary: string,
    parameters: unknown[],
    requestBody: unknown,
    answer: TSchema,
  ): Operation => ({
    operationId: id,
    summary,
    description: `Needs a token with the scope \`${id === 'post-schedule' ? 'manage' : 'publish'}\`.`,
    tags: [id === 'post-schedule' ? 'schedules' : 'publish'],
    security: SECURITY,
    parameters,
    requestBody,
    responses: {
      ...errorsOf([400, 401, 403, 404, 408, 409, 412, 413, 415, 429, 500, 503]),
      201: answerOf({ answer }),
      ...(id === 'post-schedule' ? {} : { 202: { ...answerOf({ answer }), description: 'A duplicate message.' } }),
      ...(id === 'post-batch' ? BATCH_ANSWERS : {}),
    },
  });
  const headers = publishParameters(prefix);
  const batchElement = Type.Object({
    destination: Type.String(),
    queue: Type.Optional(Type.String()),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()])),
    ),
    body: Type.Optional(Type.String()),
    bodyBase64: Type.Optional(Type.String()),
  });
  return [
    {
      path: '/v2/publish/{destination}',
      operation: operation('post-publish', 'Deliver a message', [destination, ...headers], anyBody, PublishAnswer),
    },
    {
      path: '/v2/enqueue/{queue}/{destination}',
      operation: operation(
        'post-enqueue',
        'Deliver a message in the order of a queue',
        [queue, destination, ...headers],
        anyBody,
        PublishAnswer,
      ),
    },
    {
      path: '/v2/batch',
      operation: operation(
        'post-batch',
        'Deliver several messages',
        [],
        { required: true, content: { 'application/json': { schema: Type.Array(batchElement) } } },
        BatchAnswer,
      ),
    },
    {
      path: '/v2/schedules/{destination}',
      operation: operation(
        'post-schedule',
        'Deliver a message at each time of a cron expression',
        [destination, ...cron, ...headers],
        anyBody,
        ScheduleIdAnswer,
      ),
    },
  ];
}
