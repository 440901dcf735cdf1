// The reserve of a database: disk space that is kept in use, so that it can be released when a write finds no space.

export interface DatabaseReserve {
  isThere(): Promise<boolean>;
  /**
   * Creates a reserve of `bytes`, if `spareBytes` more stay free beside it. `full` means that there is too little
   * space, and nothing was created. `busy` means that another node is creating the reserve.
   */
  make(bytes: number, spareBytes: number): Promise<'made' | 'full' | 'busy'>;
  /** Lets the database reuse the space of its log, if this node has the permission. */
  recycleLog(): Promise<void>;
  /** Calls `listener` when a node has released the reserve. */
  onReleased(listener: () => void): void;
  /** Calls `listener` when the database is available again: if it had crashed, the reserve must be created again. */
  onBack(listener: () => void): void;
}
