// A cache of results that can be computed again. It is cleared when it is full: that costs less than tracking the
// oldest entry.

export class BoundedCache<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    if (this.#entries.size >= this.#entriesMax) this.#entries.clear();
    this.#entries.set(key, value);
  }
}
