// Keeps the reserve in the database. The free space of a database's disk is not visible: while there is no room for the
// reserve, the disk counts as full, and nothing is published.

import { markAfterFull, recreateAfterMs } from '../rules/limits/disk-marks.ts';
import type { Clock } from '../runtime/world.ts';
import type { DatabaseReserve } from '../store/ports/database-reserve.ts';
import { StoreUnavailable } from '../store/ports/store.ts';
import type { DiskWatch } from './disk.ts';

const LOOK_EVERY_MS = 5000;
const BUSY_MS = 1000;
/** How long to wait after the reserve could not be created for another reason than space. */
const REFUSED_MS = 60_000;

export interface DatabaseDiskOptions {
  readonly reserve: DatabaseReserve;
  readonly bytes: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Called when the reserve was created or released. */
  readonly onChange: (isThere: boolean) => void;
  /** Called when the reserve cannot be created. Publishing continues without it. */
  readonly onRefused: (error: unknown) => void;
}

export function databaseDiskWatch(options: DatabaseDiskOptions): DiskWatch {
  const { clock } = options;
  const watch = new DatabaseDisk(options);
  let wasFull = false;
  return {
    name: 'disk watch',
    run: () => watch.look(),
    mark() {
      if (watch.isFull) return 'all';
      return markAfterFull('none', watch.fullAtMs === null ? null : clock.monotonicMs() - watch.fullAtMs);
    },
    freeBytes: () => null,
    wasFull: () => wasFull,
    noteWrite(error) {
      if (error === null) wasFull = false;
      else if (error instanceof StoreUnavailable && error.reason === 'full') {
        wasFull = true;
        watch.fullAtMs = clock.monotonicMs();
      }
    },
  };
}

class DatabaseDisk {
  readonly #options: DatabaseDiskOptions;
  isFull = false;
  fullAtMs: number | null = null;
  #isThere = false;
  #failures = 0;
  #tryAtMs = Number.NEGATIVE_INFINITY;
  /** How often the reserve was released. Results from before the last release are outdated. */
  #releases = 0;
  #looking: Promise<number> | null = null;

  constructor(options: DatabaseDiskOptions) {
    this.#options = options;
    options.reserve.onReleased(() => this.#noteReleased());
    options.reserve.onBack(() => void this.look().catch(() => {}));
  }

  /** Checks the reserve. Returns in how many milliseconds to check again. */
  look(): Promise<number> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<number> {
    const { reserve, clock } = this.#options;
    const releases = this.#releases;
    if (await reserve.isThere()) return this.#found(releases);
    this.#isThere = false;
    if (this.isFull) await reserve.recycleLog();
    if (clock.monotonicMs() < this.#tryAtMs) return LOOK_EVERY_MS;
    return this.#make(releases);
  }

  async #make(releases: number): Promise<number> {
    const { reserve, bytes, clock, onRefused } = this.#options;
    let result: Awaited<ReturnType<DatabaseReserve['make']>>;
    try {
      // The reserve must not take the last free page: publishing would stop again at once.
      result = await reserve.make(bytes, this.isFull ? bytes : 0);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.isFull = false;
      onRefused(error);
      return REFUSED_MS;
    }
    if (result === 'made') return this.#found(releases);
    if (result === 'busy') return BUSY_MS;
    this.#noteFull();
    this.#tryAtMs = clock.monotonicMs() + recreateAfterMs(this.#failures);
    this.#failures += 1;
    return LOOK_EVERY_MS;
  }

  #found(releases: number): number {
    if (releases !== this.#releases) return LOOK_EVERY_MS;
    if (!this.#isThere) this.#options.onChange(true);
    this.#isThere = true;
    this.isFull = false;
    this.#failures = 0;
    this.#tryAtMs = Number.NEGATIVE_INFINITY;
    return LOOK_EVERY_MS;
  }

  #noteReleased(): void {
    this.#releases += 1;
    this.#isThere = false;
    this.#failures = 0;
    this.#tryAtMs = this.#options.clock.monotonicMs() + recreateAfterMs(0);
    this.#noteFull();
  }

  #noteFull(): void {
    this.fullAtMs = this.#options.clock.monotonicMs();
    if (!this.isFull) this.#options.onChange(false);
    this.isFull = true;
  }
}
