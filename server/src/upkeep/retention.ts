// Deletes expired data, a few rows at a time, so that the file stays bounded and no other work waits: ended messages,
// the journal, deduplication keys, counts, flow keys and queues that nobody uses, bulk operations that have ended, the
// audit. One run covers the journals and the usage of only some accounts.

import { firstKeptDay } from '../rules/accounts/account.ts';
import { HOUR_MS, HOURS_KEPT_MS, MINUTES_KEPT_MS, startOfSpan } from '../rules/accounts/activity.ts';
import { AUDIT_DAYS_DEFAULT, auditKeptFrom } from '../rules/accounts/audit.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { AccessStore } from '../store/ports/access-store.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import type { HostStore } from '../store/ports/host-store.ts';
import type { UpkeepStore } from '../store/ports/upkeep-store.ts';
import { WALK_START, type WalkPosition, type WalkResult } from '../store/ports/upkeep-store.ts';

const ACCOUNTS_PER_RUN = 500;
const EVERY_MS = 30_000;
/** The pause while there is much to delete: short enough to keep up with new data, long enough for other work. */
const CATCHING_UP_MS = 20;
/**
 * The pause between two pieces of a walk. A walk visits rows most of which stay. It must not take days: an account with
 * a million flow keys in use could meanwhile create further keys, which are not counted, faster than they are deleted.
 */
const WALKING_MS = 250;

type RetentionStore = UpkeepStore &
  Pick<AccountStore, 'foldStored'> &
  Pick<HostStore, 'deleteIdleHosts'> &
  Pick<AccessStore, 'deleteAudit'>;

/** While `isTimeProven` returns false, nothing is deleted: the clock may be wrong. */
export function retention(
  store: RetentionStore,
  tiers: Tiers,
  isTimeProven = () => true,
  auditDays = AUDIT_DAYS_DEFAULT,
) {
  const rows = eachMax('upkeepRows');
  const walks = new Walks(store, rows);
  let after = '';
  /**
   * A pass goes over all accounts, in several runs. Whether a run of this pass has reached its limit of rows, so that
   * expired rows may be left and the next pass must follow soon.
   */
  let hasReachedLimit = false;
  /** How often each begun walk runs a piece before the next whole run. */
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
      minutesFrom: startOfSpan(now - MINUTES_KEPT_MS, HOUR_MS),
      hoursFrom: startOfSpan(now - HOURS_KEPT_MS, HOUR_MS),
    };
    const counts = await store.foldActivity(keep, rows);
    const areMany = await walks.walk(now, 'all');
    const audited = await store.deleteAudit(auditKeptFrom(now, auditDays), rows);
    const folded = await store.foldStored(rows);
    const part = { after, accounts: ACCOUNTS_PER_RUN, rows };
    const usage = await store.deleteUsage(firstKeptDay(now), part);
    const journal = await store.deleteJournal(before, part);
    if (Math.max(journal.deleted, usage) >= rows) hasReachedLimit = true;
    after = journal.after ?? '';
    const isThrough = journal.after === null;
    const isMore =
      hasReachedLimit ||
      !isThrough ||
      areMore ||
      areMany ||
      [keys, counts, folded, audited].some((deleted) => deleted >= rows);
    if (isThrough) hasReachedLimit = false;
    return isMore;
  }

  /** Does a whole run, or between two of them a piece of each begun walk. Returns whether there is probably much left. */
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

/**
 * Four walks: over all flow keys, queues, bulk operations and hosts, each some rows (a piece) at a time. After its last
 * row a walk pauses until the next whole run.
 */
class Walks {
  readonly #walks: { readonly look: (now: number, after: WalkPosition) => Promise<WalkResult>; at: WalkPosition }[];
  readonly #rows: number;

  constructor(store: RetentionStore, rows: number) {
    this.#rows = rows;
    const looks: ((now: number, after: WalkPosition) => Promise<WalkResult>)[] = [
      (now, at) => store.deleteIdleFlowKeys(now, at, rows),
      (now, at) => store.deleteIdleQueues(now, at, rows),
      (now, at) => store.deleteOldJobs(now, at, rows),
      (now, at) => store.deleteIdleHosts(now, at, rows),
    ];
    this.#walks = looks.map((look) => ({ look, at: WALK_START }));
  }

  get areUnderWay(): boolean {
    return this.#walks.some(({ at }) => at !== WALK_START);
  }

  /**
   * Runs the next piece of every walk, or only of the walks that have begun. Returns true if one of them deleted more
   * than half of the rows that a piece may delete: then much is probably left, and the next piece should follow soon.
   */
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
