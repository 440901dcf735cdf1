// Acks of attempts that were answered with 202. An attempt ends by an ack as by a response: with `settle`.

import type { OpenAttempt, ProgressWord, StoredAck } from '../../rules/acks/ack.ts';
import type { MessageDetail, StoredMessage } from './message-store.ts';

export interface MessageKey {
  readonly accountId: string;
  readonly messageId: string;
}

export interface DueAcks {
  readonly due: readonly MessageKey[];
  /** The earliest deadline of any ack, also of those in `due`. Null: no attempt awaits one. */
  readonly nextAt: number | null;
  /** The account after which the turns continue. Null: these are all that are due. */
  readonly lastInTurn: string | null;
}

export interface AckStore {
  /** The key with this name that all nodes of the store use. The first call of all makes it: from `made`. */
  serviceKey(name: string, made: string): Promise<string>;

  /** The attempt under way. Null: the message awaits no acks, or no attempt of it is under way. */
  openAttempt(accountId: string, messageId: string): Promise<OpenAttempt | null>;

  /**
   * Notes what the receiver of an attempt has reported before its ack, also before its response. `latestAt`: until when
   * an extension before the response may go. Null: the attempt has ended, is cancelled, or its deadline has passed.
   */
  noteProgress(
    key: MessageKey,
    attempt: number,
    word: ProgressWord,
    latestAt: number,
    now: number,
  ): Promise<StoredAck | null>;

  /**
   * Up to `limit` messages whose acks are due by now, the earliest deadline first. If more are due, a few of each of the
   * accounts after `after` come before them, so that no account waits until those of another have ended.
   */
  dueAcks(now: number, limit: number, after?: string): Promise<DueAcks>;

  /** As `openAttempt`, for work of the node, which waits for no turn of the account. */
  dueAttempt(accountId: string, messageId: string): Promise<OpenAttempt | null>;

  /** As `getMessage`, for work of the node, which waits for no turn of the account. */
  readMessage(accountId: string, messageId: string, detail?: MessageDetail): Promise<StoredMessage | null>;
}
