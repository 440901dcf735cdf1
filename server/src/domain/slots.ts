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

  /** Two budgets that together allow no more than this one; what cannot be halved is the first one's. */
  halves(): [SlotBudget, SlotBudget] {
    const [slots, otherSlots] = halved(this.#slots);
    const [bytes, otherBytes] = halved(this.#bytes);
    const [accounts, otherAccounts] = this.#accounts.halves();
    const [hosts, otherHosts] = this.#hosts.halves();
    return [
      new SlotBudget({ slots, bytes, ...limitsOf(accounts, hosts) }),
      new SlotBudget({ slots: otherSlots, bytes: otherBytes, ...limitsOf(otherAccounts, otherHosts) }),
    ];
  }
}

function limitsOf(accounts: Rooms, hosts: Rooms): Omit<ClaimLimits, 'slots' | 'bytes'> {
  return { accountMax: accounts.max, hostMax: hosts.max, accountsBusy: accounts.busy(), hostsBusy: hosts.busy() };
}

function halved(count: number): [number, number] {
  const less = Math.max(0, Math.floor(count / 2));
  return [count - less, less];
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

  halves(): [Rooms, Rooms] {
    const [leftOut, otherLeftOut] = halved(this.max - Math.floor(this.max / 2));
    // Of an even maximum, exactly half is what a key has that was left out.
    const halves: [Rooms, Rooms] = [new Rooms(2 * leftOut, []), new Rooms(2 * otherLeftOut, [])];
    for (const [key, left] of this.#left) {
      const parts = halved(left);
      for (const index of [0, 1] as const) halves[index].#left.set(key, Math.min(parts[index], halves[index].max));
    }
    return halves;
  }

  busy(): [string, number][] {
    return [...this.#left].map(([key, left]) => [key, this.max - left]);
  }

  use(key: string): void {
    this.#left.set(key, this.of(key) - 1);
  }
}
