// Holds messages in memory until a transaction accepts them. Each account has a share of this memory. A publish beyond
// the share or beyond the whole is refused, so memory is bounded and one account cannot fill it.

import type { NewMessage } from '../../rules/delivery/message.ts';
import { headerBytes } from '../../rules/publish/headers.ts';
import { Pool, type PoolRefusal } from '../../runtime/collections/pool.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import { StoreUnavailable } from '../ports/store.ts';
import { bodyBytes } from './shared-bodies.ts';

/** A message that waits to be written: a new one, or what is changed of one. */
type Waiting = Pick<NewMessage, 'accountId' | 'headers' | 'body'>;

export class Inbox {
  readonly messages: Pool;
  readonly bytes: Pool;

  constructor(messages = new Pool(laneMax('inboxMessages')), bytes = new Pool(laneMax('inboxBytes'))) {
    this.messages = messages;
    this.bytes = bytes;
  }

  /** Counts these messages until they are written, or throws if there is no room. All messages are of one account. */
  async hold<T>(messages: readonly Waiting[], write: () => Promise<T>): Promise<T> {
    const bytes = this.take(messages);
    try {
      return await write();
    } finally {
      this.give(messages, bytes);
    }
  }

  /** The first step of `hold`, for callers that avoid its extra promise. Pass the result to `give`. */
  take(messages: readonly Waiting[]): number {
    const accountId = messages[0]?.accountId;
    if (accountId === undefined) return 0;
    const bytes = waitingBytes(messages);
    const full = this.messages.take(accountId, messages.length);
    if (full) throw refusal(full);
    const noMemory = this.bytes.take(accountId, bytes);
    if (noMemory) {
      this.messages.give(accountId, messages.length);
      throw refusal(noMemory);
    }
    return bytes;
  }

  give(messages: readonly Waiting[], bytes: number): void {
    const accountId = messages[0]?.accountId;
    if (accountId === undefined) return;
    this.messages.give(accountId, messages.length);
    this.bytes.give(accountId, bytes);
  }
}

/** How many bytes these messages take while they wait. A shared body counts once; headers count for each message. */
export function waitingBytes(messages: readonly Pick<NewMessage, 'headers' | 'body'>[]): number {
  return messages.reduce((sum, { headers }) => sum + headerBytes(headers), bodyBytes(messages));
}

function refusal(why: PoolRefusal): StoreUnavailable {
  return why === 'account'
    ? new StoreUnavailable('share', 'Too many messages of the account wait to be written.')
    : new StoreUnavailable('overloaded', 'Too many messages wait to be written.');
}
