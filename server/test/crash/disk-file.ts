// One file on a disk that loses what was not flushed: the bytes of its last flush, and all that was done to it since.
// After a power cut each sector holds any of the states it went through since then, and the file has any of the sizes.
// Cutting a file short is a change of its size alone: a file system drops the end of a file as a whole or not at all.

import type { Chance } from '../simulation/chance.ts';

/** How much of what was never flushed has reached the disk by itself. */
export interface Survival {
  readonly sectorBytes: number;
  /** How many of the sectors are up to date; the others stopped at some state before. */
  readonly upToDatePercent: number;
}

/** Bytes put at an offset; without bytes, the file was cut to that size. */
interface Change {
  readonly offset: number;
  readonly bytes: Buffer | null;
}

export class DiskFile {
  /** Longer than the file, so that a log which is appended to is not copied whole at every flush. Zero behind its end. */
  #durable: Buffer;
  #size: number;
  #pending: Change[] = [];

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.#durable = Buffer.from(content);
    this.#size = content.length;
  }

  write(offset: number, bytes: Buffer): void {
    this.#pending.push({ offset, bytes });
  }

  truncate(size: number): void {
    this.#pending.push({ offset: size, bytes: null });
  }

  flush(): void {
    for (const { offset, bytes } of this.#pending) {
      const end = offset + (bytes?.length ?? 0);
      if (end > this.#durable.length) this.#durable = Buffer.concat([this.#durable], 2 * end);
      if (bytes) bytes.copy(this.#durable, offset);
      else this.#durable.fill(0, offset);
      this.#size = bytes ? Math.max(this.#size, end) : offset;
    }
    this.#pending = [];
  }

  /** The system gives up on what it could not write: a later flush does not write it either. */
  failToFlush(): void {
    this.#pending = [];
  }

  /** A content that the disk may have if the power goes now; without `survival`, only what was flushed. */
  afterPowerCut(chance: Chance, survival: Survival | null): Buffer {
    const content = Buffer.alloc(this.#pending.reduce((most, change) => Math.max(most, endOf(change)), this.#size));
    this.#durable.copy(content, 0, 0, this.#size);
    if (!survival || this.#pending.length === 0) return content.subarray(0, this.#size);
    const sizes = this.#sizes();
    const sizeAt = chance.isTrue(survival.upToDatePercent) ? sizes.length - 1 : chance.below(sizes.length);
    // The size is known to be that after so many changes: what was cut off before is gone, nothing later was cut off.
    const changes = this.#pending.filter(({ bytes }, at) => bytes !== null || at < sizeAt);
    const states = new Map<number, number>();
    eachPiece(changes, survival.sectorBytes, (sector) => states.set(sector, (states.get(sector) ?? 0) + 1));
    for (const [sector, count] of states) {
      if (!chance.isTrue(survival.upToDatePercent)) states.set(sector, chance.below(count + 1));
    }
    for (const change of changes) {
      if (change.bytes === null) content.fill(0, change.offset);
      eachPiece([change], survival.sectorBytes, (sector, start, bytes) => {
        const left = states.get(sector)!;
        if (left === 0) return;
        states.set(sector, left - 1);
        bytes.copy(content, start);
      });
    }
    return content.subarray(0, sizes[sizeAt]);
  }

  /** The size at the last flush and after every change since. */
  #sizes(): number[] {
    const sizes = [this.#size];
    for (const change of this.#pending) {
      sizes.push(change.bytes ? Math.max(sizes.at(-1)!, endOf(change)) : change.offset);
    }
    return sizes;
  }
}

/** Every write in order, cut at the borders of sectors. */
function eachPiece(
  changes: readonly Change[],
  sectorBytes: number,
  visit: (sector: number, start: number, bytes: Buffer) => void,
): void {
  for (const { offset, bytes } of changes) {
    if (bytes === null) continue;
    for (let start = offset; start < offset + bytes.length; ) {
      const sector = Math.floor(start / sectorBytes);
      const end = Math.min(offset + bytes.length, (sector + 1) * sectorBytes);
      visit(sector, start, bytes.subarray(start - offset, end - offset));
      start = end;
    }
  }
}

function endOf({ offset, bytes }: Change): number {
  return offset + (bytes?.length ?? 0);
}
