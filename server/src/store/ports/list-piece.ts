// Lists ordered by name or id, read piece by piece. Each call does a bounded amount of work; the caller calls again
// with the last entry to get more.

import type { UsageRow } from '../../rules/accounts/account.ts';
import { eachMax } from '../../rules/limits/budgets.ts';

export interface ListPieceRequest {
  /** The name or id of the last entry already read; null to begin. */
  readonly after: string | null;
  /** The limits of the piece, in entries and in stored bytes. A piece has at least one entry, if any is left. */
  readonly limit: number;
  readonly bytesMax: number;
}

/** The first piece of a list, as large as a piece may be. */
export const FIRST_PART: ListPieceRequest = { after: null, limit: 500, bytesMax: eachMax('pageBytes') };

/** Sorts after every id: the start of a list in descending order. */
export const BEHIND_ALL = '\u{10ffff}';

export interface ListPiece<T> {
  /** There may be fewer entries than requested. */
  readonly entries: readonly T[];
  /** Whether the list has more entries after these. */
  readonly hasMore: boolean;
}

/** All entries of a list, read piece by piece. */
export async function* everyEntry<T>(
  read: (part: ListPieceRequest) => Promise<ListPiece<T>>,
  keyOf: (entry: T) => string,
): AsyncGenerator<T> {
  for (let part = FIRST_PART; ; ) {
    const { entries, hasMore } = await read(part);
    yield* entries;
    if (!hasMore) return;
    part = { ...part, after: keyOf(entries.at(-1)!) };
  }
}

/** Makes a piece of the first `limit` rows. A further row in `rows` means that the list has more entries. */
export function pieceOf<R, T>(rows: readonly R[], limit: number, make: (row: R) => T): ListPiece<T> {
  return { entries: rows.slice(0, limit).map(make), hasMore: rows.length > limit };
}

export interface SizedKey {
  readonly key: string;
  readonly bytes: number;
}

/**
 * How many of `keys` fit into a piece, and the last key that fits. `keys` may have one key more than `limit`, which
 * never fits.
 */
export function fittingKeys(
  keys: readonly SizedKey[],
  { limit, bytesMax }: ListPieceRequest,
): { last: string; count: number } {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(keys.length, limit) && (count === 0 || bytes + keys[count]!.bytes <= bytesMax)) {
    bytes += keys[count]!.bytes;
    count += 1;
  }
  return { last: keys[count - 1]?.key ?? '', count };
}

/** The sort key of a usage row, as one string. */
export function usageKey({ day, kind }: Pick<UsageRow, 'day' | 'kind'>): string {
  return `${day} ${kind}`;
}

/** The reverse of `usageKey`. For null, a position before the first row. */
export function usagePosition(key: string | null): readonly [day: string, kind: string] {
  const at = key?.indexOf(' ') ?? -1;
  return key === null || at < 0 ? ['', ''] : [key.slice(0, at), key.slice(at + 1)];
}
