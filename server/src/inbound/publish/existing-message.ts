// Finds the existing message when a publish was a duplicate and was not accepted.

import type { MessageStore } from '../../store/ports/message-store.ts';

/**
 * The URL of the existing message. It can differ from the URL of the duplicate, which may only have the same
 * deduplication id. Null when the message was deleted after its retention.
 */
export async function existingMessageUrl(
  store: Pick<MessageStore, 'getMessage'>,
  accountId: string,
  messageId: string,
): Promise<string | null> {
  return (await store.getMessage(accountId, messageId, 'outline'))?.message.url ?? null;
}
