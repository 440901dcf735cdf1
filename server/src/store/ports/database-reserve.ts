// The reserve of a database: disk space that is kept in use, so that it can be released when a write finds none.

export interface DatabaseReserve {
  isThere(): Promise<boolean>;
  /**
   * Creates the reserve. `spareBytes` must be free beside it, and stay free. `full`: there is too little space, and
   * nothing is created. `busy`: another node is creating it.
   */
  make(bytes: number, spareBytes: number): Promise<'made' | 'full' | 'busy'>;
  /** Lets the database reuse the space of its log, if this node has the permission. */
  recycleLog(): Promise<void>;
  /** The listener is called when a node has released the reserve. */
  onGivenUp(listener: () => void): void;
  /** The listener is called when the database is available again: after a crash it has no reserve. */
  onBack(listener: () => void): void;
}
