// A pool that all accounts of a node share: memory, streams, look-ups. One account may hold at most as much as then
// stays free. So a single account gets half, several greedy ones get equal parts, and a new account always finds room.

/** How much more an account may take from a pool of `max`, of which `used` is used, `held` of this by the account. */
export function shareRoom(max: number, used: number, held: number): number {
  // held + room <= max - used - room
  return Math.max(0, Math.floor((max - used - held) / 2));
}

/** Why a pool gave nothing: the account has its share, or the whole pool is used. */
export type PoolRefusal = 'account' | 'node';

/** What the other lanes of the process hold of the same pool. */
export interface OtherLanes {
  used(): number;
  heldBy(accountId: string): number;
  /** Reports to the other lanes what this lane now holds: `after` in total, and `held` of it for this account. */
  change(before: number, after: number, accountId: string, heldBefore: number, held: number): void;
}

export class Pool {
  readonly max: number;
  readonly #elsewhere: OtherLanes | null;
  readonly #heldBy = new Map<string, number>();
  readonly #refused: Record<PoolRefusal, number> = { account: 0, node: 0 };
  #used = 0;

  constructor(max: number, elsewhere: OtherLanes | null = null) {
    this.max = max;
    this.#elsewhere = elsewhere;
  }

  /** How much this lane holds, for all accounts. */
  get used(): number {
    return this.#used;
  }

  get refused(): Readonly<Record<PoolRefusal, number>> {
    return this.#refused;
  }

  heldBy(accountId: string): number {
    return this.#heldBy.get(accountId) ?? 0;
  }

  room(accountId: string): number {
    const others = this.#elsewhere;
    if (others === null) return shareRoom(this.max, this.#used, this.heldBy(accountId));
    return shareRoom(this.max, this.#used + others.used(), this.heldBy(accountId) + others.heldBy(accountId));
  }

  /** Takes `amount` and returns null, or takes nothing and returns why. */
  take(accountId: string, amount: number): PoolRefusal | null {
    if (amount > this.room(accountId)) return this.#refuse(amount);
    this.#change(accountId, amount);
    // Another lane may have taken some at the same time. If both are too much together, at least one of them sees that.
    if (this.#elsewhere === null || this.#used + this.#elsewhere.used() <= this.max) return null;
    this.#change(accountId, -amount);
    return this.#refuse(amount);
  }

  #refuse(amount: number): PoolRefusal {
    const why = this.#used + (this.#elsewhere?.used() ?? 0) + amount > this.max ? 'node' : 'account';
    this.#refused[why] += 1;
    return why;
  }

  #change(accountId: string, by: number): void {
    const held = this.heldBy(accountId);
    this.#elsewhere?.change(this.#used, this.#used + by, accountId, held, held + by);
    this.#used += by;
    if (held + by === 0) this.#heldBy.delete(accountId);
    else this.#heldBy.set(accountId, held + by);
  }

  /** Returns an amount to the pool. */
  give(accountId: string, amount: number): void {
    if (amount > this.heldBy(accountId)) throw new Error(`more was given back to a pool than was taken: ${amount}`);
    this.#change(accountId, -amount);
  }
}
