// Deletes expired data, a few rows at a time, so that the file stays bounded and no other work waits: ended messages,
// the journal, deduplication keys, counts, flow keys and queues that nobody uses, bulk operations that have ended. One
// run covers the journals and the usage of only some accounts.

import { firstKeptDay } from '../rules/accounts/account.ts';
import { HOUR_MS, HOURS_KEPT_MS, MINUTES_KEPT_MS, startOf } from '../rules/accounts/activity.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import type { UpkeepStore } from '../store/ports/upkeep-store.ts';
import { WALK_START, type Walked, type WalkPosition } from '../store/ports/upkeep-store.ts';

const ACCOUNTS_PER_RUN = 500;
const EVERY_MS = 30_000;
/** The pause while there is much to delete: short enough to keep up with new data, long enough for other work. */
const CATCHING_UP_MS = 20;
/**
 * The pause between two pieces of a walk over rows most of which stay. A walk must not take days: an account with a
 * million flow keys in use could meanwhile create further keys, which are not counted, faster than they are deleted.
 */
const WALKING_MS = 250;

type RetentionStore = UpkeepStore & Pick<AccountStore, 'foldStored'>;

/** `isTimeProven`: nothing is deleted by a clock that may be wrong. */
export function retention(store: RetentionStore, tiers: Tiers, isTimeProven = () => true) {
  const rows = eachMax('upkeepRows');
  const walks = new Walks(store, rows);
  let after = '';
  /** Whether some account had more to delete since the first account of this pass. */
  let isBehind = false;
  /** How many pieces of walks come before the next whole run. */
  let piecesLeft = 0;

  /** Returns whether there is more to delete. */
  async function runWhole(now: number): Promise<boolean> {
    const before = { free: now - tiers.free.retentionMs, paid: now - tiers.paid.retentionMs };
    const messages = await store.deleteExpired(now, rows);
    // If fewer than the limit were deleted, nothing is left, or the bodies were too large for more. A second call finds
    // out.
    const areMore = messages >= rows || (messages > 0 && (await store.deleteExpired(now, rows)) > 0);
    const keys = await store.deleteDeduplication(now, rows);
    const keep = {
      minutesFrom: startOf(now - MINUTES_KEPT_MS, HOUR_MS),
      hoursFrom: startOf(now - HOURS_KEPT_MS, HOUR_MS),
    };
    const counts = await store.foldActivity(keep, rows);
    const areMany = await walks.walk(now, 'all');
    const folded = await store.foldStored(rows);
    const part = { after, accounts: ACCOUNTS_PER_RUN, rows };
    const usage = await store.deleteUsage(firstKeptDay(now), part);
    const journal = await store.deleteJournal(before, part);
    if (Math.max(journal.deleted, usage) >= rows) isBehind = true;
    after = journal.after ?? '';
    const isThrough = journal.after === null;
    const isMore = isBehind || !isThrough || areMore || keys >= rows || counts >= rows || folded >= rows || areMany;
    if (isThrough) isBehind = false;
    return isMore;
  }

  /** Does a whole run, or a piece of the walks between two whole runs. Returns whether there may be much left. */
  async function runPiece(now: number): Promise<boolean> {
    if (piecesLeft > 0) {
      piecesLeft -= 1;
      return walks.walk(now, 'begun');
    }
    const isMore = await runWhole(now);
    if (!isMore) piecesLeft = EVERY_MS / WALKING_MS;
    return isMore;
  }

  return {
    name: 'retention',
    /** Deletes everything that has expired by `now`, without pauses. */
    async runThrough(now: number): Promise<void> {
      if (!isTimeProven()) return;
      while (await runWhole(now));
      while (walks.areUnderWay) await walks.walk(now, 'begun');
    },
    async run(now: number): Promise<number> {
      if (!isTimeProven()) return EVERY_MS;
      if (await runPiece(now)) return CATCHING_UP_MS;
      if (walks.areUnderWay && piecesLeft > 0) return WALKING_MS;
      const restMs = Math.max(WALKING_MS, piecesLeft * WALKING_MS);
      piecesLeft = 0;
      return restMs;
    },
  };
}

/** The walks over flow keys, queues and bulk operations, each some rows at a time. After the last row a walk pauses. */
class Walks {
  readonly #walks: { readonly look: (now: number, after: WalkPosition) => Promise<Walked>; at: WalkPosition }[];
  readonly #rows: number;

  constructor(store: RetentionStore, rows: number) {
    this.#rows = rows;
    const looks: ((now: number, after: WalkPosition) => Promise<Walked>)[] = [
      (now, at) => store.deleteIdleFlowKeys(now, at, rows),
      (now, at) => store.deleteIdleQueues(now, at, rows),
      (now, at) => store.deleteOldJobs(now, at, rows),
    ];
    this.#walks = looks.map((look) => ({ look, at: WALK_START }));
  }

  get areUnderWay(): boolean {
    return this.#walks.some(({ at }) => at !== WALK_START);
  }

  /** Does the next piece of all walks, or of those that have begun. Returns whether there may be much to delete. */
  async walk(now: number, which: 'all' | 'begun'): Promise<boolean> {
    let most = 0;
    for (const walk of this.#walks) {
      if (which === 'begun' && walk.at === WALK_START) continue;
      const { deleted, after } = await walk.look(now, walk.at);
      walk.at = after ?? WALK_START;
      most = Math.max(most, deleted);
    }
    return most > this.#rows / 2;
  }
}
