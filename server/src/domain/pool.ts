// A pool that all accounts of a node share: memory, streams, look-ups. One account may hold at most as much as stays
// free after it. So a single account gets half, several greedy ones get equal parts, and a new account always finds
// room.

/** How much more an account may take from a pool when it holds `held` of the `used`. */
export function shareRoom(max: number, used: number, held: number): number {
  // held + room <= max - used - room
  return Math.max(0, Math.floor((max - used - held) / 2));
}

/** Why a pool gave nothing: the account has its share, or the whole pool is used. */
export type PoolRefusal = 'account' | 'node';

export class Pool {
  readonly max: number;
  readonly #heldBy = new Map<string, number>();
  readonly #refused: Record<PoolRefusal, number> = { account: 0, node: 0 };
  #used = 0;

  constructor(max: number) {
    this.max = max;
  }

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
    return shareRoom(this.max, this.#used, this.heldBy(accountId));
  }

  /** Takes `amount` and returns null, or takes nothing and returns why. */
  take(accountId: string, amount: number): PoolRefusal | null {
    if (amount > this.room(accountId)) {
      const why = this.#used + amount > this.max ? 'node' : 'account';
      this.#refused[why] += 1;
      return why;
    }
    this.#used += amount;
    this.#heldBy.set(accountId, this.heldBy(accountId) + amount);
    return null;
  }

  /** Gives back what was taken. */
  give(accountId: string, amount: number): void {
    const left = this.heldBy(accountId) - amount;
    if (left < 0) throw new Error(`more was given back to a pool than was taken: ${amount}`);
    this.#used -= amount;
    if (left === 0) this.#heldBy.delete(accountId);
    else this.#heldBy.set(accountId, left);
  }
}
