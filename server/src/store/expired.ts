// How much of what is past its retention goes in one transaction. For every adapter.

import { eachMax } from '../domain/budgets.ts';

interface Expired {
  /** Of its body, which several may share. */
  readonly bytes: number;
  readonly body_id: number | null;
}

/** The first ones, whose bodies are within the bytes of one transaction; one that is larger alone is taken alone. */
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
