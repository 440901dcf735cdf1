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
  /** The code is empty when the response did not come from the service, but for instance from a proxy. */
  readonly code: ErrorCode | '';
  /**
   * How many seconds to wait before a retry, if the service says so. Negative if the service named a time in the past.
   */
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

/** There was no response: the service cannot be reached, the connection broke, or the response took too long. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** A change of many items has failed after a part was done. `done` says which part, and `cause` says why it failed. */
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
  // A proxy in front of the service may respond in its own format.
  const answer = (await response.json().catch(() => null)) as { error?: unknown; code?: unknown } | null;
  const { error, code } = answer ?? {};
  const text = (value: unknown, otherwise: string) => (typeof value === 'string' ? value : otherwise);
  // The value is a number of seconds or a date. Proxies often send a date.
  const after = headers.get('Retry-After') ?? '';
  return new PostriderError(status, text(code, ''), text(error, `the service returned ${status}`), {
    retryAfterSeconds: (after > '9' ? (Date.parse(after) - Date.now()) / 1000 : Number(after)) || null,
    answer,
  });
}
