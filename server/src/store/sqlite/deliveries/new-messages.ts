// The rows of new messages and of their labels. Gives each message its number; the numbers are the order of acceptance.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import { bytesBesideBody } from '../../../rules/limits/stored-bytes.ts';
import type { RowState } from '../../rows/message-columns.ts';
import type { Stored } from '../messages/stored.ts';
import type { Database } from '../thread/database.ts';
import { addRow, INSERTED_COLUMNS } from '../thread/message-code.ts';
import type { RowGroup } from './row-group.ts';

/** A message with a larger body is inserted alone: a prepared statement keeps a copy of its last values. */
const GROUPED_BODY_BYTES_MAX = 16 * 1024;

const EMPTY = new Uint8Array(0);

export class NewMessages {
  readonly #database: Database;
  readonly #rows: RowGroup;
  readonly #stored: Stored;
  /** The last number that was given in this transaction. */
  #last: number | null = null;

  constructor(database: Database, stored: Stored) {
    this.#database = database;
    this.#stored = stored;
    this.#rows = database.group('messages', INSERTED_COLUMNS);
    const forget = () => {
      this.#last = null;
    };
    database.onTransaction({ beforeCommit: forget, onRollback: forget });
  }

  /** Returns the number of the message. `bodyId` is the id of its shared body, or null. */
  add(
    message: NewMessage,
    state: RowState,
    claim: { lease: string; node: string; at: number } | null,
    bodyId: number | null = null,
  ): number {
    const seq = (this.#last ?? this.#highest()) + 1;
    this.#last = seq;
    const body = bodyId === null ? message.body : EMPTY;
    const isGrouped = body.length <= GROUPED_BODY_BYTES_MAX;
    if (!isGrouped) this.#rows.write();
    const storedBytes = bytesBesideBody(message) + body.length;
    this.#stored.add(message.accountId, storedBytes);
    addRow(this.#rows, message, { seq, state, firstDueAt: message.dueAt, claim, body, bodyId, storedBytes });
    if (!isGrouped) this.#rows.write();
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

  #highest(): number {
    return this.#database.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM messages')!.seq ?? 0;
  }
}
