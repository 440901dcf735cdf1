// Lists that have pages: read entry by entry, page by page, or as a whole.

import type { Call } from './call.ts';
import { PostriderError } from './errors.ts';
import { type Exchange, readJson, type SendOptions } from './send.ts';

/** A list of the service. Pages are requested when they are needed. */
export interface Listing<T> extends AsyncIterable<T> {
  pages(): AsyncGenerator<readonly T[]>;
  all(): Promise<T[]>;
}

/** `list` is the name of the list in the response, or null when the response is the list. */
export function listing<T>(
  exchange: Exchange,
  call: Call<unknown>,
  list: string | null,
  options?: SendOptions,
): Listing<T> {
  async function* pages(): AsyncGenerator<readonly T[]> {
    for (let cursor: string | null = null; ; ) {
      const page = await readPage(exchange, call, cursor, options);
      yield listOf(page.answer, list) as readonly T[];
      // Requesting the same cursor again would never end.
      if (page.next === null || page.next === cursor) return;
      cursor = page.next;
    }
  }
  async function* each(): AsyncGenerator<T> {
    for await (const page of pages()) yield* page;
  }
  return {
    pages,
    [Symbol.asyncIterator]: each,
    async all() {
      const found: T[] = [];
      for await (const page of pages()) found.push(...page);
      return found;
    },
  };
}

/** The response of a call. If it is a list that has pages, the whole list. */
export async function readWhole<T>(exchange: Exchange, call: Call<T>, options?: SendOptions): Promise<T> {
  const { answer, next } = await readPage(exchange, call, null, options);
  if (call.list === undefined || next === null) return answer as T;
  const lists = [listOf(answer, call.list)];
  for (let cursor: string | null = next; cursor !== null; ) {
    const page = await readPage(exchange, call, cursor, options);
    lists.push(listOf(page.answer, call.list));
    cursor = page.next;
  }
  if (call.list === null) return lists.flat() as T;
  const { cursor: _cursor, ...rest } = answer as Record<string, unknown>;
  return { ...rest, [call.list]: lists.flat() } as T;
}

function readPage(exchange: Exchange, call: Call<unknown>, cursor: string | null, options?: SendOptions) {
  const { path } = call;
  const at = cursor === null ? path : `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
  return exchange(
    { ...call, path: at },
    async (response) => {
      const answer = await readJson(response);
      return { answer, next: nextCursor(response, answer) };
    },
    options,
  );
}

/** The cursor of the next page. It is in the response, or in a header when the response is the list itself. */
function nextCursor(response: Response, answer: unknown): string | null {
  if (!Array.isArray(answer)) return (answer as { cursor?: string } | null)?.cursor ?? null;
  const [, query] = /<\?([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return query === undefined ? null : new URLSearchParams(query).get('cursor');
}

function listOf(answer: unknown, list: string | null): readonly unknown[] {
  const lists = new Map(list === null ? [] : Object.entries(answer ?? {}));
  const found = list === null ? answer : lists.get(list);
  if (Array.isArray(found)) return found as readonly unknown[];
  throw new PostriderError(200, '', 'the response has no list');
}
