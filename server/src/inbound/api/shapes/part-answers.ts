// The schemas of parts of a message that several responses show: its callbacks (their destinations, and how they are
// delivered) and its expiry.

import Type from './schema.ts';

export const Headers = Type.Record(Type.String(), Type.Array(Type.String()));

const CallbackSettings = Type.Object(
  {
    method: Type.String(),
    maxRetries: Type.Integer(),
    retryDelayExpression: Type.Optional(Type.String()),
    retryJitter: Type.Optional(Type.String()),
    delayMs: Type.Integer(),
    timeoutMs: Type.Integer(),
  },
  { additionalProperties: false, description: 'How the callback is delivered, with its defaults filled in.' },
);

export const callbackFields = {
  callback: Type.Optional(Type.String()),
  callbackHeader: Type.Optional(Headers),
  callbackSettings: Type.Optional(CallbackSettings),
  failureCallback: Type.Optional(Type.String()),
  failureCallbackHeader: Type.Optional(Headers),
  failureCallbackSettings: Type.Optional(CallbackSettings),
};

/** What messages do while their host is down. */
export const Outage = Type.Union([Type.Literal('retry'), Type.Literal('park')]);

const AT = 'Milliseconds since 1970. From then on no attempt of the message starts.';
const CODE = 'Why the message failed, for programs. Absent if the result of the last attempt is the reason.';

export const expiresAt = Type.Optional(Type.Integer({ description: AT }));
export const failureCode = Type.Optional(Type.String({ enum: ['expired', 'no_ack'], description: CODE }));
