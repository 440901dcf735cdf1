// Which messages share a stored body, for every adapter: messages that were accepted together and have the same body
// object in memory. Contents are never compared, so equal bodies of two requests or two accounts are stored separately.

import type { NewMessage } from '../../rules/delivery/message.ts';

/**
 * Limit below which a body is not shared. A small body is cheaper as a copy in each row than as a row of its own that
 * every reader must look up.
 */
export const SHARED_BODY_BYTES_MIN = 1024;

type Bodied = Pick<NewMessage, 'accountId' | 'body'>;

const NONE: readonly null[] = [];

/**
 * Parallel to `messages`: the index of the first message with the same body (its own index for the first one). Null or
 * absent if the body is not shared.
 */
export function sharedBodies(messages: readonly Bodied[]): readonly (number | null)[] {
  if (messages.length < 2) return NONE;
  const firsts = new Map<Uint8Array, number>();
  const firstOf: (number | null)[] = [];
  for (const [index, { accountId, body }] of messages.entries()) {
    const first = firsts.get(body);
    const isShared = first !== undefined && messages[first]!.accountId === accountId;
    firstOf.push(isShared ? first : null);
    if (isShared) firstOf[first] = first;
    else if (body.length >= SHARED_BODY_BYTES_MIN) firsts.set(body, index);
  }
  return firstOf;
}

/** How many bytes the bodies of these messages take in memory. A shared body counts once. */
export function bodyBytes(messages: readonly Pick<NewMessage, 'body'>[]): number {
  if (messages.length === 1) return messages[0]!.body.length;
  let bytes = 0;
  for (const body of new Set(messages.map((message) => message.body))) bytes += body.length;
  return bytes;
}

/** Adds up the bytes of stored bodies. A body that several messages share counts once. */
export class CountedBodies {
  readonly #ids = new Set<number>();

  /** Returns how many bytes this message adds. */
  add(bodyId: number | null, bytes: number): number {
    if (bodyId === null) return bytes;
    if (this.#ids.has(bodyId)) return 0;
    this.#ids.add(bodyId);
    return bytes;
  }
}
