// Pages of lists, ordered by a name or an id. A page ends at `count` or at the limit of bytes, and a cursor leads to
// the next one. The cursor is a field of an object; beside an array, which the public clients expect, it is in a `Link`
// header.

import type { FastifyReply } from 'fastify';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../../../store/ports/list-piece.ts';
import { StreamedAnswer } from '../answer-stream.ts';
import { ApiError } from '../errors.ts';
import Type, { type Static } from '../shapes/schema.ts';
import { markOf, parseKeyCursor, toKeyCursor } from './cursors.ts';
import { wholeNumber } from './filters.ts';

const COUNT_MAX = 1000;

export const pageQuery = {
  count: Type.Optional(Type.String({ description: `Maximum of entries in the page, up to ${COUNT_MAX}.` })),
  cursor: Type.Optional(
    Type.String({ description: 'Where the page starts: the cursor of the previous page, with the same filters.' }),
  ),
};
export const PageQuery = Type.Object(pageQuery);

export interface List<T> {
  /** The name and the filters of the list. A cursor of another list, or with other filters, is refused. */
  readonly name: string;
  readonly filters?: object;
  /** Reads a piece of the list. */
  readonly read: (part: ListPart) => Promise<ListPiece<T>>;
  readonly keyOf: (entry: T) => string;
  /** Converts the entries to what the response shows, one object for each entry. */
  readonly show: (entries: readonly T[]) => readonly object[] | Promise<readonly object[]>;
  /** The page size when the caller gives no count. Without a default, a page has as many entries as fit. */
  readonly countDefault?: number;
}

interface Page {
  /** Each entry as JSON text. */
  readonly texts: readonly string[];
  readonly bytes: number;
  readonly cursor: string | null;
}

/** Returns an array. A header names the next page, if there is one. */
export async function arrayPage<T>(
  list: List<T>,
  query: Static<typeof PageQuery>,
  reply: FastifyReply,
): Promise<StreamedAnswer> {
  const { texts, bytes, cursor } = await readPage(list, query);
  if (cursor !== null) {
    const count = !query.count ? '' : `&count=${encodeURIComponent(query.count)}`;
    // The link is relative to the requested URL, so it is correct behind a proxy as well.
    reply.header('Link', `<?cursor=${cursor}${count}>; rel="next"`);
  }
  return new StreamedAnswer(bytes, () => arrayOf(texts));
}

/** Returns an object: the entries under the name of the list, the other fields, and the cursor of the next page. */
export async function objectPage<T>(
  list: List<T>,
  query: Static<typeof PageQuery>,
  rest: object = {},
): Promise<StreamedAnswer> {
  const { texts, bytes, cursor } = await readPage(list, query);
  return new StreamedAnswer(bytes, function* () {
    const others = JSON.stringify({ ...rest, ...(cursor !== null && { cursor }) });
    yield `${others.slice(0, -1)}${others === '{}' ? '' : ','}${JSON.stringify(list.name)}:`;
    yield* arrayOf(texts);
    yield '}';
  });
}

/** For a list without further pages: as many entries as one page can hold. */
export function firstOfPage<T extends object>(entries: readonly T[]): readonly T[] {
  let bytes = 0;
  const end = entries.findIndex((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    return bytes > eachMax('pageBytes');
  });
  return end === -1 ? entries : entries.slice(0, end);
}

function* arrayOf(texts: readonly string[]): Iterable<string> {
  yield '[';
  for (const [index, text] of texts.entries()) yield index === 0 ? text : `,${text}`;
  yield ']';
}

/** Reads a page of the list. An empty parameter counts as absent. */
async function readPage<T>(list: List<T>, query: Static<typeof PageQuery>): Promise<Page> {
  const bytesMax = eachMax('pageBytes');
  const count = query.count ? parseCount(query.count) : (list.countDefault ?? Number.POSITIVE_INFINITY);
  const texts: string[] = [];
  let bytes = 0;
  const mark = markOf(list.name, list.filters ?? {});
  let after = query.cursor ? parseKeyCursor(query.cursor, mark) : null;
  const add = (entry: T, shown: unknown) => {
    const text = JSON.stringify(shown);
    texts.push(text);
    bytes += Buffer.byteLength(text) + 1;
    after = list.keyOf(entry);
    return texts.length >= count || bytes >= bytesMax;
  };
  for (;;) {
    const limit = Math.min(FIRST_PART.limit, count - texts.length);
    const { entries, hasMore } = await list.read({ after, limit, bytesMax: bytesMax - bytes });
    const shown = await list.show(entries);
    const lastAt = entries.findIndex((entry, index) => add(entry, shown[index]));
    const isThrough = !hasMore && (lastAt === -1 || lastAt === entries.length - 1);
    if (isThrough) return { texts, bytes, cursor: null };
    if (lastAt !== -1) return { texts, bytes, cursor: toKeyCursor(after!, mark) };
  }
}

function parseCount(text: string): number {
  const count = wholeNumber('count', text);
  if (count < 1 || count > COUNT_MAX) throw new ApiError('bad_parameter', `count: must be from 1 to ${COUNT_MAX}`);
  return count;
}
