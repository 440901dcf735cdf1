// Lists in the order of a name or an id, piece by piece. Each call is a bounded piece of work; whoever wants more asks again
// behind the last entry.

import type { UsageRow } from '../domain/account.ts';
import { eachMax } from '../domain/budgets.ts';

export interface ListPart {
  /** The name or id of the entry to go on behind; null for the first. */
  readonly after: string | null;
  /** At most so many entries, and so many bytes as they are stored; but always one. */
  readonly limit: number;
  readonly bytesMax: number;
}

/** The first entries, as many as one piece may have. */
export const FIRST_PART: ListPart = { after: null, limit: 500, bytesMax: eachMax('pageBytes') };

/** Behind every id, where a list begins that goes backwards. */
export const BEHIND_ALL = '\u{10ffff}';

export interface ListPiece<T> {
  /** May be fewer than were asked for. */
  readonly entries: readonly T[];
  /** Whether there are entries behind the last of these. */
  readonly hasMore: boolean;
}

/** All entries of a list, a piece at a time. */
export async function* everyEntry<T>(
  read: (part: ListPart) => Promise<ListPiece<T>>,
  keyOf: (entry: T) => string,
): AsyncGenerator<T> {
  for (let part = FIRST_PART; ; ) {
    const { entries, hasMore } = await read(part);
    yield* entries;
    if (!hasMore) return;
    part = { ...part, after: keyOf(entries.at(-1)!) };
  }
}

/** Of rows that are one more than were asked for, if there are so many. */
export function pieceOf<R, T>(rows: readonly R[], limit: number, make: (row: R) => T): ListPiece<T> {
  return { entries: rows.slice(0, limit).map(make), hasMore: rows.length > limit };
}

export interface WeighedKey {
  readonly key: string;
  readonly bytes: number;
}

/** Of keys that are one more than were asked for, if there are so many: how many fit, and the last of them. */
export function fitting(keys: readonly WeighedKey[], { limit, bytesMax }: ListPart): { last: string; count: number } {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(keys.length, limit) && (count === 0 || bytes + keys[count]!.bytes <= bytesMax)) {
    bytes += keys[count]!.bytes;
    count += 1;
  }
  return { last: keys[count - 1]?.key ?? '', count };
}

/** The order of usage, as one text. */
export function usageKey({ day, kind }: Pick<UsageRow, 'day' | 'kind'>): string {
  return `${day} ${kind}`;
}

/** Back from `usageKey`; before the first row for null. */
export function usagePlace(key: string | null): readonly [day: string, kind: string] {
  const at = key?.indexOf(' ') ?? -1;
  return key === null || at < 0 ? ['', ''] : [key.slice(0, at), key.slice(at + 1)];
}
