// The errors of a call.

import type { ErrorCode } from './error-codes.ts';

export interface ErrorDetails {
  readonly retryAfterSeconds?: number | null;
  readonly answer?: unknown;
}

/** The service refused the call, with a text and a stable code. See docs/errors.md. */
export class PostriderError extends Error {
  override readonly name = 'PostriderError';
  readonly status: number;
  /** Empty when the response did not come from the service, but from a proxy for instance. */
  readonly code: ErrorCode | '';
  /** How many seconds to wait before a retry, if the service says so. Negative if it named a time in the past. */
  readonly retryAfterSeconds: number | null;
  /** The whole response, if it is JSON. */
  readonly answer: unknown;

  constructor(status: number, code: string, message: string, { retryAfterSeconds = null, answer }: ErrorDetails = {}) {
    super(message);
    this.status = status;
    this.code = code as ErrorCode | '';
    this.retryAfterSeconds = retryAfterSeconds;
    this.answer = answer;
  }
}

/** There was no response: the service cannot be reached, or the connection broke, or it took too long. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** A change of many items has failed after some of it was done: `done` says what, and `cause` why. */
export class PartlyDoneError<T> extends Error {
  override readonly name = 'PartlyDoneError';
  readonly done: T;

  constructor(done: T, cause: unknown) {
    super('only a part of the change was done', { cause });
    this.done = done;
  }
}

export async function errorFrom(response: Response): Promise<PostriderError> {
  const { status, headers } = response;
  // A proxy in between may respond in its own format.
  const answer = (await response.json().catch(() => null)) as { error?: unknown; code?: unknown } | null;
  const { error, code } = answer ?? {};
  const text = (value: unknown, otherwise: string) => (typeof value === 'string' ? value : otherwise);
  // Seconds or a date; proxies often send a date.
  const after = headers.get('Retry-After') ?? '';
  return new PostriderError(status, text(code, ''), text(error, `the service returned ${status}`), {
    retryAfterSeconds: (after > '9' ? (Date.parse(after) - Date.now()) / 1000 : Number(after)) || null,
    answer,
  });
}
