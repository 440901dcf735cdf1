// Ends what a caller has open, such as a live stream, when its token or session is no longer valid. It ends at once if
// this process has revoked the token or ended the session, else at the next check of the store.

import type { Accounts, EndedAccess } from '../../accounts/accounts.ts';
import type { Clock } from '../../runtime/world.ts';
import type { Principal } from '../../store/ports/access-store.ts';

/** How long a stream may stay open after another node has revoked its token. */
const ASK_EVERY_MS = 5000;

interface Watched {
  readonly principal: Principal;
  readonly end: () => void;
}

export class AccessWatch {
  readonly #accounts: Accounts;
  readonly #clock: Clock;
  readonly #watched = new Set<Watched>();
  #cancel: (() => void) | null = null;
  #isAsking = false;

  constructor(accounts: Accounts, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
    accounts.onEnd((ended) => {
      if (ended !== 'unknown') this.#endAll((watched) => isAffected(watched, ended));
      else if (this.#watched.size > 0) void this.#ask();
    });
  }

  /** Calls `end`, at most once, when `principal` loses access. Returns a function that stops watching. */
  add(principal: Principal, end: () => void): () => void {
    const watched = { principal, end };
    this.#watched.add(watched);
    this.#cancel ??= this.#clock.after(ASK_EVERY_MS, () => this.#tick());
    return () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      this.#cancel?.();
      this.#cancel = null;
    };
  }

  #tick(): void {
    this.#cancel = this.#clock.after(ASK_EVERY_MS, () => this.#tick());
    // There is no second query while one is pending.
    if (!this.#isAsking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      // One query checks all open streams.
      const principals = new Map([...this.#watched].map(({ principal }) => [keyOf(principal), principal]));
      const admitted = await this.#accounts.areAdmitted([...principals.values()]);
      const ended = new Set([...principals.keys()].filter((_, index) => !admitted[index]));
      this.#endAll(({ principal }) => ended.has(keyOf(principal)));
    } catch {
      // The store is unavailable, and then no stream can read from it either. The next tick tries again.
    } finally {
      this.#isAsking = false;
    }
  }

  #endAll(isAffected: (watched: Watched) => boolean): void {
    for (const watched of [...this.#watched].filter(isAffected)) if (this.#watched.delete(watched)) watched.end();
  }
}

function keyOf({ token, sessionId }: Principal): string {
  return `${token.id} ${sessionId ?? ''}`;
}

function isAffected({ principal }: Watched, ended: Exclude<EndedAccess, 'unknown'>): boolean {
  return 'tokenId' in ended ? principal.token.id === ended.tokenId : principal.sessionId === ended.sessionId;
}
