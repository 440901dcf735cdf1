// How many expired messages one transaction deletes. For every adapter.

import { eachMax } from '../domain/budgets.ts';

interface Expired {
  /** The size of the body, which several messages may share. */
  readonly bytes: number;
  readonly body_id: number | null;
}

/**
 * The first messages whose bodies fit into the byte limit of one transaction. A message that exceeds the limit is taken
 * alone.
 */
export function withinBytes<T extends Expired>(expired: readonly T[]): readonly T[] {
  let bytes = 0;
  const shared = new Set<number>();
  const end = expired.findIndex((each, index) => {
    if (each.body_id === null || !shared.has(each.body_id)) bytes += each.bytes;
    if (each.body_id !== null) shared.add(each.body_id);
    return index > 0 && bytes > eachMax('upkeepBytes');
  });
  return end === -1 ? expired : expired.slice(0, end);
}
