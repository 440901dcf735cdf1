// Tokens and keys: how secrets are made and how a presented secret is recognised. Only a hash is ever stored.

import { hash } from 'node:crypto';
import type { Random } from '../runtime/world.ts';

/** A new token, session secret or signing key: its prefix says which, the rest is 192 random bits. */
export function newSecret(prefix: 'pr' | 'sig' | 'ses', random: Random): string {
  return `${prefix}_${Buffer.from(random.bytes(24)).toString('base64url')}`;
}

/**
 * The stored hash, used for the look-up. A fast hash is enough, because the token is random and cannot be guessed from
 * it. Looking up the hash in an index reveals nothing about the token through timing.
 */
export function hashToken(token: string): Uint8Array {
  return hash('sha256', token, 'buffer');
}

/** The same hash as hexadecimal text, for look-ups in memory. Making it takes a third of the time of `hashToken`. */
export function hashText(token: string): string {
  return hash('sha256', token, 'hex');
}

const USUAL_START = 'Bearer ';
const PRINTABLE = /^[!-~]+$/;

/**
 * The token in an Authorization header, or null. After `Bearer` comes the token itself. After `Basic` comes base64 of
 * the token alone, of `token:`, or of `anything:token`.
 */
export function tokenFromHeader(header: string | undefined): string | null {
  if (header?.startsWith(USUAL_START)) {
    const token = header.slice(USUAL_START.length);
    // `test` makes no objects, unlike `exec` below.
    if (PRINTABLE.test(token)) return token;
  }
  const match = /^(bearer|basic) +([!-~]+) *$/i.exec(header ?? '');
  if (!match) return null;
  const value = match[2]!;
  if (match[1]!.toLowerCase() === 'bearer') return value;
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const token = colon < 0 || colon === text.length - 1 ? text.replace(/:$/, '') : text.slice(colon + 1);
  return token === '' ? null : token;
}
