// Lists that mostly have few entries. When a list grows, the runtime reserves sixteen places more than it needs.

/** The list with one more entry, which may be another list. Null stands for an empty one. */
export function withEntry<T>(list: T[] | null, entry: T): T[] {
  if (list === null) return [entry];
  if (list.length === 1) return [list[0]!, entry];
  if (list.length === 2) return [list[0]!, list[1]!, entry];
  list.push(entry);
  return list;
}
