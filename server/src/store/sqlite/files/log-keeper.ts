// Keeps the log when a process ends without closing the store. Node.js then closes the connections, and SQLite would
// copy the log into the database and remove it, even if the log is damaged.

import { DatabaseSync } from 'node:sqlite';

export class LogKeeper {
  readonly #connection: DatabaseSync;

  /**
   * Create this before the connection that writes, because Node.js closes the newest connection first. SQLite keeps the
   * log while another connection is open, and a connection that only reads cannot remove it.
   */
  constructor(databasePath: string) {
    this.#connection = new DatabaseSync(databasePath, { readOnly: true, open: false });
  }

  /** Call this when the database exists and has a log. */
  open(): void {
    if (!this.#connection.isOpen) this.#connection.open();
    // SQLite counts a connection as open from its first read on.
    this.#connection.prepare('SELECT count(*) FROM sqlite_schema').get();
  }

  /** Call this before closing a connection that may remove the log. */
  close(): void {
    if (this.#connection.isOpen) this.#connection.close();
  }
}
