// The part of the store port that is about cancelling. What a node has claimed may be on its way: it keeps its claim and its
// place in line, and ends as cancelled when that claim is settled, given back or taken over. Until then its holder is asked.

/** Which of the messages that were named are how far cancelled. */
export interface CancelAnswer {
  /** They have ended. */
  readonly cancelled: readonly string[];
  /** A node has claimed them: they end with that claim, and nobody claims them any more. */
  readonly requested: readonly string[];
  /** The same, by an earlier call. */
  readonly awaited: readonly string[];
}

export interface CancelStore {
  /**
   * Ends open messages as cancelled, or requests it where a node has claimed them. No attempt starts any more, but for what
   * the holder of a claim does before it hears of it: see `confirmCancels`.
   */
  cancel(accountId: string, messageIds: readonly string[], now: number, expiresAt: number): Promise<CancelAnswer>;

  /**
   * Tells the holders of these messages, and waits until they have confirmed that no attempt of them starts any more, for
   * so long at most. Answers those of which that is not known. A holder that is no longer alive starts nothing.
   */
  confirmCancels(accountId: string, messageIds: readonly string[], withinMs: number): Promise<readonly string[]>;

  /**
   * Calls `listener` when messages are to be cancelled that this node may have claimed. It resolves when none of those that
   * were requested before the call can start any more.
   */
  onCancel(listener: () => Promise<void>): void;

  /** The leases of this node whose messages are to be cancelled. */
  cancelledClaims(): Promise<readonly string[]>;
}
