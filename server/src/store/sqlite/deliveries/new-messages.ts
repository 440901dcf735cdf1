// The rows of new messages and of their labels. Gives each message its number, which is the order of acceptance.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import { bytesBesideBody } from '../../../rules/limits/stored-bytes.ts';
import type { RowState } from '../../rows/message-columns.ts';
import type { Stored } from '../messages/stored.ts';
import type { Database } from '../thread/database.ts';
import { insertMessage } from '../thread/message-code.ts';

const EMPTY = new Uint8Array(0);

export class NewMessages {
  readonly #database: Database;
  readonly #stored: Stored;

  constructor(database: Database, stored: Stored) {
    this.#database = database;
    this.#stored = stored;
  }

  /** Returns the number of the message. `bodyId`: the shared body, if it has one. */
  add(
    message: NewMessage,
    state: RowState,
    claim: { lease: string; node: string; at: number } | null,
    bodyId: number | null = null,
  ): number {
    const body = bodyId === null ? message.body : EMPTY;
    const storedBytes = bytesBesideBody(message) + body.length;
    this.#stored.add(message.accountId, storedBytes);
    const start = { state, firstDueAt: message.dueAt, claim, body, bodyId, storedBytes };
    const seq = insertMessage(this.#database, message, start);
    for (const label of message.labels) {
      this.#database.run(
        'INSERT INTO message_labels (account_id, label, message_seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        message.accountId,
        label,
        seq,
      );
    }
    return seq;
  }
}
