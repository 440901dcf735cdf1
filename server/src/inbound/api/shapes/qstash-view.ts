// Shows messages, dead letters and log entries as the public QStash clients expect them, where that differs from our
// own views. Also chooses between the two views.

import { headerMap } from '../../../rules/delivery/callback.ts';
import type { MessageEvent } from '../../../rules/delivery/event.ts';
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
  // The clients take a dead letter without a status for a broken one.
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

function qstashEventView(event: MessageEvent) {
  const { message, attempt, state } = event;
  const view = eventView(event);
  const callbackHeaders = shownCallbackHeader('callback', message);
  const failureCallbackHeaders = shownCallbackHeader('failureCallback', message);
  return {
    ...view,
    // CANCELLED is the one state that the clients spell differently. The Python clients fail on an unknown state.
    state: state === 'CANCELLED' ? ('CANCELED' as const) : state,
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
