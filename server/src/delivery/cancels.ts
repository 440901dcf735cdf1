// What an engine does about messages that are to be cancelled while it has claimed them: it looks which they are, sees to it
// that none of them starts, and gives back those that have not. What is on the wire goes on, and is settled as it ends.

import type { Claim } from '../domain/message.ts';
import type { DeliveryStore } from '../store/delivery-store.ts';

export interface CancelsOptions {
  readonly store: Pick<DeliveryStore, 'cancelledClaims'>;
  /** Of these leases those that are not on the wire, and will not be. They are given back. */
  readonly drop: (leases: readonly string[]) => Promise<void>;
}

export class Cancels {
  readonly #options: CancelsOptions;
  /** Of the last look. Some may still be on their way from the store, and come to be started behind it. */
  #leases: ReadonlySet<string> = new Set();
  #looking: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(options: CancelsOptions) {
    this.#options = options;
  }

  /** Those that may start. */
  without(claims: readonly Claim[]): readonly Claim[] {
    if (this.#leases.size === 0) return claims;
    return claims.filter(({ lease }) => !this.#leases.has(lease));
  }

  /**
   * Resolves when nothing that was to be cancelled at the time of the call can start any more. One look at a time, and one
   * for all who ask while another is under way: what that one has found may be older than they are.
   */
  look(): Promise<void> {
    if (!this.#looking) {
      this.#looking = this.#lookNow().finally(() => {
        this.#looking = null;
      });
      return this.#looking;
    }
    this.#next ??= this.#looking
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.look();
      });
    return this.#next;
  }

  async #lookNow(): Promise<void> {
    const leases = await this.#options.store.cancelledClaims();
    this.#leases = new Set(leases);
    if (leases.length > 0) await this.#options.drop(leases);
  }
}
