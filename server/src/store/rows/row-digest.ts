// A checksum of a set of rows that does not depend on their order: the sum of the SHA-256 of every row. Two stores are
// compared by it, and each is read in its cheapest order.

import { createHash, hash } from 'node:crypto';

type Field = string | number | boolean | null | Uint8Array;

const WORDS = 8;

export class TableDigest {
  count = 0;
  /** A 256-bit number, lowest word first. */
  readonly #sum = new Uint32Array(WORDS);
  #names: readonly string[] | null = null;

  /** Adds a row. Flags count as 0 and 1, and the names of the columns are part of the sum. */
  add(row: Readonly<Record<string, Field>>): void {
    this.#names ??= Object.keys(row).toSorted();
    const values = this.#names.map((name) => canonical(row[name]));
    const digest = hash('sha256', JSON.stringify(values), 'buffer');
    let carry = 0;
    for (let word = 0; word < WORDS; word += 1) {
      carry += this.#sum[word]! + digest.readUInt32LE(word * 4);
      this.#sum[word] = carry;
      carry = carry > 0xffff_ffff ? 1 : 0;
    }
    this.count += 1;
  }

  sum(): string {
    return createHash('sha256')
      .update(JSON.stringify(this.#names))
      .update(new Uint8Array(this.#sum.buffer))
      .digest('hex');
  }
}

function canonical(value: Field | undefined): string | number | null {
  if (value === undefined) throw new Error('rows of one table have different columns');
  if (value instanceof Uint8Array) return hash('sha256', value, 'hex');
  return typeof value === 'boolean' ? Number(value) : value;
}
