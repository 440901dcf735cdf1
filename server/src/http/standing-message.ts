// Finds the existing message when a duplicate of it was not accepted.

import type { MessageStore } from '../store/message-store.ts';

/**
 * The URL of the existing message: a duplicate by id may have asked for another URL. Null when the message is past its
 * retention.
 */
export async function standingUrl(
  store: Pick<MessageStore, 'searchMessages'>,
  accountId: string,
  messageId: string,
): Promise<string | null> {
  const page = { limit: 1, cursor: null, order: 'newestFirst', withBodies: false } as const;
  const { messages } = await store.searchMessages(accountId, { messageIds: [messageId] }, page);
  return messages[0]?.url ?? null;
}
