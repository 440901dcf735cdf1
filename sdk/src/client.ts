// The client: sends calls and reads responses with the runtime's `fetch`. Keeps nothing but its options.

import { type AnswerOf, type Call, type Calls, calls, streamPath } from './calls.ts';
import { errorFrom, UnreachableError } from './errors.ts';
import { readEventStream, type StreamedEvent } from './event-stream.ts';
import type { MessageFilter } from './shapes.ts';

export interface ClientOptions {
  /** Such as `http://127.0.0.1:8411`, with or without a path that a proxy puts in front. */
  readonly baseUrl: string;
  /** Omit it when a cookie authenticates the caller. */
  readonly token?: string;
  /** The prefix that the server was started with. Default: `Service-`. */
  readonly headerPrefix?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

type Bound = {
  readonly [K in keyof Calls]: (...args: Parameters<Calls[K]>) => Promise<AnswerOf<ReturnType<Calls[K]>>>;
};

export interface Client extends Bound {
  /** Sends any call, one of `calls` for instance. */
  send<T>(call: Call<T>, signal?: AbortSignal): Promise<T>;
  /** Live events until `signal` aborts or the connection ends. Then continue after `lastEventId`. */
  stream(filter: MessageFilter, options: StreamOptions): AsyncGenerator<StreamedEvent>;
}

export interface StreamOptions {
  readonly signal: AbortSignal;
  readonly lastEventId?: string | null;
  /** The connection is open: all later events are delivered. */
  readonly onOpen?: () => void;
}

export const DEFAULT_PREFIX = 'Service-';

export function createClient(options: ClientOptions): Client {
  const base = options.baseUrl.replace(/\/+$/, '');
  const doFetch = options.fetch ?? globalThis.fetch.bind(globalThis);

  async function request(path: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await doFetch(`${base}${path}`, init);
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new UnreachableError('the service does not answer', { cause: error });
    }
    if (!response.ok) throw await errorFrom(response);
    return response;
  }

  async function send<T>(call: Call<T>, signal?: AbortSignal): Promise<T> {
    const { answer, next } = await sendOnce(call, signal);
    if (call.list === undefined || next === null) return answer as T;
    const lists = [listOf(answer, call.list)];
    for (let cursor: string | null = next; cursor !== null; ) {
      const path = `${call.path}${call.path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
      const page = await sendOnce({ ...call, path }, signal);
      lists.push(listOf(page.answer, call.list));
      cursor = page.next;
    }
    if (call.list === null) return lists.flat() as T;
    const { cursor: _cursor, ...rest } = answer as Record<string, unknown>;
    return { ...rest, [call.list]: lists.flat() } as T;
  }

  async function sendOnce(call: Call<unknown>, signal?: AbortSignal) {
    const response = await request(call.path, {
      method: call.method,
      headers: { ...own(), ...headersOf(call, options.headerPrefix) },
      ...(call.body !== undefined && { body: typeof call.body === 'string' ? call.body : new Uint8Array(call.body) }),
      ...(signal && { signal }),
    });
    const answer = (await response.json()) as unknown;
    return { answer, next: call.list === undefined ? null : nextCursor(response, answer) };
  }

  function own(): Record<string, string> {
    return { ...(options.token !== undefined && { Authorization: `Bearer ${options.token}` }), ...options.headers };
  }

  async function* stream(filter: MessageFilter, { signal, lastEventId, onOpen }: StreamOptions) {
    const headers = { ...own(), Accept: 'text/event-stream', ...(lastEventId && { 'Last-Event-ID': lastEventId }) };
    const response = await request(streamPath(filter), { headers, signal });
    onOpen?.();
    if (response.body) yield* readEventStream(response.body);
  }

  const bound = Object.fromEntries(
    Object.entries(calls).map(([name, make]) => [
      name,
      (...args: unknown[]) => send((make as (...args: unknown[]) => Call<unknown>)(...args)),
    ]),
  );
  return { ...(bound as unknown as Bound), send, stream };
}

/** The cursor of the next page: in the response, or in a header when the response is the list itself. */
function nextCursor(response: Response, answer: unknown): string | null {
  if (!Array.isArray(answer)) return (answer as { cursor?: string }).cursor ?? null;
  const [, query] = /<\?([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return query === undefined ? null : new URLSearchParams(query).get('cursor');
}

function listOf(answer: unknown, list: string | null): readonly unknown[] {
  const lists = new Map(list === null ? [] : Object.entries(answer as object));
  return (list === null ? answer : lists.get(list)) as readonly unknown[];
}

/** The headers of a call, except for authentication. */
export function headersOf(call: Call<unknown>, prefix = DEFAULT_PREFIX): Record<string, string> {
  const settings = Object.entries(call.settings ?? {}).map(([name, value]) => [prefix + name, value]);
  return { ...call.headers, ...Object.fromEntries(settings) };
}
