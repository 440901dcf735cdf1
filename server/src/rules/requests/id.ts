// Makes identifiers: a prefix for the kind of thing, then 26 characters in Crockford's base 32. The first ten of these
// are the time, so that ids sort by the time at which they were made.

export type IdPrefix = 'msg' | 'scd' | 'tpc' | 'alr' | 'job' | 'acc' | 'tok' | 'nod' | 'err' | 'aud';

/**
 * Makes a new id. The function is passed in, not imported, because it needs the clock and the random source. `now`: the
 * time to use instead of reading the clock.
 */
export type NewId = (prefix: IdPrefix, now?: number) => string;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The function that makes ids, from a clock and a random source. `randomBytes` may write its result into `into`. */
export function idMaker(now: () => number, randomBytes: (length: number, into: Uint8Array) => Uint8Array): NewId {
  // The text of the last time is kept: under load many ids are made in one millisecond, and this text is half the work.
  let lastMs = Number.NaN;
  let lastText = '';
  return (prefix, nowMs = now()) => {
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      lastText = timeText(nowMs);
    }
    return `${prefix}_${lastText}${randomText(randomBytes(16, RANDOM_OF_ID))}`;
  };
}

/** The lowest text that an id of this time may have, for a look-up of ids by their time. */
export function idsFrom(prefix: IdPrefix, atMs: number): string {
  return `${prefix}_${timeText(Math.min(Math.max(0, atMs), TIME_MAX))}`;
}

/** An id whose last part is made of 16 given bytes: the same bytes at the same time give the same id. */
export function idOf(prefix: IdPrefix, atMs: number, bytes: Uint8Array): string {
  return idsFrom(prefix, atMs) + randomText(bytes);
}

/** The same id with a number in place of its first random characters: ids of one millisecond sort by their numbers. */
export function numbered(id: string, number: number): string {
  const start = id.length - CODES_OF_ID.length;
  return id.slice(0, start) + baseText(number, NUMBER_LENGTH) + id.slice(start + NUMBER_LENGTH);
}

const NUMBER_LENGTH = 4;
/** The last time that ten characters can hold. */
const TIME_MAX = 32 ** 10 - 1;

function timeText(nowMs: number): string {
  return baseText(nowMs, 10);
}

function baseText(number: number, length: number): string {
  let text = '';
  for (let rest = number, i = 0; i < length; i += 1) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Makes one string in one call. Adding one character at a time would make sixteen strings. */
function randomText(random: Uint8Array): string {
  const codes = CODES_OF_ID;
  for (let i = 0; i < codes.length; i += 1) codes[i] = ALPHABET.charCodeAt(random[i]! & 31);
  return String.fromCharCode.apply(null, codes);
}

/** Both arrays are shared by all calls, which is safe because no call waits while it uses them. */
const CODES_OF_ID: number[] = new Array(16).fill(0);
const RANDOM_OF_ID = new Uint8Array(16);

/**
 * A number from 0 to below 1 that is spread evenly over texts: FNV-1a, and the last steps of MurmurHash3, which mix the
 * bits. It takes the place of a random number where every node must come to the same.
 */
export function shareOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
