// Identifiers: a prefix that says what it names, then 26 characters (Crockford's base 32) of which the first ten
// are the time, so that ids sort by when they were made.

export type IdPrefix = 'msg' | 'scd' | 'tpc' | 'job' | 'acc' | 'tok' | 'nod' | 'err';

/** Makes a fresh id. Given, not imported, because it needs the clock and the random source. */
export type NewId = (prefix: IdPrefix) => string;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export function formatId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 10; i += 1) {
    time = ALPHABET[rest % 32] + time;
    rest = Math.floor(rest / 32);
  }
  let tail = '';
  for (let i = 0; i < 16; i += 1) tail += ALPHABET[random[i]! & 31];
  return `${prefix}_${time}${tail}`;
}

export function idMaker(now: () => number, randomBytes: (length: number) => Uint8Array): NewId {
  return (prefix) => formatId(prefix, now(), randomBytes(16));
}
