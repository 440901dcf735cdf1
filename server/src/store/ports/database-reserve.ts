// The reserve of a database: space of its disk that is taken, so that it can be given back when a write finds none.

export interface DatabaseReserve {
  isThere(): Promise<boolean>;
  /**
   * Takes the space. `spareBytes` must be free beside it, and stay free. `full`: there is too little, and nothing is taken.
   * `busy`: another node is making it.
   */
  make(bytes: number, spareBytes: number): Promise<'made' | 'full' | 'busy'>;
  /** Lets the database use the space of its log again, if this node may ask for it. */
  recycleLog(): Promise<void>;
  /** The listener is called when a node has given it up. */
  onGivenUp(listener: () => void): void;
  /** The listener is called when the database was away and is back: after a crash it has no reserve. */
  onBack(listener: () => void): void;
}
