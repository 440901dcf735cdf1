// Bodies that have a row of their own in the table `bodies`: shared and large ones. A shared body is stored once, read
// once, and deleted with the last message that has it.

import type { MessageRow } from '../../rows/message-row.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

/** SQL for the length of the body of a row of `messages`. It does not read the body. */
export const BODY_BYTES = 'iif(body_id IS NULL, length(body), (SELECT length(bytes) FROM bodies WHERE id = body_id))';

type Counting = Pick<TransactionCaches, 'stored'>;

export function insertBody(database: Database, { stored }: Counting, accountId: string, body: Uint8Array): number {
  stored.add(accountId, body.length);
  return database.insert('INSERT INTO bodies (account_id, bytes) VALUES (?, ?)', accountId, body);
}

/**
 * From this size on, a body has its own row. SQLite rewrites a changed row with all its overflow pages, so a large body
 * inside the row would be written at each claim and settlement.
 */
const LARGE_BODY_BYTES = 16 * 1024;

/** The id of a large body, which is stored in a row of its own. Null for a small body. */
export function largeBodyId(database: Database, caches: Counting, accountId: string, body: Uint8Array): number | null {
  return body.length < LARGE_BODY_BYTES ? null : insertBody(database, caches, accountId, body);
}

/** Deletes a body that no message has any more. Call this in the transaction that took the body from a message. */
export function deleteUnusedBody(database: Database, { stored }: Counting, id: number): void {
  const unused = database.get<{ account_id: string; bytes: number }>(
    `SELECT account_id, length(bytes) AS bytes FROM bodies
       WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE body_id = ?1)`,
    id,
  );
  if (!unused) return;
  stored.add(unused.account_id, -unused.bytes);
  database.run('DELETE FROM bodies WHERE id = ?', id);
}

/** Reads bodies during one call. Messages that share a body get the same bytes, without a copy for each message. */
export class Bodies {
  readonly #database: Database;
  readonly #keptMax: number;
  readonly #bytesMax: number | null;
  readonly #kept = new Map<number, Uint8Array>();

  /**
   * `keptMax`: how many shared bodies are cached. Default: all, for calls that return all bodies anyway. `bytesMax`:
   * how many bytes of each body are read. Null: the whole body.
   */
  constructor(database: Database, keptMax = Number.POSITIVE_INFINITY, bytesMax: number | null = null) {
    this.#database = database;
    this.#keptMax = keptMax;
    this.#bytesMax = bytesMax;
  }

  /** Whether the body of a row is cached. */
  has({ body_id: id }: Pick<MessageRow, 'body_id'>): boolean {
    return id !== null && this.#kept.has(id);
  }

  /** The body of a row that was read without its body. */
  read({ seq, body_id: id }: Pick<MessageRow, 'seq' | 'body_id'>): Uint8Array {
    if (id !== null) return this.#shared(id);
    return this.#read('SELECT body AS bytes FROM messages WHERE seq = ?', seq);
  }

  /** Completes a row that was read with the column `body`, which is empty if the body is in the table `bodies`. */
  fill(row: MessageRow): MessageRow {
    if (row.body_id !== null) row.body = this.#shared(row.body_id);
    return row;
  }

  #shared(id: number): Uint8Array {
    const kept = this.#kept.get(id);
    if (kept) return kept;
    const bytes = this.#read('SELECT bytes FROM bodies WHERE id = ?', id);
    if (this.#kept.size >= this.#keptMax) this.#kept.clear();
    this.#kept.set(id, bytes);
    return bytes;
  }

  #read(sql: string, key: number): Uint8Array {
    if (this.#bytesMax === null) return this.#database.get<{ bytes: Uint8Array }>(sql, key)!.bytes;
    const cut = `SELECT substr(bytes, 1, ?) AS bytes FROM (${sql})`;
    // For an empty body, `substr` returns null.
    return this.#database.get<{ bytes: Uint8Array | null }>(cut, this.#bytesMax, key)!.bytes ?? new Uint8Array(0);
  }
}
