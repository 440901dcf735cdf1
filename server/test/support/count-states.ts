// How many messages a store has in each state, read through the verbs that people use.

import type { MessageState } from '../../src/rules/delivery/message.ts';
import type { MessageStore } from '../../src/store/ports/message-store.ts';
import { ACCOUNT, OTHER_ACCOUNT } from '../conformance/given.ts';

export type StateCounts = Record<MessageState, number>;

export async function countStates(
  store: Pick<MessageStore, 'searchMessages'>,
  accounts: readonly string[] = [ACCOUNT, OTHER_ACCOUNT],
): Promise<StateCounts> {
  const counts: StateCounts = { pending: 0, claimed: 0, held: 0, delivered: 0, failed: 0, cancelled: 0 };
  for (const account of accounts) {
    let cursor: number | null = null;
    do {
      const page = { limit: 1000, cursor, order: 'newestFirst', withBodies: false } as const;
      const found = await store.searchMessages(account, {}, page);
      for (const { state } of found.messages) counts[state] += 1;
      cursor = found.cursor;
    } while (cursor !== null);
  }
  return counts;
}
