// Pages of lists in the order of a name or an id. A page ends at `count`, and at the budget of bytes; then a cursor leads
// on: in the answer where that is an object, and as a `Link` where it is an array, which the public clients expect.

import type { FastifyReply } from 'fastify';
import Type, { type Static } from 'typebox';
import { eachMax } from '../domain/budgets.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../store/list-piece.ts';
import { StreamedAnswer } from './answer-stream.ts';
import { ApiError } from './errors.ts';
import { wholeNumber } from './filters.ts';

const COUNT_MAX = 1000;
/** As long as the longest name, in base64. */
const CURSOR = /^[\w-]{1,1400}$/;

export const pageQuery = {
  count: Type.Optional(Type.String({ description: `Most entries of the page, up to ${COUNT_MAX}.` })),
  cursor: Type.Optional(Type.String({ description: 'Where the page starts: as the page before it said.' })),
};
export const PageQuery = Type.Object(pageQuery);

export interface List<T> {
  /** A piece of it. */
  readonly read: (part: ListPart) => Promise<ListPiece<T>>;
  readonly keyOf: (entry: T) => string;
  /** As the answer has them, one for each. */
  readonly show: (entries: readonly T[]) => readonly object[] | Promise<readonly object[]>;
  /** Unless the caller says; without, as many as fit. */
  readonly countDefault?: number;
}

interface Page {
  /** Each entry as JSON. */
  readonly texts: readonly string[];
  readonly bytes: number;
  readonly cursor: string | null;
}

/** Answers an array. The next page, if there is one, is named by a header. */
export async function arrayPage<T>(
  list: List<T>,
  query: Static<typeof PageQuery>,
  reply: FastifyReply,
): Promise<StreamedAnswer> {
  const { texts, bytes, cursor } = await readPage(list, query);
  if (cursor !== null) {
    const count = !query.count ? '' : `&count=${encodeURIComponent(query.count)}`;
    // Relative to the address that was asked: it holds behind a proxy as well.
    reply.header('Link', `<?cursor=${cursor}${count}>; rel="next"`);
  }
  return new StreamedAnswer(bytes, () => arrayOf(texts));
}

/** Answers an object: the entries under a name, the rest, and the cursor of the next page, if there is one. */
export async function objectPage<T>(
  name: string,
  list: List<T>,
  query: Static<typeof PageQuery>,
  rest: object = {},
): Promise<StreamedAnswer> {
  const { texts, bytes, cursor } = await readPage(list, query);
  return new StreamedAnswer(bytes, function* () {
    const others = JSON.stringify({ ...rest, ...(cursor !== null && { cursor }) });
    yield `${others.slice(0, -1)}${others === '{}' ? '' : ','}${JSON.stringify(name)}:`;
    yield* arrayOf(texts);
    yield '}';
  });
}

/** For a list that does not lead on: as many of the first as a page has room for. */
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

/** A parameter that is there but empty counts as absent. */
async function readPage<T>(list: List<T>, query: Static<typeof PageQuery>): Promise<Page> {
  const bytesMax = eachMax('pageBytes');
  const count = query.count ? parseCount(query.count) : (list.countDefault ?? Number.POSITIVE_INFINITY);
  const texts: string[] = [];
  let bytes = 0;
  let after = query.cursor ? parseCursor(query.cursor) : null;
  for (;;) {
    const limit = Math.min(FIRST_PART.limit, count - texts.length);
    const { entries, hasMore } = await list.read({ after, limit, bytesMax: bytesMax - bytes });
    const shown = await list.show(entries);
    for (const [index, entry] of entries.entries()) {
      const text = JSON.stringify(shown[index]);
      texts.push(text);
      bytes += Buffer.byteLength(text) + 1;
      after = list.keyOf(entry);
      const isFull = texts.length >= count || bytes >= bytesMax;
      const isLast = index === entries.length - 1;
      if (isFull) return { texts, bytes, cursor: isLast && !hasMore ? null : toCursor(after) };
    }
    if (!hasMore) return { texts, bytes, cursor: null };
  }
}

function parseCount(text: string): number {
  const count = wholeNumber('count', text);
  if (count < 1 || count > COUNT_MAX) throw new ApiError('bad_parameter', `count: must be from 1 to ${COUNT_MAX}`);
  return count;
}

function toCursor(key: string): string {
  return Buffer.from(key).toString('base64url');
}

function parseCursor(text: string): string {
  const key = CURSOR.test(text) ? Buffer.from(text, 'base64url').toString() : '';
  // What is no text, or a text that no store can hold, comes from nowhere.
  if (key === '' || key.includes('\0') || toCursor(key) !== text) {
    throw new ApiError('bad_parameter', 'cursor: must be one that a page before has given');
  }
  return key;
}
