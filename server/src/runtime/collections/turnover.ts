// A map and a set for entries that come and go with every message. V8 replaces a full table by a new one, and each old
// table refers to the next: once one of them is in the old generation, all entries of later tables survive until the
// next full collection, although each is needed only for milliseconds. So this map and this set are copied from time to
// time, before the table has grown old (measured in decision 16).

/** A copy is made when more than this, and more than twice the current entries, were added since the last copy. */
const ADDED_MIN = 128;

export class TurnoverMap<K, V> {
  #map = new Map<K, V>();
  #added = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#added += 1;
    if (isDue(this.#added, this.#map.size)) {
      this.#map = new Map(this.#map);
      this.#added = 0;
    }
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  /** Entries may be deleted during the iteration, but not added. */
  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }
}

export class TurnoverSet<T> {
  #set = new Set<T>();
  #added = 0;

  get size(): number {
    return this.#set.size;
  }

  has(value: T): boolean {
    return this.#set.has(value);
  }

  add(value: T): void {
    this.#added += 1;
    if (isDue(this.#added, this.#set.size)) {
      this.#set = new Set(this.#set);
      this.#added = 0;
    }
    this.#set.add(value);
  }

  delete(value: T): boolean {
    return this.#set.delete(value);
  }

  [Symbol.iterator](): SetIterator<T> {
    return this.#set[Symbol.iterator]();
  }
}

function isDue(added: number, size: number): boolean {
  return added > ADDED_MIN && added > 2 * size;
}
