// Pages of lists, ordered by a name or an id. A page ends at `count` or at the limit of bytes, and a cursor leads to
// the next one. If the response is an object, the cursor is one of its fields. If it is an array, which the public
// clients expect of some lists, the cursor is in a `Link` header.

import type { FastifyReply } from 'fastify';
import { eachMax } from '../../../rules/limits/budgets.ts';
import { FIRST_PART, type ListPiece, type ListPieceRequest } from '../../../store/ports/list-piece.ts';
import { StreamedResponse } from '../answer-stream.ts';
import { ApiError } from '../errors.ts';
import Type, { type Static } from '../shapes/schema.ts';
import { cursorMarkOf, parseKeyCursor, toKeyCursor } from './cursors.ts';
import { parseWholeNumber } from './filters.ts';

const COUNT_MAX = 1000;

export const pageParameters = {
  count: Type.Optional(Type.String({ description: `Maximum of entries in the page, up to ${COUNT_MAX}.` })),
  cursor: Type.Optional(
    Type.String({ description: 'Where the page starts: the cursor of the previous page, with the same filters.' }),
  ),
};
export const PageQuery = Type.Object(pageParameters);

export interface ListSource<T> {
  /** The name and the filters of the list. A cursor of another list, or with other filters, is refused. */
  readonly name: string;
  readonly filters?: object;
  /** Reads a piece of the list. */
  readonly read: (part: ListPieceRequest) => Promise<ListPiece<T>>;
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
  list: ListSource<T>,
  query: Static<typeof PageQuery>,
  reply: FastifyReply,
): Promise<StreamedResponse> {
  const { texts, bytes, cursor } = await readPage(list, query);
  if (cursor !== null) {
    const count = !query.count ? '' : `&count=${encodeURIComponent(query.count)}`;
    // The link is relative to the requested URL, so it is correct behind a proxy as well.
    reply.header('Link', `<?cursor=${cursor}${count}>; rel="next"`);
  }
  return new StreamedResponse(bytes, () => arrayOf(texts));
}

/** Returns an object: the entries under the name of the list, the other fields, and the cursor of the next page. */
export async function objectPage<T>(
  list: ListSource<T>,
  query: Static<typeof PageQuery>,
  rest: object = {},
): Promise<StreamedResponse> {
  const { texts, bytes, cursor } = await readPage(list, query);
  return new StreamedResponse(bytes, function* () {
    const others = JSON.stringify({ ...rest, ...(cursor !== null && { cursor }) });
    yield `${others.slice(0, -1)}${others === '{}' ? '' : ','}${JSON.stringify(list.name)}:`;
    yield* arrayOf(texts);
    yield '}';
  });
}

/** Returns the first entries, as many as one page can hold, of a list that has only one page. */
export function entriesThatFit<T extends object>(entries: readonly T[]): readonly T[] {
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
async function readPage<T>(list: ListSource<T>, query: Static<typeof PageQuery>): Promise<Page> {
  const bytesMax = eachMax('pageBytes');
  const count = query.count ? parseCount(query.count) : (list.countDefault ?? Number.POSITIVE_INFINITY);
  const texts: string[] = [];
  let bytes = 0;
  const mark = cursorMarkOf(list.name, list.filters ?? {});
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
  const count = parseWholeNumber('count', text);
  if (count < 1 || count > COUNT_MAX) throw new ApiError('bad_parameter', `count: must be from 1 to ${COUNT_MAX}`);
  return count;
}
