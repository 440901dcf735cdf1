// Keeps the log when a process ends without closing the store: Node.js then closes the connections, and SQLite would
// copy the log into the database and remove it, whatever is in it and whatever ended the process.

import { DatabaseSync } from 'node:sqlite';

export class LogKeeper {
  readonly #connection: DatabaseSync;

  /**
   * Create it before the connection that writes: Node.js closes the newest first. SQLite leaves the log alone while
   * another connection is open, and a connection that only reads cannot remove it.
   */
  constructor(databasePath: string) {
    this.#connection = new DatabaseSync(databasePath, { readOnly: true, open: false });
  }

  /** Call it once there is a database that has a log. */
  open(): void {
    if (!this.#connection.isOpen) this.#connection.open();
    // For others it counts as open from its first read on.
    this.#connection.prepare('SELECT count(*) FROM sqlite_schema').get();
  }

  /** Call it before closing a connection that may remove the log. */
  close(): void {
    if (this.#connection.isOpen) this.#connection.close();
  }
}
