// One event of a message as one line.

import type { MessageEvent } from 'postrider-sdk';
import type { Output } from '../../frame/output.ts';
import { printable } from '../../frame/printable.ts';
import { exactTimeText, spanText } from '../../frame/time-text.ts';

const STATE_WIDTH = 'CANCEL_REQUESTED'.length;

/** `isAlone` means that all events are about one message, so the line does not name the message. */
export function eventText(event: MessageEvent, out: Output, isAlone = false): string {
  const { state } = event;
  const details = [...stepDetails(event), ...(isAlone ? [] : lineDetails(event))];
  return [
    out.paint('dim', exactTimeText(event.time)),
    `${out.state(state)}${' '.repeat(Math.max(0, STATE_WIDTH - state.length))}`,
    ...(isAlone ? [] : [printable(event.messageId)]),
    ...(details.length > 0 ? [printable(details.join(', '))] : []),
    ...(isAlone ? [] : [printable(event.url)]),
  ]
    .join('  ')
    .trimEnd();
}

function stepDetails(event: MessageEvent): string[] {
  const { state, time, attempt, changed, responseStatus, error, nextDeliveryTime } = event;
  const isStatusSaid = error?.includes(String(responseStatus)) ?? false;
  const waitMs = (nextDeliveryTime ?? time) - time;
  return [
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
    ...(changed === undefined ? [] : [`changed: ${changed.join(' ')}`]),
    ...(responseStatus === undefined || isStatusSaid ? [] : [`status ${responseStatus}`]),
    ...(error === undefined ? [] : [error]),
    // A message that is due at once has nothing to wait for.
    ...(waitMs > 0 && (state === 'CREATED' || state === 'RETRY') ? [`next in ${spanText(waitMs)}`] : []),
  ];
}

function lineDetails({ queueName, topicName }: MessageEvent): string[] {
  return [
    ...(queueName === undefined ? [] : [`queue ${queueName}`]),
    ...(topicName === undefined ? [] : [`topic ${topicName}`]),
  ];
}
