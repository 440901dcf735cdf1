// One event of a message as one line.

import type { MessageEvent } from 'postrider-sdk';
import type { Output } from '../frame/output.ts';
import { printable } from '../frame/printable.ts';
import { exactTimeText, spanText } from '../frame/time-text.ts';

const STATE_WIDTH = 'CANCEL_REQUESTED'.length;

export function eventText(event: MessageEvent, out: Output): string {
  const { state } = event;
  const details = [
    event.attempt === undefined ? '' : `attempt ${event.attempt}`,
    event.responseStatus === undefined ? '' : `status ${event.responseStatus}`,
    event.error ?? '',
    event.nextDeliveryTime === undefined ? '' : `next in ${spanText(event.nextDeliveryTime - event.time)}`,
    event.queueName === undefined ? '' : `queue ${event.queueName}`,
    event.topicName === undefined ? '' : `topic ${event.topicName}`,
  ].filter((detail) => detail !== '');
  return [
    out.paint('dim', exactTimeText(event.time)),
    `${out.state(state)}${' '.repeat(Math.max(0, STATE_WIDTH - state.length))}`,
    printable(event.messageId),
    printable(event.url),
    ...(details.length > 0 ? [printable(`(${details.join(', ')})`)] : []),
  ].join('  ');
}
