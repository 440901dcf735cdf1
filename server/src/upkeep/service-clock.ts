// The clock of a running service: the machine's clock, as far as rules/time/clock.ts trusts it. It continues from the
// time kept in the store. With a store that several nodes share it follows the store's clock, so that the nodes agree.

import {
  CLOCK_OFF_MS_MAX,
  type ClockChange,
  type ClockOff,
  correctedTime,
  type KeeperState,
  type KeptTime,
  Timekeeper,
} from '../rules/time/clock.ts';
import type { Clock } from '../runtime/world.ts';
import type { DeliveryStore, LastKeptTime } from '../store/ports/delivery-store.ts';
import type { NodeClock } from './node-clock.ts';
import type { SharedTime } from './shared-time.ts';

/** Limit for the time of a response from the store. The time in a slower response is too imprecise. */
const ANSWER_MS_MAX = 2000;

export interface ServiceClockOptions {
  /** The machine's clock. */
  readonly machine: Clock;
  /** The time that this lane shares with the other lanes of the process. */
  readonly shared?: SharedTime | undefined;
  /** The state of a running lane: a further lane continues with its time, and not from the store. */
  readonly joins?: KeeperState | undefined;
  /** False for a test with its own time, which is not the store's. */
  readonly usesStoreClock: boolean;
  readonly onChange: (change: ClockChange) => void;
  readonly onOff?: (change: ClockOff) => void;
}

export class ServiceClock implements NodeClock {
  readonly #options: ServiceClockOptions;
  readonly #machine: Clock;
  readonly #keeper: Timekeeper;
  /** The store's clock minus the monotonic one. Null while the wall clock is the machine's own. */
  #storeOffset: number | null = null;
  /** How far our time was ahead of the store's clock at the last heartbeat. Negative: behind. */
  #offMs = 0;
  readonly #asleepMs = () => this.#machine.asleepMs();
  #hasBegun = false;

  constructor(options: ServiceClockOptions) {
    this.#options = options;
    this.#machine = options.machine;
    const { machine } = options;
    this.#keeper = new Timekeeper(machine.now(), machine.monotonicMs(), machine.asleepMs());
  }

  now(): number {
    this.#read();
    const { orderAt } = this.#keeper;
    // Before `begin` the time may be far ahead: it is the wall clock, which has not been checked yet.
    return this.#hasBegun ? (this.#options.shared?.atLeast(orderAt) ?? orderAt) : orderAt;
  }

  wallNow(): number {
    this.#read();
    return this.#keeper.trustedAt;
  }

  machineNow(): number {
    return this.#machine.now();
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs();
  }

  asleepMs(): number {
    return this.#machine.asleepMs();
  }

  after(ms: number, fire: () => void): () => void {
    return this.#machine.after(ms, fire);
  }

  soon(fire: () => void): void {
    this.#machine.soon(fire);
  }

  shortly(fire: () => void): void {
    this.#machine.shortly(fire);
  }

  /** Continues from the time kept in the store. Call this before any time is read from the store or written to it. */
  async begin(store: Pick<DeliveryStore, 'storedTime'>): Promise<void> {
    const { joins } = this.#options;
    if (joins) this.#keeper.join(joins);
    else await this.#resume(store);
    this.#hasBegun = true;
  }

  async #resume(store: Pick<DeliveryStore, 'storedTime'>): Promise<void> {
    const askedMs = this.monotonicMs();
    const { kept, newestAt, wallAt } = await store.storedTime();
    this.#hear(wallAt, askedMs);
    const nowMs = this.monotonicMs();
    this.#tell(this.#keeper.resume(kept, newestAt, this.#wallAt(nowMs), nowMs));
  }

  /**
   * Call this every few seconds, with the heartbeat. `keep` gives the time to the store and returns what the store
   * knows.
   */
  async keep(keep: (time: KeptTime) => Promise<LastKeptTime>): Promise<void> {
    this.#read();
    this.#keeper.noteAwake(this.asleepMs());
    const askedMs = this.monotonicMs();
    const { kept, wallAt } = await keep(this.#keeper.kept());
    this.#hear(wallAt, askedMs);
    this.#read();
    if (kept) this.#keeper.catchUpWith(kept);
  }

  get state(): KeeperState {
    this.#read();
    return this.#keeper.state;
  }

  get isBelieved(): boolean {
    return this.#keeper.isBelieved;
  }

  /** How far this clock was ahead of the store's clock at the last heartbeat, which corrected it. Negative: behind. */
  get offMs(): number {
    return this.#offMs;
  }

  /**
   * Whether this clock runs unevenly compared with the store's clock: between two heartbeats it is unknown how far it
   * is off.
   */
  get isOff(): boolean {
    return Math.abs(this.#offMs) > CLOCK_OFF_MS_MAX;
  }

  /** Whether the time is certain enough to decide what has expired. */
  get isProven(): boolean {
    this.#read();
    return this.#keeper.isProven;
  }

  /** How far the wall clock is ahead of the trusted time. */
  get aheadMs(): number {
    this.#read();
    return this.#keeper.aheadMs;
  }

  /** How often the trusted wall clock was set back. */
  get timesSetBack(): number {
    return this.#keeper.timesSetBack;
  }

  #read(): void {
    const nowMs = this.#machine.monotonicMs();
    this.#tell(this.#keeper.read(this.#wallAt(nowMs), nowMs, this.#asleepMs));
  }

  #wallAt(nowMs: number): number {
    return this.#storeOffset === null ? this.#machine.now() : nowMs + this.#storeOffset;
  }

  #hear(shownAt: number | null, askedMs: number): void {
    const nowMs = this.monotonicMs();
    if (shownAt === null || !this.#options.usesStoreClock) return;
    if (this.#storeOffset !== null && nowMs - askedMs > ANSWER_MS_MAX) return;
    const reckoned = this.#wallAt(nowMs);
    const right = correctedTime(reckoned, shownAt, nowMs - askedMs);
    // Before the first response our time was the machine's clock, which had not been used for anything.
    if (this.#storeOffset !== null) this.#noteOff(reckoned - right);
    this.#storeOffset = right - nowMs;
  }

  #noteOff(offMs: number): void {
    const wasOff = this.isOff;
    this.#offMs = offMs;
    if (this.isOff && !wasOff) this.#options.onOff?.({ kind: 'off', offMs });
    else if (wasOff && !this.isOff) this.#options.onOff?.({ kind: 'right' });
  }

  #tell(change: ClockChange | null): void {
    if (change) this.#options.onChange(change);
  }
}
