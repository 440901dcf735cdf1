// Handles messages that are cancelled while this engine has claimed them. It finds them, keeps them from starting, and
// releases those that have not started. Attempts that are already being sent continue, and are settled when they end.

import type { Claim } from '../../rules/delivery/message.ts';
import type { DeliveryStore } from '../../store/ports/delivery-store.ts';

export interface CancelsOptions {
  readonly store: Pick<DeliveryStore, 'cancelledClaims'>;
  /** Releases the given leases whose attempts are not being sent, and prevents these attempts from starting. */
  readonly drop: (leases: readonly string[]) => Promise<void>;
}

export class Cancels {
  readonly #options: CancelsOptions;
  /** The cancelled leases that the last look found. Claims with these leases may still arrive from the store later. */
  #leases: ReadonlySet<string> = new Set();
  #looking: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(options: CancelsOptions) {
    this.#options = options;
  }

  /** Returns the claims that are not known to be cancelled. Only these may start. */
  without(claims: readonly Claim[]): readonly Claim[] {
    if (this.#leases.size === 0) return claims;
    return claims.filter(({ lease }) => !this.#leases.has(lease));
  }

  /**
   * Looks in the store for cancelled claims. Resolves when no message that was cancelled before the call can start any
   * more. One look runs at a time. All calls that come during a look share the next look, because the current one may
   * have read before their cancels.
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
