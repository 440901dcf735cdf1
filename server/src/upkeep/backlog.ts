// Counts how much waits in the whole service, for the metrics. It counts only while somebody reads the metrics, and takes
// about one part in a hundred of the time, however much waits.

import { earlier } from '../rules/time/instant.ts';
import type { Clock } from '../runtime/world.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import {
  type Backlog,
  type BacklogKind,
  type BacklogPosition,
  type LineDepth,
  READY_START,
  type ReadyPosition,
} from '../store/ports/backlog.ts';

const EVERY_MS = 15_000;
/** The pause after a count is so many times as long as the count. */
const REST_FACTOR = 100;
const REST_MAX_MS = 10 * 60_000;
/** So long after the metrics were last read, nothing is counted any more. */
const READ_KEPT_MS = 5 * 60_000;
const PIECE = 10_000;
/** Limit for the queues, and for the flow-control keys, whose depths the metrics show. */
const NAMED_MAX = 10;

export class BacklogCounter {
  readonly name = 'backlog';
  readonly #store: Pick<AccountStore, 'countBacklog' | 'countReady'>;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #latest: Backlog | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #wake = () => {};

  constructor(store: Pick<AccountStore, 'countBacklog' | 'countReady'>, clock: Pick<Clock, 'monotonicMs'>) {
    this.#store = store;
    this.#clock = clock;
  }

  onStart(wake: () => void): void {
    this.#wake = wake;
  }

  /** The last count. Null until the first one ends, which begins with the first call of this. */
  read(): Backlog | null {
    this.#readAtMs = this.#clock.monotonicMs();
    if (this.#latest === null) this.#wake();
    return this.#latest;
  }

  async run(now: number): Promise<number> {
    const startedMs = this.#clock.monotonicMs();
    if (startedMs - this.#readAtMs > READ_KEPT_MS) {
      this.#latest = null;
      return EVERY_MS;
    }
    this.#latest = await countAll(this.#store, now);
    const tookMs = this.#clock.monotonicMs() - startedMs;
    return Math.min(REST_MAX_MS, Math.max(EVERY_MS, REST_FACTOR * tookMs));
  }
}

async function countAll(store: Pick<AccountStore, 'countBacklog' | 'countReady'>, now: number): Promise<Backlog> {
  const all = async (kind: BacklogKind) => (await longest(store, kind))[0]?.count ?? 0;
  return {
    at: now,
    open: await all('open'),
    claimed: await all('claimed'),
    acks: await all('acks'),
    ...(await ready(store)),
    deadLetters: await all('deadLetters'),
    queues: await longest(store, 'queues'),
    flowKeys: await longest(store, 'flowKeys'),
  };
}

async function ready(store: Pick<AccountStore, 'countReady'>) {
  let [count, oldestAt, oldestParkingAt]: [number, number | null, number | null] = [0, null, null];
  for (let after: ReadyPosition | null = READY_START; after !== null; ) {
    const piece = await store.countReady(after, PIECE);
    count += piece.count;
    oldestAt = earlier(oldestAt, piece.oldestAt);
    oldestParkingAt = earlier(oldestParkingAt, piece.oldestParkingAt);
    after = piece.after;
  }
  return { ready: count, oldestAt, oldestParkingAt };
}

/** The longest lines. */
async function longest(store: Pick<AccountStore, 'countBacklog'>, kind: BacklogKind): Promise<readonly LineDepth[]> {
  let found: readonly LineDepth[] = [];
  for (let after: BacklogPosition | null = null; ; ) {
    const piece = await store.countBacklog(kind, after, PIECE);
    const isEnd = piece.after === null;
    found = mostOf(joined(found, piece.groups), isEnd);
    if (isEnd) return found;
    after = piece.after;
  }
}

/** The last line of a piece may continue in the next one. */
function joined(found: readonly LineDepth[], groups: readonly LineDepth[]): readonly LineDepth[] {
  const last = found.at(-1);
  const [first, ...others] = groups;
  if (!last || !first || last.accountId !== first.accountId || last.name !== first.name) return [...found, ...groups];
  return [...found.slice(0, -1), { ...last, count: last.count + first.count }, ...others];
}

/** The longest ones. Before the end, the last one is kept as the last, because it may continue. */
function mostOf(lines: readonly LineDepth[], isEnd: boolean): readonly LineDepth[] {
  const counted = isEnd ? lines : lines.slice(0, -1);
  const most = counted.toSorted((one, other) => other.count - one.count).slice(0, NAMED_MAX);
  return isEnd ? most : [...most, ...lines.slice(-1)];
}
