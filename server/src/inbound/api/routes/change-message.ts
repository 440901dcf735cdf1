// Changes a message that waits: its time, URL, body, headers and settings.

import type { FastifyReply } from 'fastify';
import {
  type ChangeOutcome,
  type ChangeRefusal,
  type MessageChange,
  type SendingField,
  sendingField,
  versionOf,
} from '../../../rules/delivery/change.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { bytesOfChange } from '../../../rules/limits/stored-bytes.ts';
import { type ReadChange, readChange } from '../../../rules/publish/change-request.ts';
import { entityTag, parseIfMatch } from '../../../rules/requests/if-match.ts';
import type { Principal } from '../../../store/ports/access-store.ts';
import type { MessageStore } from '../../../store/ports/message-store.ts';
import { parseBody, parseHeaders } from '../../publish/batch.ts';
import { descentOf } from '../../publish/descent-of.ts';
import { requireRoom } from '../../publish/quota.ts';
import { reportUnknownSettings } from '../../publish/setting-warnings.ts';
import type { Api, RouteContext } from '../api.ts';
import { ApiError } from '../errors.ts';
import { ChangedMessageAnswer } from '../shapes/answers.ts';
import { attemptView } from '../shapes/message-view.ts';
import { viewsFor } from '../shapes/qstash-view.ts';
import Type, { type Static } from '../shapes/schema.ts';

const HeaderValue = Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]);
const Changes = Type.Object(
  {
    delay: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'When the next attempt may start, from now on: such as `90s`, or seconds.',
      }),
    ),
    notBefore: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'When the next attempt may start, in seconds since 1970. In place of `delay`.',
      }),
    ),
    url: Type.Optional(Type.String()),
    body: Type.Optional(Type.String()),
    bodyBase64: Type.Optional(Type.String({ description: 'In place of `body`, if the bytes are not text.' })),
    headers: Type.Optional(
      Type.Record(Type.String(), HeaderValue, {
        description: 'Settings and headers to forward, as in an element of a batch.',
      }),
    ),
  },
  { additionalProperties: false },
);
const NAMES = Object.keys(Changes.properties);

type Context = RouteContext<MessageStore>;

export function changeRoutes(api: Api, context: Context): void {
  const { store, world, room } = context;
  const views = viewsFor(context.isForQstashClients);

  api.add({
    method: 'PATCH',
    path: '/v2/messages/:messageId',
    audit: 'message',
    scope: 'publish',
    params: Type.Object({ messageId: Type.String() }),
    body: Changes,
    carriesMessage: true,
    versions: 'ETagAndIfMatch',
    summary: 'Change a message that waits. With If-Match, only if it has that version',
    answer: ChangedMessageAnswer,
    handle: async ({ principal, params: { messageId }, body, reply }) => {
      const { account, token } = principal;
      const { change, unknownNames } = changeOf(context, principal, body, reply);
      const mayRead = token.scopes.includes('read');
      if (!mayRead) refuseSending(change, context.rules.headerPrefix);
      reportUnknownSettings(unknownNames, context, reply);
      await requireRoom(room, account, bytesOfChange(change));
      const outcome = await store.changeMessage(account.id, messageId, change, world.clock.now());
      const version = versionAfter(outcome, messageId, context.rules.headerPrefix);
      reply.header('ETag', entityTag(version));
      // A token that may only publish must not learn here what no other call shows it.
      const stored = mayRead ? await store.getMessage(account.id, messageId) : null;
      // Meanwhile it may have been deleted, or changed by somebody else, which is no answer to this caller.
      if (!stored || versionOf(stored.message) !== version) return { messageId, version };
      return { ...views.message(stored.message), attempts: stored.attempts.map(attemptView) };
    },
  });
}

/** Whoever decides where a message is sent can read it there, whatever their token may read here. */
function refuseSending(change: MessageChange, headerPrefix: string): void {
  const field = sendingField(change);
  if (field === null) return;
  const name = nameOf(field, headerPrefix);
  throw new ApiError(
    'forbidden',
    `${name}: to change it, a token needs the scope "read" too, because it gets the message`,
  );
}

