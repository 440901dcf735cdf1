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
  #accounts: Rooms;
  #hosts: Rooms;

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
    return { slots: this.#slots, bytes: this.#bytes, ...limitsOf(this.#accounts, this.#hosts) };
  }

  take(accountId: string, host: string, bodyBytes: number): boolean {
    if (this.room(accountId, host) < 1) return false;
    if (bodyBytes > 0 && this.#bytes <= 0) return false;
    this.use(accountId, host, bodyBytes);
    return true;
  }

  /** Counts one that has its place already, whether there is room or not. */
  use(accountId: string, host: string, bodyBytes: number): void {
    this.#slots -= 1;
    this.#bytes -= bodyBytes;
    this.#accounts.use(accountId);
    this.#hosts.use(host);
  }

  /** A part of it that somebody else may count down from: half, rounded up, and no more than `most`. */
  half(most = Number.POSITIVE_INFINITY): SlotBudget {
    const [accounts, hosts] = [this.#accounts.half(most), this.#hosts.half(most)];
    const slots = Math.min(halfOf(this.#slots), most);
    return new SlotBudget({ slots, bytes: halfOf(this.#bytes), ...limitsOf(accounts, hosts) });
  }

  /** What is left of it if another may use up all of `part`. */
  without(part: SlotBudget): SlotBudget {
    const left = new SlotBudget(NO_SLOTS);
    left.#slots = this.#slots - part.#slots;
    left.#bytes = this.#bytes - part.#bytes;
    left.#accounts = this.#accounts.without(part.#accounts);
    left.#hosts = this.#hosts.without(part.#hosts);
    return left;
  }
}

function limitsOf(accounts: Rooms, hosts: Rooms): Omit<ClaimLimits, 'slots' | 'bytes'> {
  return { accountMax: accounts.max, hostMax: hosts.max, accountsBusy: accounts.busy(), hostsBusy: hosts.busy() };
}

function halfOf(count: number): number {
  return Math.ceil(count / 2);
}

/** Counts down from a maximum per key. */
class Rooms {
  readonly max: number;
  /** Of a key that was left out: it may have up to half of its maximum under way, so only the other half is sure. */
  readonly #leftOut: number;
  readonly #left = new Map<string, number>();

  constructor(max: number, busy: ClaimLimits['hostsBusy'], leftOut = halfOf(max)) {
    this.max = max;
    this.#leftOut = leftOut;
    for (const [key, count] of busy) this.#left.set(key, Math.max(0, max - count));
  }

  of(key: string): number {
    return this.#left.get(key) ?? this.#leftOut;
  }

  busy(): [string, number][] {
    return [...this.#left].map(([key, left]) => [key, this.max - left]);
  }

  use(key: string): void {
    this.#left.set(key, this.of(key) - 1);
  }

  half(most: number): Rooms {
    // Of an even maximum, exactly half is what a key has that was left out.
    const half = new Rooms(2 * Math.min(halfOf(this.#leftOut), most), []);
    for (const [key, left] of this.#left) half.#left.set(key, Math.min(halfOf(left), most, half.max));
    return half;
  }

  without(part: Rooms): Rooms {
    const left = new Rooms(this.max, [], this.#leftOut - part.#leftOut);
    for (const key of [...this.#left.keys(), ...part.#left.keys()]) left.#left.set(key, this.of(key) - part.of(key));
    return left;
  }
}
