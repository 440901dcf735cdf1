// Lets web pages of other origins call the API where the operator allows it (CORS). A page must send a token: cookies
// are never allowed, and neither is the header that marks requests of the console.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { REQUEST_ID_HEADER } from '../../rules/requests/request-id.ts';
import { CONSOLE_HEADER } from '../console/session.ts';
import { RESPONSE_HEADERS } from './errors.ts';

export const ANY_ORIGIN = '*';
const METHODS = 'GET, POST, PUT, PATCH, DELETE';
/** The headers that a page may send, in addition to those with the prefix of the service. */
const SENT: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'traceparent',
  'tracestate',
  'x-request-id',
]);
/** The headers that a page may read from a response, in addition to the `Warning` header of the service. */
const READ = [
  'ETag',
  'Link',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  REQUEST_ID_HEADER,
];
/** How long a browser caches the response to a preflight. */
const REMEMBERED_SECONDS = '600';
const ASKED_HEADERS_MAX = 100;

export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;
  readonly #prefix: string;
  readonly #read: string;

  constructor(origins: readonly string[], headerPrefix: string) {
    this.#origins = new Set(origins);
    this.#prefix = headerPrefix.toLowerCase();
    this.#read = [...READ, `${headerPrefix}Warning`].join(', ');
  }

  isAllowed(origin: string | undefined): boolean {
    return origin !== undefined && (this.#origins.has(ANY_ORIGIN) || this.#origins.has(origin));
  }

  /** Adds the CORS headers for the page. Returns true when the request was a preflight and has its response. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (!isForPages(request.url ?? '')) return false;
    // `Vary` is sent to every origin: a cache must not give an allowed page a response that has no CORS headers.
    if (!this.#origins.has(ANY_ORIGIN)) response.setHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !this.isAllowed(origin)) return false;
    response.setHeader('Access-Control-Allow-Origin', this.#origins.has(ANY_ORIGIN) ? ANY_ORIGIN : origin);
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      response.setHeader('Access-Control-Expose-Headers', this.#read);
      return false;
    }
    const headers = this.#headersOf(request.headers['access-control-request-headers'] ?? '');
    response.writeHead(204, {
      ...RESPONSE_HEADERS,
      'Access-Control-Allow-Methods': METHODS,
      ...(headers.length > 0 && { 'Access-Control-Allow-Headers': headers.join(', ') }),
      'Access-Control-Max-Age': REMEMBERED_SECONDS,
    });
    response.end();
    return true;
  }

  /** Returns those of the requested headers that a page may send. */
  #headersOf(asked: string): string[] {
    return asked
      .toLowerCase()
      .split(',', ASKED_HEADERS_MAX)
      .map((name) => name.trim())
      .filter((name) => /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      .filter((name) => name !== CONSOLE_HEADER && (SENT.has(name) || name.startsWith(this.#prefix)));
  }
}

/** Whether pages may call this URL: the API, and the root, where a client reads the prefix of the service. */
function isForPages(url: string): boolean {
  return url === '/' || url.startsWith('/v2/');
}
