// The one place where a problem becomes a response.

import { eachMax } from '../../rules/limits/budgets.ts';
import { PROBLEMS, type Problem, type ProblemCode } from '../../rules/requests/problem.ts';
import { REQUEST_ID_HEADER } from '../../rules/requests/request-id.ts';
import type { PoolRefusal } from '../../runtime/collections/pool.ts';
import { StoreUnavailable } from '../../store/ports/store.ts';
import type { CallerResponse } from '../server/caller-response.ts';

const TEXT_MAX = eachMax('errorLength');

/** A problem that is thrown, to become the response of its request. Used only inside inbound/. */
export class ApiError extends Error {
  readonly problem: Problem;
  constructor(code: ProblemCode, message: string) {
    // The text of an error may repeat the caller's input, and a batch has an error for each element.
    const text = message.length > TEXT_MAX ? `${message.slice(0, TEXT_MAX)}…` : message;
    // Nobody needs the stack of an error that the caller caused. Building it would take longer than the rest of the
    // work to refuse an element of a batch.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(text);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiError';
    this.problem = { code, message: text };
  }
}

/** The error for a pool without room. `what` continues "the account has used its share of" and "the server has no room for more". */
export function poolError(why: PoolRefusal, what: string): ApiError {
  return why === 'account'
    ? new ApiError(
        'share_used',
        `the account has used up its share of ${what}; try again when some of its requests have ended`,
      )
    : new ApiError('overloaded', `the server has no room for more ${what}; try again shortly`);
}

/** How long a client should wait before it retries, in seconds. */
const RETRY_AFTER_SECONDS = 1;

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: string; readonly code: ProblemCode };
}

/** Headers of every API response: no cache may keep it, and no browser may guess another content type. */
export const RESPONSE_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const;

/** Headers of a response with JSON, as a list: a name, its value, the next name, … */
export const JSON_HEADERS: readonly string[] = [
  'Content-Type',
  'application/json',
  ...Object.entries(RESPONSE_HEADERS).flat(),
];

export function errorResponse(problem: Problem): ErrorResponse {
  const [status] = PROBLEMS[problem.code];
  const isLater = status === 503 || problem.code === 'share_used';
  const headers = {
    'Content-Type': 'application/json',
    ...RESPONSE_HEADERS,
    // Basic authentication works, but is not advertised: a browser would show its own password dialog over the page.
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer realm="postrider"' }),
    ...(isLater && { 'Retry-After': String(RETRY_AFTER_SECONDS) }),
  };
  return { status, headers, body: { error: problem.message, code: problem.code } };
}

/** The problem that a caught error means for the caller. Null for an internal error, to be logged as `internal`. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof ApiError) return error.problem;
  if (error instanceof StoreUnavailable) {
    switch (error.reason) {
      case 'overloaded':
        return { code: 'overloaded', message: 'too many messages wait to be written to the store; try again shortly' };
      case 'share':
        return {
          code: 'share_used',
          message: 'too many messages of the account wait to be written to the store; try again shortly',
        };
      case 'full':
        return { code: 'disk_full', message: 'the disk of the server is full; nothing was accepted' };
      case 'unavailable':
        return { code: 'store_unavailable', message: 'the store is not available; nothing was accepted' };
      case 'gone':
        return {
          code: 'store_gone',
          message: 'the tables of the store were removed or replaced; nothing was accepted',
        };
      case 'doubtful':
        return {
          code: 'outcome_unknown',
          message:
            'the store did not confirm in time: the call may or may not have taken effect; ' +
            'with a deduplication id it is safe to publish again',
        };
    }
  }
  return null;
}

/** Without an id, the response gets none here: a WholeResponse adds that of its request itself. */
export function sendError(
  response: Pick<CallerResponse, 'writeHead'>,
  problem: Problem,
  requestId: string | undefined = undefined,
): void {
  const { status, headers, body } = errorResponse(problem);
  const text = JSON.stringify(body);
  const length = ['Content-Length', String(Buffer.byteLength(text))];
  const named = requestId === undefined ? [] : [REQUEST_ID_HEADER, requestId];
  response.writeHead(status, [...Object.entries(headers).flat(), ...named, ...length]).end(text);
}
