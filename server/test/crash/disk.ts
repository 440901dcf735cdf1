// A directory on a disk that loses what was not flushed, followed along a log to any point of it. From there, images:
// what the disk may hold if the power goes at that point.

import type { Chance } from '../simulation/chance.ts';
import { DiskFile, type Survival } from './disk-file.ts';
import { type DiskRecord, THE_DIRECTORY } from './disk-log.ts';
import { DATABASE } from './store-file.ts';

export type Image = ReadonlyMap<string, Buffer>;

const SECTOR_BYTES = [512, 4096];
/** Images with nothing but what was flushed: where an acknowledgement without a flush shows at once. */
const FLUSHED_ONLY_PERCENT = 30;
/** Left behind by the process that died: its content means nothing, and must not. */
const STALE_SHARED_MEMORY_PERCENT = 25;

export class Disk {
  readonly #records: readonly DiskRecord[];
  #next = 0;
  /** By the numbers that the process of the moment gave them. */
  readonly #files = new Map<number, DiskFile>();
  #names: Map<string, DiskFile>;
  #durableNames: Map<string, DiskFile>;
  /** The files that stood under a name since the directory was last flushed; null while there was none. */
  #pendingNames: { readonly name: string; readonly file: DiskFile | null }[] = [];

  constructor(records: readonly DiskRecord[], before: Image = new Map()) {
    this.#records = records;
    this.#names = new Map([...before].map(([name, content]) => [name, new DiskFile(content)]));
    this.#durableNames = new Map(this.#names);
  }

  /** Up to a point of the log; points can only grow. */
  advance(to: number): void {
    for (; this.#next < this.#records.length && this.#records[this.#next]!.end <= to; this.#next += 1) {
      this.#apply(this.#records[this.#next]!);
    }
  }

  imageAfterPowerCut(chance: Chance): Image {
    const isFlushedOnly = chance.isTrue(FLUSHED_ONLY_PERCENT);
    const survival: Survival = { sectorBytes: chance.pick(SECTOR_BYTES), upToDatePercent: chance.between(0, 100) };
    const names = new Map<string, DiskFile | null>(this.#durableNames);
    if (!isFlushedOnly) {
      for (const { name, file } of this.#pendingNames)
        if (chance.isTrue(survival.upToDatePercent)) names.set(name, file);
    }
    const image = new Map<string, Buffer>();
    for (const [name, file] of names) {
      if (file) image.set(name, file.afterPowerCut(chance, isFlushedOnly ? null : survival));
    }
    if (chance.isTrue(STALE_SHARED_MEMORY_PERCENT)) {
      image.set(`${DATABASE}-shm`, Buffer.from(chance.bytes(32_768)));
    }
    return image;
  }

  #apply(record: DiskRecord): void {
    const file = this.#files.get(record.file);
    switch (record.kind) {
      case 'started':
        this.#files.clear();
        break;
      case 'found':
        this.#files.set(record.file, this.#names.get(record.name)!);
        break;
      case 'created':
        this.#files.set(record.file, new DiskFile());
        this.#rename(record.name, this.#files.get(record.file)!);
        break;
      case 'unlinked':
        this.#rename(record.name, null);
        break;
      case 'written':
        file!.write(record.offset, record.bytes);
        break;
      case 'truncated':
        file!.truncate(record.size);
        break;
      case 'flushed':
        if (record.file === THE_DIRECTORY) this.#flushNames();
        else file!.flush();
        break;
      case 'flushFailed':
        file!.failToFlush();
        break;
    }
  }

  #rename(name: string, file: DiskFile | null): void {
    if (file) this.#names.set(name, file);
    else this.#names.delete(name);
    this.#pendingNames.push({ name, file });
  }

  #flushNames(): void {
    this.#durableNames = new Map(this.#names);
    this.#pendingNames = [];
  }
}

/**
 * Points of a log to cut the power at, in order: many where a promise hangs by a thread, right when it was given (the
 * marks), right before a flush, and while the database itself is written from its log.
 */
export function chooseCuts(
  records: readonly DiskRecord[],
  marks: readonly (readonly number[])[],
  count: number,
  chance: Chance,
): number[] {
  const beforeFlush = records.filter(({ kind }) => kind === 'flushed').map(({ start }) => start);
  const database = records.find((record) => 'name' in record && record.name === DATABASE);
  const inDatabase = records.filter(({ kind, file }) => kind === 'written' && file === database?.file);
  const anywhere = records.map(({ end }) => end);
  const places = [...marks, beforeFlush, inDatabase.map(({ end }) => end), anywhere].filter(({ length }) => length > 0);
  return Array.from({ length: count }, () => chance.pick(chance.pick(places))).sort((a, b) => a - b);
}
