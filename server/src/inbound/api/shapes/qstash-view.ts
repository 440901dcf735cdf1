// Shows messages, dead letters and log entries as the public QStash clients expect them, where that differs from our
// own views. Also chooses between the two views.

import { headerMap } from '../../../rules/delivery/callback.ts';
import type { EventState, MessageEvent } from '../../../rules/delivery/event.ts';
import type { Attempt, Message } from '../../../rules/delivery/message.ts';
import { deadLetterView, eventView, messageView, shownCallbackHeader, shownFlow } from './message-view.ts';

interface Views {
  readonly message: (message: Message) => object;
  readonly deadLetter: (message: Message, last: Attempt | undefined) => object;
  readonly event: (event: MessageEvent) => object;
}

const OWN: Views = { message: messageView, deadLetter: deadLetterView, event: eventView };

const QSTASH: Views = {
  message: (message) => ({ ...messageView(message), ...shownFlow(message.flow, true) }),
  // The clients take a dead letter without a status for an invalid one.
  deadLetter: (message, last) => ({
    responseStatus: 0,
    ...deadLetterView(message, last),
    ...shownFlow(message.flow, true),
  }),
  event: qstashEventView,
};

export function viewsFor(isForQstashClients: boolean): Views {
  return isForQstashClients ? QSTASH : OWN;
}

/** The states that the clients spell differently or do not know. The Python clients fail on an unknown state. */
export const QSTASH_STATES: ReadonlyMap<EventState, string> = new Map([
  ['CANCELLED', 'CANCELED'],
  ['HELD', 'ERROR'],
  ['RELEASED', 'RETRY'],
  ['UPDATED', 'CREATED'],
  ['AWAITING_ACK', 'ACTIVE'],
  ['PROGRESS', 'ACTIVE'],
  ['PARKED', 'ERROR'],
  ['RESUMED', 'RETRY'],
]);

function qstashEventView(event: MessageEvent) {
  const { message, attempt, state } = event;
  const view = eventView(event);
  const callbackHeaders = shownCallbackHeader('callback', message);
  const failureCallbackHeaders = shownCallbackHeader('failureCallback', message);
  return {
    ...view,
    state: QSTASH_STATES.get(state) ?? state,
    timeout: message.timeoutMs,
    ...(message.callback && { callback: message.callback.url }),
    ...(callbackHeaders && { callbackHeaders }),
    ...(message.failureCallback && { failureCallback: message.failureCallback.url }),
    ...(failureCallbackHeaders && { failureCallbackHeaders }),
    ...shownFlow(message.flow, true),
    ...(message.retryDelay !== null && { retryDelayExpr: message.retryDelay }),
    ...('responseHeaders' in view && attempt && { responseHeader: headerMap(attempt.responseHeaders) }),
  };
}
