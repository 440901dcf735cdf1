// Pairs of an account and a name, without duplicates and always in one order. A transaction that locks several queues
// or flow keys locks them in this order, so that no deadlock can occur.

export type Pair = readonly [accountId: string, name: string];

export class Pairs {
  readonly #pairs = new Map<string, Pair>();

  constructor(pairs: Iterable<Pair> = []) {
    for (const [accountId, name] of pairs) this.add(accountId, name);
  }

  add(accountId: string, name: string): void {
    this.#pairs.set(keyOf(accountId, name), [accountId, name]);
  }

  get isEmpty(): boolean {
    return this.#pairs.size === 0;
  }

  /** The pairs as two arrays of equal length, for `unnest`. */
  columns(): [accountIds: string[], names: string[]] {
    const sorted = [...this.#pairs].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair);
    return [sorted.map(([accountId]) => accountId), sorted.map(([, name]) => name)];
  }
}

/** The pair as the key of a Map. */
export function keyOf(accountId: string, name: string): string {
  return `${accountId}\n${name}`;
}
