// Reading a message back: readable at once after it was accepted, and until its retention is over.

import Type from 'typebox';
import { base64, headerMap } from '../../domain/callback.ts';
import type { Attempt, CallbackTarget, Message } from '../../domain/message.ts';
import type { StoredMessage } from '../../store/store.ts';
import type { Api, ApiContext } from '../api.ts';
import { ApiError } from '../errors.ts';

export function messageRoutes(api: Api, { store }: ApiContext): void {
  api.add({
    method: 'GET',
    path: '/v2/messages/:messageId',
    scope: 'read',
    params: Type.Object({ messageId: Type.String() }),
    handle: async ({ principal, params }) => {
      const stored = await store.getMessage(principal.account.id, params.messageId);
      if (!stored) throw new ApiError('message_not_found', `there is no message "${params.messageId}"`);
      return shown(stored);
    },
  });
}

function shown({ message, attempts }: StoredMessage) {
  return {
    messageId: message.id,
    url: message.url,
    ...(message.topicName !== null && { topicName: message.topicName }),
    ...(message.endpointName !== null && { endpointName: message.endpointName }),
    ...(message.queueName !== null && { queueName: message.queueName }),
    method: message.method,
    header: headerMap(message.headers),
    ...shownBody('body', message.body),
    maxRetries: message.retriesMax,
    ...(message.retryDelay !== null && { retryDelayExpression: message.retryDelay }),
    timeoutMs: message.timeoutMs,
    notBefore: message.firstDueAt,
    createdAt: message.createdAt,
    state: stateOf(message, attempts),
    retried: message.retried,
    ...(message.endedAt === null && { nextDeliveryTime: message.dueAt }),
    ...(message.endedAt !== null && { endedAt: message.endedAt }),
    ...(message.failure !== null && { failure: message.failure }),
    ...shownCallback('callback', message.callback),
    ...shownCallback('failureCallback', message.failureCallback),
    ...(message.sourceMessageId !== null && { sourceMessageId: message.sourceMessageId }),
    ...(message.callerIp !== null && { callerIP: message.callerIp }),
    attempts: attempts.map(shownAttempt),
  };
}

/** The names of the API's states; the store tells fewer apart. */
function stateOf(message: Message, attempts: readonly Attempt[]): string {
  switch (message.state) {
    case 'pending':
      return attempts.length === 0 ? 'CREATED' : 'RETRY';
    case 'claimed':
      return 'ACTIVE';
    case 'delivered':
      return 'DELIVERED';
    case 'failed':
      return 'FAILED';
    case 'cancelled':
      return 'CANCELLED';
  }
}

function shownAttempt(attempt: Attempt) {
  return {
    number: attempt.number,
    startedAt: attempt.startedAt,
    endedAt: attempt.endedAt,
    outcome: attempt.outcome,
    ...(attempt.status !== null && { responseStatus: attempt.status }),
    ...(attempt.error !== null && { error: attempt.error }),
    ...(attempt.status !== null && {
      responseHeader: headerMap(attempt.responseHeaders),
      ...shownBody('responseBody', attempt.responseBody),
      isResponseBodyCut: attempt.isResponseBodyCut,
    }),
  };
}

function shownCallback(name: 'callback' | 'failureCallback', target: CallbackTarget | null) {
  if (!target) return {};
  return { [name]: target.url, ...(target.headers.length > 0 && { [`${name}Header`]: headerMap(target.headers) }) };
}

/** Text where it is text; base64 under another name where it is not. */
function shownBody(name: string, body: Uint8Array): Record<string, string> {
  if (body.length === 0) return {};
  try {
    return { [name]: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body) };
  } catch {
    return { [`${name}Base64`]: base64(body) };
  }
}
