// Keeps the log when a process ends without closing the store: Node.js closes the connections then, and SQLite would
// copy the log into the database and remove it, whatever is in it and whatever made the process end.

import { DatabaseSync } from 'node:sqlite';

export class LogKeeper {
  readonly #connection: DatabaseSync;

  /**
   * Make it before the connection that writes: Node.js closes the newest first. SQLite leaves the log alone while
   * another connection is open, and a connection that only reads cannot remove it.
   */
  constructor(databasePath: string) {
    this.#connection = new DatabaseSync(databasePath, { readOnly: true, open: false });
  }

  /** Once there is a database that has a log. */
  open(): void {
    if (!this.#connection.isOpen) this.#connection.open();
    // It counts as open to others from its first read on.
    this.#connection.prepare('SELECT count(*) FROM sqlite_schema').get();
  }

  /** Before a connection is closed that may remove the log. */
  close(): void {
    if (this.#connection.isOpen) this.#connection.close();
  }
}
