// Finds the existing message when a publish was a duplicate and was not accepted.

import type { MessageStore } from '../../store/ports/message-store.ts';

/**
 * The URL of the existing message, because a duplicate by id may have named another URL. Null when the message was
 * deleted after its retention.
 */
export async function standingUrl(
  store: Pick<MessageStore, 'getMessage'>,
  accountId: string,
  messageId: string,
): Promise<string | null> {
  return (await store.getMessage(accountId, messageId, 'outline'))?.message.url ?? null;
}
