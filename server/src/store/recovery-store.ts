// The part of the store port that is about crashes: what a dead node had under way, messages that start alone, and those
// that are held. What becomes of a message is decided in domain/recovery.ts.

import type { Claim } from '../domain/message.ts';

/** What `claimAlone` answers. */
export interface AloneReply {
  readonly claim: Claim | null;
  /** From when the next message waits to start alone; null when none does. */
  readonly nextAt: number | null;
}

/** What crashes have left behind. */
export interface Recovery {
  /** From when a message waits to start alone; null when none does. */
  readonly nextAloneAt: number | null;
  /** How many messages are held, of all accounts; counted up to 10,000. */
  readonly held: number;
}

export interface RecoveryStore {
  /**
   * All claims of one node that is no longer alive, to be settled as interrupted, together; without their bodies. None
   * when there is no such node. Never those of `node` itself.
   */
  orphanedClaims(node: string): Promise<readonly Claim[]>;

  /**
   * The leases of this node that the store does not keep for it any more, up to `limit` of all it has: they are under way, or
   * the node was never told of them.
   */
  strayClaims(limit: number): Promise<readonly string[]>;

  /**
   * Leases to this node one message that must start alone and whose time has come: the one that has waited for longest.
   * Nothing else hands these out. The caller sees to it that nothing else starts.
   */
  claimAlone(now: number): Promise<AloneReply>;

  recovery(): Promise<Recovery>;

  /** Lets held messages go on, due now and in the places they have; answers which ones. Crashes before do not count. */
  releaseHeld(accountId: string, messageIds: readonly string[], now: number): Promise<readonly string[]>;
}
