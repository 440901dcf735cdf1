// Makes due work ready: delayed messages, and queues and flow keys that wait for the clock.

import { PROMOTE_ACCOUNTS_MAX, PROMOTE_MAX, PROMOTE_OF_ACCOUNT_MAX } from '../../shared/promotion.ts';
import { Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { DueLines } from './due-lines.ts';
import { admitDueKeys, lockKeys, markKeysDue } from './flow-keys.ts';
import { startDueQueues } from './queues.ts';
import { applyDeferredLimits } from './requested-flow-limits.ts';

/** When the first delayed message, queue and flow key become due. */
export interface DueTimes {
  readonly delayed_at: number | null;
  readonly queue_at: number | null;
  readonly key_at: number | null;
  /** Since when requested limits of flow keys wait to take effect. Null if there are none. */
  readonly requested_at: number | null;
}

/** Makes due work ready, and remembers where it stopped, so that the next call continues there. */
export class Promoter {
  readonly #dueQueues = new DueLines('queues');
  readonly #dueKeys = new DueLines('flowKeys');
  readonly #requestedFlowLimits = new DueLines('requestedFlowLimits');
  #lastAccount = '';

  async makeReady(database: Database, times: DueTimes, now: number): Promise<void> {
    const isPast = (at: number | null) => at !== null && at <= now;
    if (times.requested_at !== null) await applyDeferredLimits(database, this.#requestedFlowLimits, now);
    const hasKeys = isPast(times.delayed_at) && (await this.#promoteDue(database, now));
    if (isPast(times.queue_at)) await startDueQueues(database, this.#dueQueues, now);
    if (hasKeys || isPast(times.key_at)) await admitDueKeys(database, this.#dueKeys, now);
  }

  /** Makes due messages of state `delayed` ready. Returns whether flow keys have become due by this. */
  async #promoteDue(database: Database, now: number): Promise<boolean> {
    const { count, hasKeys } = await promote(database, LONGEST_DUE, now, PROMOTE_MAX);
    const others = count === PROMOTE_MAX && (await this.#promoteOthers(database, now));
    return hasKeys || others;
  }

  /** Makes a few due messages of each account ready, so that no account waits behind thousands of another. */
  async #promoteOthers(database: Database, now: number): Promise<boolean> {
    const accounts = await database.all<{ id: string }>(DELAYED_ACCOUNTS, this.#lastAccount, PROMOTE_ACCOUNTS_MAX);
    const ids = accounts.map(({ id }) => id);
    this.#lastAccount = ids.length < PROMOTE_ACCOUNTS_MAX ? '' : ids.at(-1)!;
    if (ids.length === 0) return false;
    return (await promote(database, DUE_OF_ACCOUNTS, now, PROMOTE_OF_ACCOUNT_MAX, ids)).hasKeys;
  }
}

/** The messages that have been due the longest, at most $2 in all. */
const LONGEST_DUE = `SELECT account_id, seq FROM messages WHERE state = 'delayed' AND due_at <= $1
  ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED`;

/** The due messages of the accounts $3, at most $2 of each. */
const DUE_OF_ACCOUNTS = `SELECT m.account_id, m.seq FROM unnest($3::text[]) AS account (id) CROSS JOIN LATERAL
  (SELECT account_id, seq FROM messages WHERE state = 'delayed' AND account_id = account.id AND due_at <= $1
     ORDER BY account_id, due_at LIMIT $2 FOR UPDATE SKIP LOCKED) AS m`;

/** $2 accounts after $1 that have delayed messages, found by steps through the index. */
const DELAYED_ACCOUNTS = `WITH RECURSIVE account (id) AS (
    (SELECT account_id FROM messages WHERE state = 'delayed' AND account_id > $1 ORDER BY account_id, due_at LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM messages WHERE state = 'delayed' AND account_id > account.id
              ORDER BY account_id, due_at LIMIT 1)
      FROM account WHERE account.id IS NOT NULL)
  SELECT id FROM account WHERE id IS NOT NULL LIMIT $2`;

/** Makes due messages ready, or lets them wait for their flow keys, which take turns with all other due keys. */
async function promote(
  database: Database,
  which: typeof LONGEST_DUE | typeof DUE_OF_ACCOUNTS,
  now: number,
  most: number,
  ...accounts: readonly (readonly string[])[]
): Promise<{ readonly count: number; readonly hasKeys: boolean }> {
  const due = await database.all<{ account_id: string; flow_key: string | null; count: number }>(
    `WITH due AS
       (UPDATE messages m SET state = CASE WHEN m.flow_key IS NULL THEN 'ready' ELSE 'queued' END FROM (${which}) AS first
          WHERE m.account_id = first.account_id AND m.seq = first.seq RETURNING m.account_id, m.flow_key)
     SELECT account_id, flow_key, count(*)::int AS count FROM due GROUP BY account_id, flow_key`,
    now,
    most,
    ...accounts,
  );
  const keys = new Pairs(
    due.flatMap(({ account_id, flow_key }) => (flow_key === null ? [] : [[account_id, flow_key] as const])),
  );
  await markKeysDue(database, await lockKeys(database, keys), now);
  return { count: due.reduce((sum, { count }) => sum + count, 0), hasKeys: !keys.isEmpty };
}
