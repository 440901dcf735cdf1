// Lets an accept wait for a slot that a settlement frees. Otherwise publishers that send again after each response
// would be accepted faster than their messages are delivered, and a message that is not leased at accept costs two more
// writes. An accept waits only if a settlement that runs, or is expected soon, frees slots of its account; if its host
// is full, slots to this host.

import type { NewMessage, Settlement } from '../../../rules/delivery/message.ts';
import type { Clock } from '../../../runtime/world.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import { isBusy, type LastGroup, waitMsMax } from './write-turns.ts';

/**
 * How long accepts wait for a settlement, from its start: a settlement that hangs, for instance on a lock, must not
 * delay accepts. This is also the limit for the total wait of an accept, for any number of settlements.
 */
export const SLOT_WAIT_MS_MAX = 300;
/**
 * If this many attempts end while one group is written, the node is the bottleneck and not the receivers: accepting
 * faster than the node delivers would only make it slower.
 */
export const MANY_MESSAGES_MIN = 16;
/** The hosts at which slots become free, by account. */
type Freed = ReadonlyMap<string, ReadonlySet<string>>;
const NOTHING: Freed = new Map();

interface Settled extends LastGroup {
  readonly freed: Freed;
}

/** One wait of an accept. */
interface Wait {
  /** Resolves when slots may be free. */
  readonly freed: Promise<void>;
  /** Called when the wait is over. Returns the next wait, or null. */
  again(): Wait | null;
}

export class SlotWaits {
  readonly #timers: Clock;
  readonly #offer: Pick<StandingOffer, 'lacksFor'>;
  /** The slots that the current settlement will free, if it waits for no queue or key. */
  #settling = NOTHING;
  #last: Settled | null = null;
  #cancel = () => {};
  #freed = Promise.withResolvers<void>();

  constructor(timers: Clock, offer: Pick<StandingOffer, 'lacksFor'>) {
    this.#timers = timers;
    this.#offer = offer;
  }

  /** For an accept that finds no slot: its wait for one, or null if it should not wait. */
  begin(messages: readonly NewMessage[], now: number): Wait | null {
    const first = messages[0];
    if (first === undefined || !this.#mayWait(first, now)) return null;
    let isOver = false;
    const over = Promise.withResolvers<void>();
    const cancel = this.#timers.after(SLOT_WAIT_MS_MAX, () => {
      isOver = true;
      over.resolve();
    });
    const wait = (): Wait => ({ freed: Promise.race([this.#freed.promise, over.promise]), again });
    const again = () => {
      if (!isOver && this.#mayWait(first, now)) return wait();
      cancel();
      return null;
    };
    return wait();
  }

  /** Notes that plain messages are being settled. */
  note(settlements: readonly Settlement[], written: Promise<unknown>): void {
    const timers = this.#timers;
    const freed = freedBy(settlements);
    const beganAtMs = timers.monotonicMs();
    this.#settling = freed;
    const end = () => {
      cancel();
      if (this.#settling === freed) this.#settling = NOTHING;
      this.#tell();
    };
    const cancel = timers.after(SLOT_WAIT_MS_MAX, end);
    // Waits two turns of the event loop: in the first, the engine has its reply and makes a new offer.
    const endSoon = () => timers.soon(() => timers.soon(end));
    written.then(() => {
      const endedAtMs = timers.monotonicMs();
      this.#noteEnd({ freed, messages: settlements.length, tookMs: endedAtMs - beganAtMs, endedAtMs });
      endSoon();
    }, endSoon);
  }

  #noteEnd(last: Settled): void {
    this.#last = last;
    this.#cancel();
    if (last.messages < MANY_MESSAGES_MIN) return;
    // If no other settlement has ended by then, nobody waits for the next one any more.
    this.#cancel = this.#timers.after(waitMsMax(last), () => {
      this.#last = null;
      if (this.#settling === NOTHING) this.#tell();
    });
  }

  #mayWait(message: NewMessage, now: number): boolean {
    const next = this.#soonFreed;
    // The cheap check first: most accepts end here.
    if (!this.#settling.has(message.accountId) && !next.has(message.accountId)) return false;
    const lacks = this.#offer.lacksFor(message, now);
    if (lacks !== 'hostSlot') return lacks !== null;
    return [this.#settling, next].some((freed) => freed.get(message.accountId)?.has(message.host));
  }

  /** The slots that the next settlement will probably free when it runs: those that the last one freed. */
  get #soonFreed(): Freed {
    const last = this.#last;
    if (last === null || last.messages < MANY_MESSAGES_MIN) return NOTHING;
    return isBusy(last, this.#timers.monotonicMs()) ? last.freed : NOTHING;
  }

  #tell(): void {
    const { resolve } = this.#freed;
    this.#freed = Promise.withResolvers();
    resolve();
  }
}

function freedBy(settlements: readonly Settlement[]): Freed {
  const freed = new Map<string, Set<string>>();
  for (const { accountId, host } of settlements) {
    const hosts = freed.get(accountId);
    if (hosts) hosts.add(host);
    else freed.set(accountId, new Set([host]));
  }
  return freed;
}
