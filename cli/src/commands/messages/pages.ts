// Reads a list of the API page by page, up to a limit.

const PAGE_MAX = 1000;
const LIMIT_BY_DEFAULT = 50;

export interface LimitedList<T> {
  readonly entries: readonly T[];
  /** Whether entries were left out because of the limit. */
  readonly isCut: boolean;
}

export async function readUpTo<T>(
  limitGiven: number | undefined,
  read: (page: {
    readonly count: number;
    readonly cursor?: string;
  }) => Promise<{ entries: readonly T[]; cursor?: string | undefined }>,
): Promise<LimitedList<T>> {
  const limit = limitGiven === 0 ? Number.POSITIVE_INFINITY : (limitGiven ?? LIMIT_BY_DEFAULT);
  const entries: T[] = [];
  let cursor: string | undefined;
  do {
    const count = Math.min(PAGE_MAX, limit - entries.length);
    const page = await read({ count, ...(cursor !== undefined && { cursor }) });
    entries.push(...page.entries);
    cursor = page.cursor;
  } while (cursor !== undefined && entries.length < limit);
  return { entries, isCut: cursor !== undefined };
}
