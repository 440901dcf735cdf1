// Makes identifiers: a prefix that says what the identifier names, then 26 characters in Crockford's base 32. The first
// ten are the time, so that ids sort by when they were made.

export type IdPrefix = 'msg' | 'scd' | 'tpc' | 'alr' | 'job' | 'acc' | 'tok' | 'nod' | 'err';

/**
 * Makes a new id. The function is passed in, not imported, because it needs the clock and the random source. With
 * `now`, the clock is not read.
 */
export type NewId = (prefix: IdPrefix, now?: number) => string;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** `randomBytes` may write its result into `into`. */
export function idMaker(now: () => number, randomBytes: (length: number, into: Uint8Array) => Uint8Array): NewId {
  // The last text is kept: under load many ids are made in one millisecond, and encoding the time is half the work.
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

function timeText(nowMs: number): string {
  let text = '';
  for (let rest = nowMs, i = 0; i < 10; i += 1) {
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
