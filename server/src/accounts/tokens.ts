// Tokens and keys: how secrets are made and how a presented one is recognised. Only a hash is ever stored.

import { hash } from 'node:crypto';
import type { Random } from '../world.ts';

/** A token or key: its prefix says what it is, the rest is 192 random bits. */
export function newSecret(prefix: 'pr' | 'sig' | 'ses', random: Random): string {
  return `${prefix}_${Buffer.from(random.bytes(24)).toString('base64url')}`;
}

/**
 * What is stored and searched for. A fast hash will do, because the token is random and cannot be guessed from it;
 * looking the hash up in an index tells an attacker's stopwatch nothing about the token.
 */
export function hashToken(token: string): Uint8Array {
  return hash('sha256', token, 'buffer');
}

/** The same hash as text, to look up what is in memory: it costs a third of the other. */
export function hashText(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * The token in an Authorization header, or null. Bearer carries it plainly; Basic carries base64 of the token alone,
 * of `token:`, or of `anything:token`.
 */
export function tokenFromHeader(header: string | undefined): string | null {
  const match = /^(bearer|basic) +([!-~]+) *$/i.exec(header ?? '');
  if (!match) return null;
  const value = match[2]!;
  if (match[1]!.toLowerCase() === 'bearer') return value;
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const token = colon < 0 || colon === text.length - 1 ? text.replace(/:$/, '') : text.slice(colon + 1);
  return token === '' ? null : token;
}
