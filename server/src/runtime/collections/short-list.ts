// Lists that mostly have few entries. When a list grows, the runtime reserves sixteen places more than it needs.

/** The list with two more entries, which may be a new list. Null is an empty list. */
export function withPair<T>(list: T[] | null, first: T, second: T): T[] {
  if (list === null) return [first, second];
  if (list.length === 2) return [list[0]!, list[1]!, first, second];
  list.push(first, second);
  return list;
}

/** The list with one more entry, which may be a new list. Null is an empty list. */
export function withEntry<T>(list: T[] | null, entry: T): T[] {
  if (list === null) return [entry];
  if (list.length === 1) return [list[0]!, entry];
  if (list.length === 2) return [list[0]!, list[1]!, entry];
  list.push(entry);
  return list;
}
