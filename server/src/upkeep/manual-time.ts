// The clock of `dev --clock manual`. Its time is stopped, or runs, and a test moves it. Everything that sockets, leases
// and the machine need stays in real time: `monotonicMs`, `after` and `soon`.

import type { KeptTime } from '../rules/time/clock.ts';
import type { Clock } from '../runtime/world.ts';
import type { DeliveryStore, LastKeptTime } from '../store/ports/delivery-store.ts';
import type { NodeClock } from './node-clock.ts';

/** Something that happens at a set time. */
interface Wait {
  readonly at: number;
  readonly fire: () => void;
}

export class ManualTime implements NodeClock {
  readonly state = null;
  readonly isBelieved = true;
  readonly offMs = 0;
  readonly isOff = false;
  readonly isProven = true;
  readonly aheadMs = 0;
  readonly timesSetBack = 0;
  readonly #real: Clock;
  /** The time when it was last moved, stopped or started. */
  #at: number;
  /** The monotonic time at which this clock was last started. Null while it is stopped. */
  #goesFromMs: number | null = null;
  /** One wait for each loop of the engine that waits for this clock, so there are few. */
  readonly #waits = new Set<Wait>();
  #cancelTimer = () => {};

  /** The clock begins with the machine's time, stopped. */
  constructor(real: Clock) {
    this.#real = real;
    this.#at = real.now();
  }

  now(): number {
    if (this.#goesFromMs === null) return this.#at;
    return this.#at + Math.floor(this.#real.monotonicMs() - this.#goesFromMs);
  }

  wallNow(): number {
    return this.now();
  }

  /** Signatures have the times of this clock too. */
  machineNow(): number {
    return this.now();
  }

  monotonicMs(): number {
    return this.#real.monotonicMs();
  }

  asleepMs(): number {
    return this.#real.asleepMs();
  }

  after(ms: number, fire: () => void): () => void {
    return this.#real.after(ms, fire);
  }

  soon(fire: () => void): void {
    this.#real.soon(fire);
  }

  shortly(fire: () => void): void {
    this.#real.shortly(fire);
  }

  /** Timers that wait by the time of this clock, in place of real time. */
  readonly dueTimers: Pick<Clock, 'after'> = {
    after: (ms, fire) => {
      const wait = { at: this.now() + Math.max(0, Math.ceil(ms)), fire };
      this.#waits.add(wait);
      this.#setTimer();
      return () => {
        this.#waits.delete(wait);
      };
    },
  };

  get isRunning(): boolean {
    return this.#goesFromMs !== null;
  }

  /** When the next wait is over. Null if nothing waits. */
  get nextAt(): number | null {
    let next: number | null = null;
    for (const { at } of this.#waits) if (next === null || at < next) next = at;
    return next;
  }

  freeze(): void {
    this.#at = this.now();
    this.#goesFromMs = null;
    this.#cancelTimer();
  }

  run(): void {
    this.#at = this.now();
    this.#goesFromMs = this.#real.monotonicMs();
    this.#setTimer();
  }

  /** Moves the time forward, and ends the waits that are over by then. Time never goes back. */
  moveTo(at: number): void {
    this.#at = Math.max(at, this.now());
    if (this.#goesFromMs !== null) this.#goesFromMs = this.#real.monotonicMs();
    this.#fireDue();
  }

  /** Continues from the time in the store, because the store may have been used before. */
  async begin(store: Pick<DeliveryStore, 'storedTime'>): Promise<void> {
    const { kept, newestAt } = await store.storedTime();
    this.#at = Math.max(this.#at, kept?.orderAt ?? 0, newestAt ?? 0);
  }

  async keep(keep: (time: KeptTime) => Promise<LastKeptTime>): Promise<void> {
    const at = this.now();
    await keep({ wallAt: at, trustedAt: at, orderAt: at, doubtedMs: 0 });
  }

  #fireDue(): void {
    const now = this.now();
    for (const wait of [...this.#waits].sort((one, other) => one.at - other.at)) {
      if (wait.at > now || !this.#waits.delete(wait)) continue;
      wait.fire();
    }
    this.#setTimer();
  }

  #setTimer(): void {
    this.#cancelTimer();
    const { nextAt } = this;
    if (nextAt === null || this.#goesFromMs === null) return;
    this.#cancelTimer = this.#real.after(nextAt - this.now(), () => this.#fireDue());
  }
}
