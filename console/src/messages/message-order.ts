// The order of the list, newest first, and which changes of a message a row shows.

import type { Message } from 'postrider-sdk';

/** Inserts rows into a list, newest first. They belong near its top, so only a small part of the list is searched. */
export function mergeRows(rows: readonly Message[], added: readonly Message[]): Message[] {
  const fresh = [...added].sort((a, b) => (isNewer(a, b) ? -1 : 1));
  const top: Message[] = [];
  let at = 0;
  for (const each of fresh) {
    while (at < rows.length && isNewer(rows[at]!, each)) {
      top.push(rows[at]!);
      at += 1;
    }
    top.push(each);
  }
  return [...top, ...rows.slice(at)];
}

export function isNewer(a: Message, b: Message): boolean {
  return a.createdAt === b.createdAt ? a.messageId > b.messageId : a.createdAt > b.createdAt;
}

export function isSameMessage(a: Message, b: Message): boolean {
  return (
    a.state === b.state &&
    a.retried === b.retried &&
    a.responseStatus === b.responseStatus &&
    a.retriedAs === b.retriedAs &&
    a.nextDeliveryTime === b.nextDeliveryTime
  );
}
