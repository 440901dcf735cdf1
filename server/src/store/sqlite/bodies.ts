// Bodies that several messages share: stored once, read once, and deleted with the last message that has it.

import type { MessageRow } from '../message-row.ts';
import type { Database } from './database.ts';

/** How long the body of a row of `messages` is, without reading it. */
export const BODY_BYTES = 'iif(body_id IS NULL, length(body), (SELECT length(bytes) FROM bodies WHERE id = body_id))';

export function insertBody(database: Database, accountId: string, body: Uint8Array): number {
  return database.insert('INSERT INTO bodies (account_id, bytes) VALUES (?, ?)', accountId, body);
}

/** To be called after a message is deleted that had this body, in the same transaction. */
export function deleteUnusedBody(database: Database, id: number): void {
  database.run('DELETE FROM bodies WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE body_id = ?1)', id);
}

/** Reads bodies for the length of one call. Messages that share one are given the same bytes, not a copy each. */
export class Bodies {
  readonly #database: Database;
  readonly #keptMax: number;
  readonly #kept = new Map<number, Uint8Array>();

  /** Of the shared ones, so many are remembered. All, where all of them are handed out anyway. */
  constructor(database: Database, keptMax = Number.POSITIVE_INFINITY) {
    this.#database = database;
    this.#keptMax = keptMax;
  }

  /** Of a row that was read without its body. */
  read({ seq, body_id: id }: Pick<MessageRow, 'seq' | 'body_id'>): Uint8Array {
    if (id !== null) return this.#shared(id);
    return this.#database.get<{ body: Uint8Array }>('SELECT body FROM messages WHERE seq = ?', seq)!.body;
  }

  /** A row that was read whole, with its body from wherever that is stored. */
  fill(row: MessageRow): MessageRow {
    if (row.body_id !== null) row.body = this.#shared(row.body_id);
    return row;
  }

  #shared(id: number): Uint8Array {
    const kept = this.#kept.get(id);
    if (kept) return kept;
    const { bytes } = this.#database.get<{ bytes: Uint8Array }>('SELECT bytes FROM bodies WHERE id = ?', id)!;
    if (this.#kept.size >= this.#keptMax) this.#kept.clear();
    this.#kept.set(id, bytes);
    return bytes;
  }
}
