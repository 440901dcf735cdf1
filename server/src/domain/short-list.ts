// Lists that mostly have one entry. For the first entry of an empty list, the runtime reserves seventeen places.

/** The list with one more entry. Null stands for an empty list. */
export function withEntry<T>(list: T[] | null, entry: T): T[] {
  if (list === null) return [entry];
  list.push(entry);
  return list;
}
