// The reserve of a database: disk space that is kept in use, so that it can be released when a write finds none.

export interface DatabaseReserve {
  isThere(): Promise<boolean>;
  /**
   * Creates the reserve. `spareBytes` must be free beside it, and must stay free. `full` means that there is too little
   * space, and nothing was created. `busy` means that another node is creating the reserve.
   */
  make(bytes: number, spareBytes: number): Promise<'made' | 'full' | 'busy'>;
  /** Lets the database reuse the space of its log, if this node has the permission. */
  recycleLog(): Promise<void>;
  /** Calls `listener` when a node has released the reserve. */
  onGivenUp(listener: () => void): void;
  /** Calls `listener` when the database is available again. After a crash the database has no reserve. */
  onBack(listener: () => void): void;
}
