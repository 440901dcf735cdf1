// Writes the rows of new messages and of their labels. Gives each message a number, in the order of acceptance.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import { bytesBesideBody } from '../../../rules/limits/stored-bytes.ts';
import type { RowState } from '../../rows/message-columns.ts';
import type { StoredByteCounts } from '../messages/stored.ts';
import type { Database } from '../thread/database.ts';
import { addRow, INSERTED_COLUMNS } from '../thread/message-code.ts';
import type { RowGroup } from './row-group.ts';

/** A message with a larger body is inserted alone: the statement of a group would keep several bodies in memory. */
const GROUPED_BODY_BYTES_MAX = 16 * 1024;

const EMPTY = new Uint8Array(0);

export class NewMessages {
  readonly #database: Database;
  readonly #rows: RowGroup;
  readonly #stored: StoredByteCounts;
  /** The last number that was given in this transaction; null before the first. */
  #last: number | null = null;

  constructor(database: Database, stored: StoredByteCounts) {
    this.#database = database;
    this.#stored = stored;
    this.#rows = database.group('messages', INSERTED_COLUMNS);
    const forget = () => {
      this.#last = null;
    };
    database.onTransaction({ beforeCommit: forget, onRollback: forget });
  }

  /** Returns the number of the message. `bodyId`: its row in `bodies`. Null: the body is stored with the message. */
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
    if (message.labels.length > 0) addLabels(this.#database, message.accountId, seq, message.labels);
    return seq;
  }

  #highest(): number {
    return this.#database.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM messages')!.seq ?? 0;
  }
}

export function addLabels(database: Database, accountId: string, seq: number, labels: readonly string[]): void {
  for (const label of labels) {
    database.run(
      'INSERT INTO message_labels (account_id, label, message_seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      accountId,
      label,
      seq,
    );
  }
}

export function deleteLabels(database: Database, accountId: string, seq: number, labels: readonly string[]): void {
  for (const label of labels) {
    database.run(
      'DELETE FROM message_labels WHERE account_id = ? AND label = ? AND message_seq = ?',
      accountId,
      label,
      seq,
    );
  }
}
