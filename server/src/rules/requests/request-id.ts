// The id of a request: what its caller gives, or a new one. It is in the response, in the log and in the audit, so that
// people can find what belongs together.

export const REQUEST_ID_HEADER = 'X-Request-Id';

/** These characters need no escaping in a header, a URL, a log or a shell. */
const GIVEN = /^[A-Za-z0-9._:~+/=@-]{1,128}$/;

/** The id that a caller gives, or null if it gives none that can be used. */
export function givenRequestId(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && GIVEN.test(header) ? header : null;
}

/** Makes ids that nobody else makes, if `start` is unique: it is followed by a number. */
export function requestIdMaker(start: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return start + count.toString(36);
  };
}
