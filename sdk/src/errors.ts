// The errors of a call.

/** The service refused the call, with a text and a stable code. See docs/errors.md. */
export class PostriderError extends Error {
  override readonly name = 'PostriderError';
  readonly status: number;
  readonly code: string;
  /** How many seconds to wait before a retry, if the service says so. */
  readonly retryAfterSeconds: number | null;

  constructor(status: number, code: string, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** There was no response: the service cannot be reached, or the connection broke. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

export async function errorFrom(response: Response): Promise<PostriderError> {
  const text = await response.text().catch(() => '');
  const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN);
  const seconds = Number.isFinite(retryAfter) ? retryAfter : null;
  try {
    const { error, code } = JSON.parse(text) as { error?: unknown; code?: unknown };
    if (typeof error === 'string') return new PostriderError(response.status, String(code ?? ''), error, seconds);
  } catch {
    // A proxy in between answered in its own format.
  }
  return new PostriderError(response.status, '', `the service answered ${response.status}`, seconds);
}
