// What an engine does about crashes: settles the attempts that a dead node had under way, starts a few at a time
// afterwards, and starts by themselves those messages that crashes have met again and again.

import type { Claim, Outcome } from '../domain/message.ts';
import { aloneAmong } from '../domain/recovery.ts';
import { RecoveryPace } from '../domain/recovery-pace.ts';
import { type ClaimLimits, NO_SLOTS } from '../domain/slots.ts';
import type { DeliveryStore, Recovery } from '../store/delivery-store.ts';
import type { Clock } from '../world.ts';

const REASON = 'the node that made this attempt went away before it ended';

/** An attempt that was made, whatever came of it. */
export interface Ended {
  readonly outcome: Outcome;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface CrashRecoveryOptions {
  readonly store: Pick<DeliveryStore, 'claimAlone'>;
  readonly clock: Clock;
  readonly concurrency: number;
  readonly inFlight: () => number;
  readonly settle: (ended: readonly (readonly [Claim, Ended])[]) => Promise<void>;
  /** More may start than before. */
  readonly wake: () => void;
}

export class CrashRecovery {
  readonly #options: CrashRecoveryOptions;
  readonly #pace: RecoveryPace;
  #isKnown = true;
  #aloneAt: number | null = null;
  #held = 0;

  constructor(options: CrashRecoveryOptions) {
    this.#options = options;
    this.#pace = new RecoveryPace(options.concurrency);
  }

  /** How many messages are held, as of the last look. */
  get held(): number {
    return this.#held;
  }

  /** Nothing but a message alone may start. */
  get isClosed(): boolean {
    return this.#pace.isClosed;
  }

  /** Nothing may start before it is known what the crash before has left behind. */
  waitForLook(): void {
    this.#isKnown = false;
  }

  /** Ends all attempts that one dead node had under way, together. */
  async settleCrash(claims: readonly Claim[]): Promise<void> {
    const { clock, inFlight, settle } = this.#options;
    const at = clock.now();
    this.#pace.noteCrash(claims.length, inFlight(), clock.monotonicMs());
    const alone = claims[aloneAmong(claims.map(({ message }) => message))];
    await settle(
      claims.map((claim) => {
        const outcome = {
          kind: 'interrupted',
          reason: REASON,
          cause: claim === alone ? 'crashAlone' : 'crash',
        } as const;
        return [claim, { outcome, startedAt: claim.message.claimedAt ?? at, endedAt: at }];
      }),
    );
  }

  /** No node is dead whose claims are still to be ended. */
  noteLook({ nextAloneAt, held }: Recovery): void {
    this.#isKnown = true;
    this.#aloneAt = nextAloneAt;
    this.#held = held;
    this.#options.wake();
  }

  noteEnds(ended: readonly Claim[], known: number): void {
    const leases = ended.map(({ lease }) => lease);
    this.#pace.noteEnds(leases, known, this.#options.clock.monotonicMs());
  }

  /** What may be claimed, of what there is room for. */
  limit(free: ClaimLimits): ClaimLimits {
    if (!this.#isKnown) return NO_SLOTS;
    return this.#pace.limit(free, this.#options.inFlight(), this.#options.clock.monotonicMs());
  }

  /** Whether it is the turn of a message that starts alone. To be asked before others are claimed: it keeps them back. */
  mayStartAlone(): boolean {
    const { clock, inFlight } = this.#options;
    return this.#isKnown && this.#pace.mayStartAlone(this.#isAloneDue, inFlight(), clock.monotonicMs());
  }

  /** The message whose turn it is; null when it must wait for a reason of its own. */
  async claimAlone(): Promise<Claim | null> {
    const { store, clock } = this.#options;
    const { claim, nextAt } = await store.claimAlone(clock.now());
    this.#aloneAt = nextAt;
    if (claim) this.#pace.startedAlone(claim.lease, clock.monotonicMs());
    else this.#pace.noneAlone(clock.monotonicMs());
    return claim;
  }

  /** In how many milliseconds more may start than now, without anything else happening. */
  changesInMs(): number {
    const { clock } = this.#options;
    if (!this.#isKnown) return Number.POSITIVE_INFINITY;
    const aloneInMs = this.#aloneAt === null ? Number.POSITIVE_INFINITY : this.#aloneAt - clock.now();
    const changesInMs = this.#pace.changesInMs(this.#isAloneDue, clock.monotonicMs());
    return aloneInMs > 0 ? Math.min(aloneInMs, changesInMs) : changesInMs;
  }

  get #isAloneDue(): boolean {
    return this.#aloneAt !== null && this.#aloneAt <= this.#options.clock.now();
  }
}
