// What was worked out before, for whoever can work it out again. It starts anew when it is full: that costs less than to know
// which entry is the oldest.

export class Remembered<K, V> {
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
