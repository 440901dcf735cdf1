// What a receiver says of a delivery that it has answered with 202, at the ack URL of the delivery. The URL is the only
// authority: no token is needed.

import { errorFrom, UnreachableError } from './errors.ts';
import type { Duration } from './setting-options.ts';
import type { Ack } from './shapes.ts';

/** How the work has ended, or how far it is. `extendBy`: the ack comes within this time from now. */
export type AckWord =
  | { readonly ok: true }
  | { readonly ok: false; readonly error?: string; readonly retry?: boolean }
  | { readonly extendBy?: Duration; readonly progress?: number; readonly note?: string };

/** The same word may be sent again: a repeated one changes nothing. An attempt that was given up is an error with 410. */
export async function acknowledge(ackUrl: string, word: AckWord): Promise<Ack> {
  const seconds = 'extendBy' in word && typeof word.extendBy === 'number' ? { extendBy: `${word.extendBy}s` } : {};
  const response = await fetch(ackUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...word, ...seconds }),
  }).catch((cause: unknown) => {
    throw new UnreachableError(`${new URL(ackUrl).origin} cannot be reached`, { cause });
  });
  if (!response.ok) throw await errorFrom(response);
  return (await response.json()) as Ack;
}
