// Sends calls with the runtime's `fetch` and reads the responses. Each call is sent once, unless a policy for retries is
// given: retry.ts has one.

import type { Call } from './call.ts';
import { errorFrom, PostriderError, UnreachableError } from './errors.ts';

export interface ConnectionOptions {
  /** Such as `http://127.0.0.1:8411`, with or without a path that a proxy puts in front. */
  readonly baseUrl: string;
  /** Omit it when a cookie authenticates the caller. */
  readonly token?: string | undefined;
  /** The prefix that the server was started with. Default: `Service-`. */
  readonly headerPrefix?: string | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** How long to wait for an answer. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** The service accepted a call and warns, of a misspelt setting for instance. Default: `console.warn`. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Sends a call and returns its answer. */
export type Send = <T>(call: Call<T>, options?: SendOptions) => Promise<T>;

/** Sends a call and reads the response, once it is a good one. */
export type Exchange = <T>(
  call: Call<unknown>,
  read: (response: Response) => Promise<T>,
  options?: SendOptions & { readonly hasNoDeadline?: boolean },
) => Promise<T>;

/** Decides whether a call is sent again. `attempt` sends it, with more headers. */
export type RetryPolicy = <T>(
  call: Call<unknown>,
  headerPrefix: string,
  attempt: (headers: Record<string, string>) => Promise<T>,
  signal: AbortSignal | undefined,
) => Promise<T>;

export const DEFAULT_PREFIX = 'Service-';

/** The smallest client: sends any of `calls`, and again only with a policy such as `retry()`. */
export function connect(options: ConnectionOptions, policy?: RetryPolicy): Send {
  const exchange = exchangeWith(options, policy);
  return (call, sendOptions) => exchange(call, readJson, sendOptions) as Promise<never>;
}

export function exchangeWith(options: ConnectionOptions, policy?: RetryPolicy): Exchange {
  const { baseUrl, token, headerPrefix = DEFAULT_PREFIX, timeoutMs = 60_000, onWarning = console.warn } = options;
  const doFetch = options.fetch ?? globalThis.fetch.bind(globalThis);

  return (call, read, { signal, hasNoDeadline } = {}) => {
    const { method, path, body } = call;
    const attempt = async (more: Record<string, string>) => {
      // Made here, so that a value that no header can hold is an error of its own.
      const headers = new Headers({
        ...(token && { Authorization: `Bearer ${token}` }),
        ...options.headers,
        ...headersOf(call, headerPrefix),
        ...more,
      });
      const isEndless = hasNoDeadline || timeoutMs === Infinity;
      const signals = [signal ?? [], isEndless ? [] : AbortSignal.timeout(timeoutMs)].flat();
      try {
        const response = await doFetch(baseUrl.replace(/\/+$/, '') + path, {
          method,
          headers,
          redirect: 'manual',
          body: body as string,
          signal: AbortSignal.any(signals),
        });
        if (!response.ok) throw await errorFrom(response);
        const warning = response.headers.get(`${headerPrefix}Warning`);
        if (warning) onWarning(`Postrider: ${warning}`);
        return await read(response);
      } catch (cause) {
        signal?.throwIfAborted();
        if (cause instanceof PostriderError) throw cause;
        const isLate = signals.some((each) => each.aborted);
        throw new UnreachableError(`no answer${isLate ? ` within ${timeoutMs} ms` : ''} from ${baseUrl}`, { cause });
      }
    };
    return policy ? policy(call, headerPrefix, attempt, signal) : attempt({});
  };
}

/** An answer that is not JSON is not the service's. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new PostriderError(response.status, '', 'the answer is not JSON');
  }
}

/** The headers of a call, except for authentication. */
export function headersOf(call: Call<unknown>, prefix = DEFAULT_PREFIX): Record<string, string> {
  const settings = Object.entries(call.settings ?? {}).map(([name, value]) => [prefix + name, value]);
  return { ...call.headers, ...Object.fromEntries(settings) };
}
