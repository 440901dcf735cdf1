// How many attempts may start, and whose. One budget serves the claim in every adapter and the lease at acceptance,
// so that no path can start more than the engine has room for.

export interface ClaimLimits {
  /** Free places on the node. */
  readonly slots: number;
  /** Body bytes that may still be taken into memory. The last message taken may go over it, or none large could. */
  readonly bytes: number;
  readonly accountMax: number;
  readonly hostMax: number;
  /** Attempts under way by account and by host. One that has at most half of its maximum may be left out. */
  readonly accountsBusy: readonly (readonly [accountId: string, count: number])[];
  readonly hostsBusy: readonly (readonly [host: string, count: number])[];
}

export const NO_SLOTS: ClaimLimits = { slots: 0, bytes: 0, accountMax: 0, hostMax: 0, accountsBusy: [], hostsBusy: [] };

export class SlotBudget {
  #slots: number;
  #bytes: number;
  readonly #accounts: Rooms;
  readonly #hosts: Rooms;

  constructor(limits: ClaimLimits) {
    this.#slots = limits.slots;
    this.#bytes = limits.bytes;
    this.#accounts = new Rooms(limits.accountMax, limits.accountsBusy);
    this.#hosts = new Rooms(limits.hostMax, limits.hostsBusy);
  }

  get slots(): number {
    return this.#slots;
  }

  /** How many more of this account's messages to this host may start, as far as bodies allow. */
  room(accountId: string, host: string): number {
    return Math.min(this.#slots, this.#accounts.of(accountId), this.#hosts.of(host));
  }

  /** What is left, as limits for somebody else to count down from. */
  limits(): ClaimLimits {
    return {
      slots: this.#slots,
      bytes: this.#bytes,
      accountMax: this.#accounts.max,
      hostMax: this.#hosts.max,
      accountsBusy: this.#accounts.busy(),
      hostsBusy: this.#hosts.busy(),
    };
  }

  take(accountId: string, host: string, bodyBytes: number): boolean {
    if (this.room(accountId, host) < 1) return false;
    if (bodyBytes > 0 && this.#bytes <= 0) return false;
    this.#slots -= 1;
    this.#bytes -= bodyBytes;
    this.#accounts.use(accountId);
    this.#hosts.use(host);
    return true;
  }
}

/** Counts down from a maximum per key. */
class Rooms {
  readonly max: number;
  readonly #left = new Map<string, number>();

  constructor(max: number, busy: ClaimLimits['hostsBusy']) {
    this.max = max;
    for (const [key, count] of busy) this.#left.set(key, Math.max(0, max - count));
  }

  of(key: string): number {
    // A key that was left out may have up to half of its maximum under way, so only the other half is sure to be free.
    return this.#left.get(key) ?? this.max - Math.floor(this.max / 2);
  }

  busy(): [string, number][] {
    return [...this.#left].map(([key, left]) => [key, this.max - left]);
  }

  use(key: string): void {
    this.#left.set(key, this.of(key) - 1);
  }
}
