// Sends calls with the runtime's `fetch` and reads the responses. Each call is sent once, unless a retry policy is
// given, such as the one in retry.ts.

import type { Call } from './call.ts';
import { errorFrom, PostriderError, UnreachableError } from './errors.ts';

export interface ConnectionOptions {
  /**
   * For example `http://127.0.0.1:8411`, with or without a path that a proxy adds. Default: the environment variable
   * `POSTRIDER_URL`, in runtimes that have environment variables.
   */
  readonly baseUrl?: string | undefined;
  /**
   * Omit the token when a cookie authenticates the caller. Default: the environment variable `POSTRIDER_TOKEN`, which
   * is sent only to the address in `POSTRIDER_URL`.
   */
  readonly token?: string | undefined;
  /**
   * The prefix that the server was started with. Without it, the client asks the service for the prefix once, before
   * the first call that needs it.
   */
  readonly headerPrefix?: string | undefined;
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** How long to wait for a response, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called when the service accepted a call with a warning, for instance about a misspelt setting. Default:
   * `console.warn`.
   */
  readonly onWarning?: ((text: string) => void) | undefined;
}

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Sends a call and returns its response. */
export type Send = <T>(call: Call<T>, options?: SendOptions) => Promise<T>;

/** Sends a call and reads the response if its status is a success. */
export type Exchange = <T>(
  call: Call<unknown>,
  read: (response: Response) => Promise<T>,
  options?: SendOptions & { readonly hasNoDeadline?: boolean },
) => Promise<T>;

/** Decides whether a call is sent again. `attempt` sends the call, with additional headers. */
export type RetryPolicy = <T>(
  call: Call<unknown>,
  headerPrefix: string,
  attempt: (headers: Record<string, string>) => Promise<T>,
  signal: AbortSignal | undefined,
) => Promise<T>;

export const DEFAULT_PREFIX = 'Service-';

/** The smallest client: sends any of `calls`. It sends a call again only with a policy such as `retry()`. */
export function connect(options: ConnectionOptions = {}, policy?: RetryPolicy): Send {
  const exchange = exchangeWith(options, policy);
  return (call, sendOptions) => exchange(call, readJson, sendOptions) as Promise<never>;
}

/**
 * Returns the option `headerPrefix`. Without this option, it asks the service once. It rejects if the service is not
 * available now: with a wrong prefix the service would ignore every setting, and would not recognise a retry.
 */
export type AskPrefix = (signal?: AbortSignal) => Promise<string>;

function prefixOf({ headerPrefix }: ConnectionOptions, exchange: Exchange): AskPrefix {
  let asked: Promise<string> | undefined;
  return async (signal) => {
    if (headerPrefix) return headerPrefix;
    asked ??= exchange(QUESTION, (response) => response.text())
      // A proxy in front of the service may block this request. Then the default prefix is used.
      .catch((error: Partial<PostriderError>) => {
        if (error.status! < 429) return '';
        asked = undefined;
        throw error;
      })
      .then((text) => /"headerPrefix":"([^"]+)/.exec(text)?.[1] ?? DEFAULT_PREFIX);
    return unlessAborted(asked, signal);
  };
}

/** The call that asks for the prefix. It needs no token. */
const QUESTION: Call<unknown> = { method: 'GET', path: '/', headers: { Accept: 'application/json' } };

/**
 * Waits for `work`, but not longer than until the signal aborts. It removes its listener, because the signal may live
 * as long as the program.
 */
function unlessAborted<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal!.reason);
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', end));
  });
}

/** A variable of the environment. Undefined if there is no environment, or if it may not be read. */
function variable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string> } };
    return process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** The address and the token. `POSTRIDER_TOKEN` is sent only to the address in `POSTRIDER_URL`. */
function placeOf({ baseUrl, token }: ConnectionOptions): { readonly baseUrl: string; readonly token?: string } {
  const own = variable('POSTRIDER_URL');
  const url = baseUrl || own;
  if (!url) throw new TypeError('baseUrl is missing: give the address of the service, or set POSTRIDER_URL');
  const known = token ?? (url === own ? variable('POSTRIDER_TOKEN') : undefined);
  return { baseUrl: url.replace(/\/+$/, ''), ...(known && { token: known }) };
}

export function exchangeWith(
  options: ConnectionOptions,
  policy?: RetryPolicy,
): Exchange & { readonly askPrefix: AskPrefix } {
  const { timeoutMs = 60_000, onWarning = console.warn } = options;
  const { baseUrl, token } = placeOf(options);
  const doFetch = options.fetch ?? globalThis.fetch.bind(globalThis);

  const exchange: Exchange = async (call, read, { signal, hasNoDeadline } = {}) => {
    const { method, path, body } = call;
    const isPrefixed = Object.keys(call.settings ?? {}).length > 0 || (policy && call.repeat === 'key');
    const headerPrefix = isPrefixed ? await askPrefix(signal) : DEFAULT_PREFIX;
    const attempt = async (more: Record<string, string>) => {
      // The headers are made before the request: a value that a header cannot contain then throws its own TypeError.
      const headers = new Headers({
        ...(token && call !== QUESTION && { Authorization: `Bearer ${token}` }),
        ...options.headers,
        ...headersOf(call, headerPrefix),
        ...more,
      });
      const isEndless = hasNoDeadline || timeoutMs === Infinity;
      const signals = [signal ?? [], isEndless ? [] : AbortSignal.timeout(timeoutMs)].flat();
      try {
        const response = await doFetch(baseUrl + path, {
          method,
          headers,
          redirect: 'manual',
          body: body as string,
          signal: AbortSignal.any(signals),
        });
        if (!response.ok) throw await errorFrom(response);
        // Warnings are accepted under every prefix, because the service may warn that the prefix is wrong.
        for (const [name, text] of response.headers) if (name.endsWith('-warning')) onWarning(`Postrider: ${text}`);
        return await read(response);
      } catch (cause) {
        signal?.throwIfAborted();
        if (cause instanceof PostriderError) throw cause;
        const isLate = signals.some((each) => each.aborted);
        throw new UnreachableError(`no response${isLate ? ` within ${timeoutMs} ms` : ''} from ${baseUrl}`, { cause });
      }
    };
    return policy ? policy(call, headerPrefix, attempt, signal) : attempt({});
  };
  const askPrefix = prefixOf(options, exchange);
  return Object.assign(exchange, { askPrefix });
}

/** Reads a response as JSON. A response that is not JSON does not come from the service. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new PostriderError(response.status, '', 'the response is not JSON');
  }
}

/** The headers of a call, except for authentication. */
export function headersOf(call: Call<unknown>, prefix = DEFAULT_PREFIX): Record<string, string> {
  const settings = Object.entries(call.settings ?? {}).map(([name, value]) => [prefix + name, value]);
  return { ...call.headers, ...Object.fromEntries(settings) };
}
