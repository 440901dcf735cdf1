// Reads for how long and from where a new token may be used.

import { parseAnyDurationMs } from '../time/duration.ts';
import type { TokenLimits } from './account.ts';

/** Whoever asks for more has written another unit, or means a token that does not expire. */
export const TOKEN_LIFE_MS_MAX = 100 * 365 * 24 * 60 * 60 * 1000;
const RANGES_MAX = 20;

export interface WantedTokenLimits {
  /** A duration such as `90d`. */
  readonly expiresIn?: string | undefined;
  readonly expiresAt?: number | undefined;
  /** CIDR ranges. */
  readonly addresses?: readonly string[] | undefined;
}

/** The limits, or what is wrong with them. `wrongRange` says what is wrong with a range, or null. */
export function readTokenLimits(
  wanted: WantedTokenLimits,
  now: number,
  wrongRange: (range: string) => string | null,
): TokenLimits | { readonly problem: string } {
  const expiresAt = readExpiry(wanted, now);
  if (typeof expiresAt === 'string') return { problem: expiresAt };
  const addresses = [...new Set(wanted.addresses)];
  if (addresses.length > RANGES_MAX) return { problem: `addresses: at most ${RANGES_MAX} ranges` };
  for (const range of addresses) {
    const wrong = wrongRange(range);
    if (wrong !== null) return { problem: `addresses: ${wrong}` };
  }
  return { expiresAt, addresses };
}

function readExpiry({ expiresIn, expiresAt }: WantedTokenLimits, now: number): number | string | null {
  if (expiresIn === undefined && expiresAt === undefined) return null;
  if (expiresIn !== undefined && expiresAt !== undefined) return 'give expiresIn or expiresAt, not both';
  const field = expiresIn === undefined ? 'expiresAt' : 'expiresIn';
  const lifeMs = expiresIn === undefined ? expiresAt! - now : parseAnyDurationMs(expiresIn);
  if (lifeMs === null) return `${field}: must be a duration such as 90d or 12h`;
  if (lifeMs <= 0) return `${field}: the token would have expired already`;
  if (lifeMs > TOKEN_LIFE_MS_MAX) return `${field}: more than 100 years; leave it out for a token that does not expire`;
  return now + lifeMs;
}
