// The schemas of the callbacks in a message: their destinations, and how they are delivered.

import Type from './schema.ts';

export const Headers = Type.Record(Type.String(), Type.Array(Type.String()));

const CallbackSettings = Type.Object(
  {
    method: Type.String(),
    maxRetries: Type.Integer(),
    retryDelayExpression: Type.Optional(Type.String()),
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