function nameOf(field: SendingField, headerPrefix: string): string {
  if (field === 'url') return 'url';
  return headerPrefix + (field === 'callback' ? 'Callback' : 'Failure-Callback');
}

function changeOf(
  { tiers, world, rules }: Context,
  { account }: Principal,
  given: Static<typeof Changes>,
  reply: FastifyReply,
): ReadChange {
  if (Object.keys(given).length === 0) {
    throw new ApiError('bad_body', `nothing to change; give one or more of ${NAMES.join(', ')}`);
  }
  const versions = parseIfMatch(reply.request.headers['if-match']);
  if (versions && 'problem' in versions) throw new ApiError('bad_header', `If-Match: ${versions.problem}`);
  const { delay = null, notBefore = null, url = null, body, bodyBase64, headers } = given;
  const read = readChange(
    {
      delay,
      notBefore,
      url,
      body: body === undefined && bodyBase64 === undefined ? null : parseBody(body, bodyBase64),
      headers: parseHeaders(headers),
    },
    { versions, descent: descentOf(reply.request.raw, rules) },
    tiers[account.tier],
    { now: world.clock.now(), wallNow: world.clock.wallNow() },
    rules,
  );
  if ('problem' in read) throw new ApiError(read.problem.code, read.problem.message);
  return read;
}

/** The version that is as it was asked for. Throws if the message was not changed to it. */
function versionAfter(result: ChangeOutcome, messageId: string, headerPrefix: string): string {
  switch (result.outcome) {
    case 'changed':
    case 'unchanged':
      return result.version;
    case 'unknown':
      throw new ApiError('message_not_found', `message "${messageId}" is unknown or has ended`);
    case 'active':
      throw new ApiError(
        'message_active',
        `an attempt of message "${messageId}" is under way; try again when it has ended`,
      );
    case 'cancelRequested':
      throw new ApiError(
        'message_active',
        `message "${messageId}" is being cancelled: it ends with the attempt under way`,
      );
    case 'otherVersion':
      throw new ApiError(
        'version_changed',
        `If-Match: message "${messageId}" now has the version ${result.version}; read it again`,
      );
    case 'refused':
      throw refusalError(result.refusal, messageId, headerPrefix);
  }
}

function refusalError(refusal: ChangeRefusal, messageId: string, headerPrefix: string): ApiError {
  switch (refusal.why) {
    case 'heldTime':
      return new ApiError('message_held', `message "${messageId}" is held, so it has no time; release it first`);
    case 'retriesUsed': {
      const least = `must be at least ${refusal.retried}: the message was already retried that often`;
      return new ApiError('bad_header', `${headerPrefix}Retries: ${least}`);
    }
    case 'ownCallback':
      return new ApiError('bad_header', `${headerPrefix}Callback: a callback or an alert has no callback of its own`);
    case 'inQueue':
      return new ApiError(
        'bad_header',
        `${headerPrefix}Priority: not allowed in a queue, whose messages start in order; POST /v2/queues sets the priority of the whole queue`,
      );
    case 'expires':
      return new ApiError(
        'bad_header',
        `${headerPrefix}Expires: the message would expire before it is due; change both`,
      );
    case 'redacted': {
      const parts = refusal.parts.map((part) => (part === 'body' ? 'body' : `headers (${headerPrefix}Forward-…)`));
      const why = `message "${messageId}" has parts that are redacted, and would be sent there with them`;
      const text = `${nameOf(refusal.field, headerPrefix)}: ${why}; give new ${parts.join(' and ')} in the same change`;
      return new ApiError('message_redacted', text);
    }
    case 'tooOften': {
      const text = `message "${messageId}" was changed ${eachMax('messageChanges')} times, which is the limit`;
      return new ApiError('limit_exceeded', `${text}; cancel it and publish a new one`);
    }
    case 'headers':
      return new ApiError('bad_forward_header', refusal.text);
  }
}
