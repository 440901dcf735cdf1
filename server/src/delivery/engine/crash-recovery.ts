// Handles crashes for an engine: settles the attempts that a dead node had in flight, then starts only a few attempts
// at a time. A message that was in flight in several crashes starts alone.

import type { Claim, Outcome } from '../../rules/delivery/message.ts';
import { indexOfLoneAttempt } from '../../rules/delivery/recovery.ts';
import { RecoveryPace } from '../../rules/delivery/recovery-pace.ts';
import { type ClaimLimits, NO_SLOTS } from '../../rules/delivery/slots.ts';
import type { Clock } from '../../runtime/world.ts';
import type { DeliveryStore, Recovery } from '../../store/ports/delivery-store.ts';

const REASON = 'the node stopped or crashed before this attempt ended';

/** The outcome of an attempt that was made, and when the attempt started and ended. */
export interface AttemptResult {
  readonly outcome: Outcome;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface CrashRecoveryOptions {
  readonly store: Pick<DeliveryStore, 'claimAlone'>;
  readonly clock: Clock;
  readonly concurrency: number;
  readonly inFlight: () => number;
  readonly settle: (ended: readonly (readonly [Claim, AttemptResult])[]) => Promise<void>;
  /** Called when the number of attempts that may start has changed, so that the engine makes a new offer. */
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

  /** How many messages of all accounts were held, after too many crashes, at the last look. */
  get held(): number {
    return this.#held;
  }

  /** While true, nothing starts except the message that must start alone. */
  get isClosed(): boolean {
    return this.#pace.isClosed;
  }

  /** True when nothing is held back and no message waits to start alone. */
  get isOver(): boolean {
    return this.#isKnown && this.#aloneAt === null && this.#pace.isOver;
  }

  /** After this call nothing may start until a look has shown which attempts the last crash has left. */
  waitForLook(): void {
    this.#isKnown = false;
  }

  /** Settles together all attempts that one dead node had in flight. */
  async settleCrash(claims: readonly Claim[]): Promise<void> {
    const { clock, inFlight, settle } = this.#options;
    const at = clock.now();
    this.#pace.noteCrash(claims.length, inFlight(), clock.monotonicMs());
    // The current offer was made before this crash was found, and has too many slots.
    this.#options.wake();
    const alone = claims[indexOfLoneAttempt(claims.map(({ message }) => message))];
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

  /** Called when no dead node has claims left to settle. */
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

  /** Reduces the free slots to what may be claimed during recovery. */
  limit(free: ClaimLimits): ClaimLimits {
    if (!this.#isKnown) return NO_SLOTS;
    return this.#pace.limit(free, this.#options.inFlight(), this.#options.clock.monotonicMs());
  }

  /**
   * Whether a message that must start alone may start now. Call this before other messages are claimed: if such a
   * message is due, the call closes recovery, so that no other message starts.
   */
  mayStartAlone(): boolean {
    const { clock, inFlight } = this.#options;
    return this.#isKnown && this.#pace.mayStartAlone(this.#isAloneDue, inFlight(), clock.monotonicMs());
  }

  /** Claims the message whose turn it is to start alone. Null if it cannot start yet, for example for its flow key. */
  async claimAlone(): Promise<Claim | null> {
    const { store, clock } = this.#options;
    const { claim, nextAt } = await store.claimAlone(clock.now());
    this.#aloneAt = nextAt;
    if (claim) this.#pace.startedAlone(claim.lease, clock.monotonicMs());
    else this.#pace.noneAlone(clock.monotonicMs());
    return claim;
  }

  /** In how many milliseconds more attempts may start, if no attempt ends before. Infinity if time changes nothing. */
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
