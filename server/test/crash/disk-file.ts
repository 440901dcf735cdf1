// One file on a disk that loses what was not flushed: the bytes of its last flush, and all that was done to it since.
// After a power cut each sector holds any of the states it went through since then, and the file has any of the sizes.

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
    const states = new Map<number, number>();
    this.#eachPiece(content.length, survival.sectorBytes, (sector) =>
      states.set(sector, (states.get(sector) ?? 0) + 1),
    );
    for (const [sector, count] of states) {
      if (!chance.isTrue(survival.upToDatePercent)) states.set(sector, chance.below(count + 1));
    }
    this.#eachPiece(content.length, survival.sectorBytes, (sector, start, end, bytes) => {
      const left = states.get(sector)!;
      if (left === 0) return;
      states.set(sector, left - 1);
      if (bytes) bytes.copy(content, start);
      else content.fill(0, start, end);
    });
    const sizes = this.#sizes();
    return content.subarray(0, chance.isTrue(survival.upToDatePercent) ? sizes.at(-1) : chance.pick(sizes));
  }

  /** The size at the last flush and after every change since. */
  #sizes(): number[] {
    const sizes = [this.#size];
    for (const change of this.#pending) {
      sizes.push(change.bytes ? Math.max(sizes.at(-1)!, endOf(change)) : change.offset);
    }
    return sizes;
  }

  /** Every change in order, cut at the borders of sectors. Cutting the file short is a change of all behind. */
  #eachPiece(
    most: number,
    sectorBytes: number,
    visit: (sector: number, start: number, end: number, bytes: Buffer | null) => void,
  ): void {
    for (const change of this.#pending) {
      const changeEnd = change.bytes ? endOf(change) : most;
      for (let start = change.offset; start < changeEnd; ) {
        const sector = Math.floor(start / sectorBytes);
        const end = Math.min(changeEnd, (sector + 1) * sectorBytes);
        visit(sector, start, end, change.bytes?.subarray(start - change.offset, end - change.offset) ?? null);
        start = end;
      }
    }
  }
}

function endOf({ offset, bytes }: Change): number {
  return offset + (bytes?.length ?? 0);
}
