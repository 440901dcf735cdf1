// The id of a request: what its caller gives, or a new one. It is in the response, in the log and in the audit, so that
// people can find what belongs together.

export const REQUEST_ID_HEADER = 'X-Request-Id';

/** These characters need no escaping in a header, a URL, a log or a shell. */
const GIVEN = /^[A-Za-z0-9._:~+/=@-]{1,128}$/;

/** The id that a caller gives, or null if it gives none that can be used. */
export function givenRequestId(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && GIVEN.test(header) ? header : null;
}

/**
 * Makes ids that nobody else makes, if `start` is unique: it is followed by a number. `random`: eight bytes. Their order is secret: a caller cannot
 * see from two ids how many requests came in between, or guess the id of another.
 */
export function requestIdMaker(start: string, random: Uint8Array): () => string {
  const view = new DataView(random.buffer, random.byteOffset, 8);
  let count = view.getUint32(0);
  const secret = view.getUint32(4);
  return () => {
    count = (count + 1) >>> 0;
    return start + scrambled(count, secret).toString(36);
  };
}

/** A number of 32 bits for each number of 32 bits, and never the same for two. */
function scrambled(number: number, secret: number): number {
  let mixed = number ^ secret;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35 ^ (secret << 1));
  return (mixed ^ (mixed >>> 16) ^ secret) >>> 0;
}
