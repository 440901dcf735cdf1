// Lets an accept wait for a slot that a settlement frees. Otherwise publishers who send again at each answer would be
// accepted faster than their messages are delivered, and what is not leased at accept costs two more writes. An account
// whose receivers are slow does not wait while nothing of it is settled.

import type { NewMessage, Settlement } from '../../domain/message.ts';
import type { Clock } from '../../world.ts';
import type { StandingOffer } from '../standing-offer.ts';
import { isBusy, type LastGroup, waitMsMax } from './write-turns.ts';

/**
 * How long accepts wait for a settlement, from its start, and how long an accept waits in all. A settlement that hangs,
 * as behind a lock, must not delay them.
 */
export const SETTLED_FIRST_MS_MAX = 300;
/**
 * Where so many attempts end while one group is written, the node is the limit and not the receivers: what it accepts
 * faster than it delivers only makes it slower.
 */
export const MANY_MESSAGES_MIN = 16;
const NOBODY: ReadonlySet<string> = new Set();

interface Settled extends LastGroup {
  readonly accounts: ReadonlySet<string>;
}

/** One wait of an accept. */
interface Wait {
  /** Slots may be free. */
  readonly freed: Promise<void>;
  /** To be asked then: the next wait, or null. */
  again(): Wait | null;
}

export class SlotWaits {
  readonly #timers: Clock;
  readonly #offer: Pick<StandingOffer, 'lacksSlotFor'>;
  /** The accounts of the settlement under way, if it waits for no queue or key. */
  #settling: ReadonlySet<string> = NOBODY;
  #last: Settled | null = null;
  #cancel = () => {};
  #freed = Promise.withResolvers<void>();

  constructor(timers: Clock, offer: Pick<StandingOffer, 'lacksSlotFor'>) {
    this.#timers = timers;
    this.#offer = offer;
  }

  /** For an accept that finds no slot: its wait for one, or null if it is not to wait. */
  begin(messages: readonly NewMessage[], now: number): Wait | null {
    const first = messages[0];
    if (first === undefined || !this.#mayWait(first, now)) return null;
    const untilMs = this.#timers.monotonicMs() + SETTLED_FIRST_MS_MAX;
    const wait = (): Wait => ({ freed: this.#freed.promise, again });
    const again = () => (this.#timers.monotonicMs() < untilMs && this.#mayWait(first, now) ? wait() : null);
    return wait();
  }

  /** Plain messages are being settled. */
  note(settlements: readonly Settlement[], written: Promise<unknown>): void {
    const timers = this.#timers;
    const accounts = new Set(settlements.map(({ accountId }) => accountId));
    const beganAtMs = timers.monotonicMs();
    this.#settling = accounts;
    const end = () => {
      cancel();
      if (this.#settling === accounts) this.#settling = NOBODY;
      this.#tell();
    };
    const cancel = timers.after(SETTLED_FIRST_MS_MAX, end);
    // Two turns: in the first the engine, which has its reply by then, is asked for a new offer.
    const endSoon = () => timers.soon(() => timers.soon(end));
    written.then(() => {
      const endedAtMs = timers.monotonicMs();
      this.#noteEnd({ accounts, messages: settlements.length, tookMs: endedAtMs - beganAtMs, endedAtMs });
      endSoon();
    }, endSoon);
  }

  #noteEnd(last: Settled): void {
    this.#last = last;
    this.#cancel();
    if (last.messages < MANY_MESSAGES_MIN) return;
    // By then another one has ended. If not, nobody waits for it any more.
    this.#cancel = this.#timers.after(waitMsMax(last), () => {
      this.#last = null;
      if (this.#settling === NOBODY) this.#tell();
    });
  }

  #mayWait(message: NewMessage, now: number): boolean {
    const { accountId } = message;
    return (this.#settling.has(accountId) || this.#isNextOf(accountId)) && this.#offer.lacksSlotFor(message, now);
  }

  /** Whether the next settlement will soon free slots of the account, although none is under way. */
  #isNextOf(accountId: string): boolean {
    const last = this.#last;
    if (last === null || last.messages < MANY_MESSAGES_MIN) return false;
    return last.accounts.has(accountId) && isBusy(last, this.#timers.monotonicMs());
  }

  #tell(): void {
    const { resolve } = this.#freed;
    this.#freed = Promise.withResolvers();
    resolve();
  }
}
