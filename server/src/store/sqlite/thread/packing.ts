// Packs many values into one flat list and all bodies into one buffer, for another thread. That thread unpacks them in
// the same order.

import type { HeaderList } from '../../../rules/delivery/message.ts';
import { withEntry } from '../../../runtime/collections/short-list.ts';

export interface Packed {
  readonly values: readonly unknown[];
  /** All bodies, one after another. The length of each is in the values. */
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** In place of a body's length: the body is the same as the previous one. */
const SAME_BODY = -1;

/**
 * Collects the values until their number is known. It is used for every packing, because a new list that grows value by
 * value would be copied several times. No code awaits between the first value and `packed`, so one list is enough.
 */
let scratch: unknown[] = [];
/** A longer list is not kept for the next packing. */
const SCRATCH_LENGTH_MAX = 16 * 1024;

export class Packing {
  readonly #bodies: Uint8Array[] = [];
  #length = 0;
  #bytes = 0;

  put(value: unknown): void {
    // Never writes beyond the end of the list: a list with holes is sent key by key.
    if (this.#length < scratch.length) scratch[this.#length] = value;
    else scratch.push(value);
    this.#length += 1;
  }

  /** If the body is the same object as the previous one, it is sent once. The receiver's messages share it as well. */
  putBody(body: Uint8Array): void {
    if (body === this.#bodies.at(-1)) {
      this.put(SAME_BODY);
      return;
    }
    this.put(body.length);
    this.#bodies.push(body);
    this.#bytes += body.length;
  }

  packed(): Packed {
    // A "slow" buffer has its own memory. A part of a larger buffer could not be transferred.
    const bodies = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const body of this.#bodies) {
      bodies.set(body, at);
      at += body.length;
    }
    const values = scratch.slice(0, this.#length);
    // The list must not keep the values in memory longer than their messages.
    if (scratch.length > SCRATCH_LENGTH_MAX) scratch = [];
    else scratch.fill(null, 0, this.#length);
    return { values, bodies };
  }
}

/** Takes the values in the order in which they were put. */
export class Unpacking {
  readonly #values: readonly unknown[];
  readonly #bodies: Uint8Array;
  #at = 0;
  #bodyAt = 0;
  #lastBody: Uint8Array = new Uint8Array(0);

  constructor({ values, bodies }: Packed) {
    this.#values = values;
    this.#bodies = bodies;
  }

  get hasMore(): boolean {
    return this.#at < this.#values.length;
  }

  take<T>(): T {
    const value = this.#values[this.#at] as T;
    this.#at += 1;
    return value;
  }

  takeBody(): Uint8Array {
    const length = this.take<number>();
    if (length !== SAME_BODY) {
      const start = this.#bodyAt;
      this.#bodyAt += length;
      this.#lastBody = this.#bodies.subarray(start, this.#bodyAt);
    }
    return this.#lastBody;
  }
}

export function putEach<T>(to: Packing, list: readonly T[], putOne: (to: Packing, one: T) => void): void {
  to.put(list.length);
  for (const one of list) putOne(to, one);
}

export function takeEach<T>(from: Unpacking, takeOne: (from: Unpacking) => T): T[] {
  const length = from.take<number>();
  let list: T[] | null = null;
  for (let taken = 0; taken < length; taken += 1) list = withEntry(list, takeOne(from));
  return list ?? [];
}

export function putValue(to: Packing, value: unknown): void {
  to.put(value);
}

export function takeValue<T>(from: Unpacking): T {
  return from.take<T>();
}

export function putHeaders(to: Packing, headers: HeaderList): void {
  to.put(headers.length);
  for (const header of headers) {
    to.put(header[0]);
    to.put(header[1]);
  }
}

export function takeHeaders(from: Unpacking): HeaderList {
  return takeEach(from, (header) => [header.take<string>(), header.take<string>()] as const);
}
