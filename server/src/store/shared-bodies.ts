// Which messages share a body, for every adapter: those that were made of the same bytes in memory and are accepted
// together. Bodies are never looked at, so that equal ones of two requests, or of two accounts, have nothing in common.

import type { NewMessage } from '../domain/message.ts';

/** A smaller one costs less as a copy in each row than as a row of its own that every reader has to look up. */
export const SHARED_BODY_BYTES_MIN = 1024;

type Bodied = Pick<NewMessage, 'accountId' | 'body'>;

const NONE: readonly null[] = [];

/**
 * Beside each message the place of the first one among them whose body it shares, which is its own place for that one;
 * null or nothing where it has a body of its own.
 */
export function sharedBodies(messages: readonly Bodied[]): readonly (number | null)[] {
  if (messages.length < 2) return NONE;
  const firsts = new Map<Uint8Array, number>();
  const places: (number | null)[] = [];
  for (const [place, { accountId, body }] of messages.entries()) {
    const first = firsts.get(body);
    const isShared = first !== undefined && messages[first]!.accountId === accountId;
    places.push(isShared ? first : null);
    if (isShared) places[first] = first;
    else if (body.length >= SHARED_BODY_BYTES_MIN) firsts.set(body, place);
  }
  return places;
}

/** How many bytes of bodies these messages hold in memory: each body once. */
export function bodyBytes(messages: readonly Pick<NewMessage, 'body'>[]): number {
  if (messages.length === 1) return messages[0]!.body.length;
  let bytes = 0;
  for (const body of new Set(messages.map((message) => message.body))) bytes += body.length;
  return bytes;
}
