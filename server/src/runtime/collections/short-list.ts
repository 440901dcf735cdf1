// Adds entries to lists that mostly stay short. When an array grows, the runtime reserves memory for sixteen entries
// more than it needs, so a short list is replaced by a new array of the exact length.

/** Adds two entries. Returns the given list, changed, or a new list. Null is taken as an empty list. */
export function withPair<T>(list: T[] | null, first: T, second: T): T[] {
  if (list === null) return [first, second];
  if (list.length === 2) return [list[0]!, list[1]!, first, second];
  list.push(first, second);
  return list;
}

/** Adds an entry. Returns the given list, changed, or a new list. Null is taken as an empty list. */
export function withEntry<T>(list: T[] | null, entry: T): T[] {
  if (list === null) return [entry];
  if (list.length === 1) return [list[0]!, entry];
  if (list.length === 2) return [list[0]!, list[1]!, entry];
  list.push(entry);
  return list;
}
