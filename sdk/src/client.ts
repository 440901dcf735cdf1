// The client: sends calls and reads answers with whatever `fetch` the runtime has. Keeps nothing but its options.

import { type AnswerOf, type Call, type Calls, calls, streamPath } from './calls.ts';
import { errorFrom, UnreachableError } from './errors.ts';
import { readEventStream, type StreamedEvent } from './event-stream.ts';
import type { MessageFilter } from './wire.ts';

export interface ClientOptions {
  /** Such as `http://127.0.0.1:8411`, with or without a path that a proxy puts in front. */
  readonly baseUrl: string;
  /** Left out where a cookie speaks for the caller. */
  readonly token?: string;
  /** As the server was started; `Service-` unless given. */
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
  /** What happens, as it happens, until `signal` aborts or the connection ends; then go on behind `lastEventId`. */
  stream(filter: MessageFilter, options: StreamOptions): AsyncGenerator<StreamedEvent>;
}

export interface StreamOptions {
  readonly signal: AbortSignal;
  readonly lastEventId?: string | null;
  /** The connection stands: what happens from now on will be told. */
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
    const response = await request(call.path, {
      method: call.method,
      headers: { ...own(), ...headersOf(call, options.headerPrefix) },
      ...(call.body !== undefined && { body: typeof call.body === 'string' ? call.body : new Uint8Array(call.body) }),
      ...(signal && { signal }),
    });
    return (await response.json()) as T;
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

/** The headers of a call as they go over the wire, but for who is asking. */
export function headersOf(call: Call<unknown>, prefix = DEFAULT_PREFIX): Record<string, string> {
  const settings = Object.entries(call.settings ?? {}).map(([name, value]) => [prefix + name, value]);
  return { ...call.headers, ...Object.fromEntries(settings) };
}
