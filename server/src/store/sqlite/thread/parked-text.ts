// The parked hosts of a claim, on their way to the writer's thread. There may be thousands, and they are mostly those of the
// claim before: as text they are copied at once, and read again only when they differ.

import type { ParkedRooms } from '../../../rules/hosts/parked-slots.ts';

const NONE: ParkedRooms = [];
const texts = new WeakMap<ParkedRooms, string>();

/** Null if no host is parked. */
export function parkedText(parked: ParkedRooms): string | null {
  if (parked.length === 0) return null;
  const text = texts.get(parked) ?? JSON.stringify(parked);
  texts.set(parked, text);
  return text;
}

/** Reads what `parkedText` wrote: the same text as before is the same list. */
export class ParkedReader {
  #text: string | null = null;
  #list = NONE;

  read(text: string | null): ParkedRooms {
    if (text !== this.#text) {
      this.#list = text === null ? NONE : (JSON.parse(text) as ParkedRooms);
      this.#text = text;
    }
    return this.#list;
  }
}
