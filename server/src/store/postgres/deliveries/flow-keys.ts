// Flow control by key: which messages of a key may start, as rules/lines/admission.ts plans it. A transaction locks the
// row of a key (`lockKeys`) before it changes what the key has admitted, so that its limits hold on all nodes. Every
// change that could free a place ends in `admitWaiting`; nothing else makes a message that waits for its key `ready`.

import {
  type AdmissionPlan,
  type CountLimits,
  countLimitsToAdmit,
  countLimitsToStart,
  type FlowWindow,
  isChangedByStart,
  type KeyCounts,
  type KeyState,
  planAdmission,
  planOneStart,
  planStart,
  type StartPlan,
  startsInWindow,
  windowWithoutStarts,
} from '../../../rules/lines/admission.ts';
import type { FlowLimits } from '../../../rules/lines/flow-control.ts';
import { areSameLimits } from '../../../rules/lines/flow-key.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { FLOW_COLUMNS, type FlowRow, toKeyState } from '../../rows/line-rows.ts';
import type { RowState } from '../../rows/message-columns.ts';
import { PROMOTE_KEYS_MAX, promotedPerKeyMax } from '../../shared/promotion.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import type { DueLines } from './due-lines.ts';
import { SET_READY_AT } from './message-sql.ts';

/**
 * The same condition as `=`. With `=` itself, the planner may estimate that few messages are in this state, and use the
 * index by state instead of that by key. A query for one key would then read all messages of the account in this state.
 */
function only(column: string, state: RowState): string {
  return `${column} BETWEEN '${state}' AND '${state}'`;
}

/** The keys whose rows this transaction has locked, by `keyOf`. */
export type LockedKeys = Map<string, FlowRow>;

/** `SKIP LOCKED` leaves out keys that another transaction has locked. */
export async function lockKeys(database: Database, pairs: Pairs, how: '' | 'SKIP LOCKED' = ''): Promise<LockedKeys> {
  if (pairs.isEmpty) return new Map();
  const rows = await database.all<FlowRow>(
    `SELECT ${FLOW_COLUMNS} FROM flow_keys k JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)
       ORDER BY k.account_id, k.key FOR UPDATE OF k ${how}`,
    ...pairs.columns(),
  );
  return new Map(rows.map((row) => [keyOf(row.account_id, row.key), row]));
}

interface WantedKey {
  readonly accountId: string;
  readonly key: string;
  /** The limits if the key is created. */
  readonly limits: FlowLimits;
}

/** Locks keys and creates missing ones. Tries again if retention deletes an unused key before it is locked. */
export async function lockOrCreateKeys(database: Database, keys: readonly WantedKey[]): Promise<LockedKeys> {
  const pairs = new Pairs(keys.map(({ accountId, key }) => [accountId, key] as const));
  for (;;) {
    const locked = await lockKeys(database, pairs);
    if (locked.size === keys.length) return locked;
    await ensureKeys(database, keys);
  }
}

async function ensureKeys(database: Database, keys: readonly WantedKey[]): Promise<void> {
  await database.run(
    `INSERT INTO flow_keys (account_id, key, parallelism, rate, period_ms, window_start_at, window_count)
       SELECT account_id, key, parallelism, rate, period_ms, 0, 0
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
           AS g (account_id, key, parallelism, rate, period_ms)
         ORDER BY account_id, key
       ON CONFLICT DO NOTHING`,
    keys.map(({ accountId }) => accountId),
    keys.map(({ key }) => key),
    keys.map(({ limits }) => limits.parallelism),
    keys.map(({ limits }) => limits.rate),
    keys.map(({ limits }) => limits.periodMs),
  );
}

/** Sets new limits. Messages that the old limits admitted and that have not started are checked again. */
export async function setLimits(database: Database, row: FlowRow, limits: FlowLimits): Promise<void> {
  const isSame = areSameLimits(toKeyState(row).limits, limits);
  if (isSame && row.requested_at === null) return;
  await database.run(
    `UPDATE flow_keys SET parallelism = $3, rate = $4, period_ms = $5, requested_limits = NULL, requested_at = NULL
       WHERE account_id = $1 AND key = $2`,
    row.account_id,
    row.key,
    limits.parallelism,
    limits.rate,
    limits.periodMs,
  );
  row.parallelism = limits.parallelism;
  row.rate = limits.rate;
  row.period_ms = limits.periodMs;
  row.requested_limits = null;
  row.requested_at = null;
  if (!isSame) await takeBackUnstarted(database, row);
}

/**
 * Messages that are ready but not started wait again and no longer count as started. Call `admitWaiting` afterwards. A
 * message that is being claimed counts as started and is skipped: its claim may be waiting for this key.
 */
export async function takeBackUnstarted(database: Database, row: FlowRow): Promise<void> {
  const count = await database.run(
    `WITH unstarted AS MATERIALIZED
       (SELECT account_id, seq FROM messages
          WHERE holds_place AND flow_key IS NOT NULL AND account_id = $1 AND flow_key = $2 AND ${only('state', 'ready')}
          FOR UPDATE SKIP LOCKED)
     UPDATE messages m SET state = 'queued', holds_place = false FROM unstarted
       WHERE m.account_id = unstarted.account_id AND m.seq = unstarted.seq`,
    row.account_id,
    row.key,
  );
  if (count > 0) await uncount(database, row, count);
}

async function uncount(database: Database, row: FlowRow, count: number): Promise<void> {
  row.window_count = windowWithoutStarts(windowOf(row), count).windowCount;
  await database.run(
    'UPDATE flow_keys SET window_count = $3 WHERE account_id = $1 AND key = $2',
    row.account_id,
    row.key,
    row.window_count,
  );
}

/** For a message that was admitted and leaves the key without having started: its start no longer counts. */
export function uncountAdmitted(database: Database, row: FlowRow): Promise<void> {
  return uncount(database, row, 1);
}

/** Uncounts the starts of claims that were released before their attempts, if their window is still current. */
export async function uncountStarts(database: Database, row: FlowRow, claimedAt: readonly number[]): Promise<void> {
  const count = startsInWindow(windowOf(row), claimedAt);
  if (count > 0) await uncount(database, row, count);
}

/**
 * Counts the starts of messages that are claimed now. A message admitted in an earlier window counts in the window in
 * which it starts. A key that waits for a start admits more messages.
 */
export async function countStarts(database: Database, pairs: Pairs, now: number): Promise<void> {
  if (pairs.isEmpty) return;
  const seen = await database.all<FlowRow>(
    `SELECT ${FLOW_COLUMNS} FROM flow_keys k JOIN unnest($1::text[], $2::text[]) AS g (account_id, key) USING (account_id, key)`,
    ...pairs.columns(),
  );
  // Rows are read before they are locked: usually nothing is to be written, and nobody has to wait for the key. A key
  // that begins to wait for a start just now misses this start; the next start, or the end of this attempt, admits
  // more.
  const isConcerned = (row: FlowRow) => isChangedByStart(toKeyState(row), now);
  const concerned = new Pairs(seen.filter(isConcerned).map((row) => [row.account_id, row.key] as const));
  const rows = [...(await lockKeys(database, concerned)).values()].filter(isConcerned);
  if (rows.length === 0) return;
  const counts = await readCounts(database, rows, (key) => countLimitsToStart(key, now));
  const plans: StartPlan[] = [];
  for (const [index, row] of rows.entries()) {
    plans.push(planStart(toKeyState(row), counts[index]!.unstarted, await claimedAt(database, row, now), now));
  }
  await writeWindows(database, rows, plans);
}

/** How many messages of the key were claimed at exactly this time. */
async function claimedAt(database: Database, row: FlowRow, now: number): Promise<number> {
  const claimed = await database.get<{ n: number }>(
    `SELECT count(*) AS n FROM messages WHERE holds_place AND flow_key IS NOT NULL AND account_id = $1 AND flow_key = $2
       AND ${only('state', 'claimed')} AND claimed_at = $3`,
    row.account_id,
    row.key,
    now,
  );
  return claimed!.n;
}

function windowOf(row: FlowRow): FlowWindow {
  return { windowStartAt: row.window_start_at, windowCount: row.window_count };
}

/**
 * Makes as many messages ready as each key admits, at most `most` of each. Returns the earliest time at which one of
 * the keys has a message to claim.
 */
export async function admitWaiting(
  database: Database,
  keys: LockedKeys,
  now: number,
  most = Number.POSITIVE_INFINITY,
): Promise<number | null> {
  if (keys.size === 0) return null;
  const rows = [...keys.values()];
  const counts = await readCounts(database, rows, (key) => countLimitsToAdmit(key, now));
  const plans = rows.map((row, index) => planAdmission(toKeyState(row), counts[index]!, now, most));
  await makeReady(database, rows, plans, now);
  await writeWindows(database, rows, plans);
  return plans.reduce<number | null>((dueAt, plan) => earlier(dueAt, plan.dueAt), null);
}

/** Lets one message start at once if the limits of its key allow it. Returns whether it may. */
export async function admitOne(database: Database, row: FlowRow, seq: number, now: number): Promise<boolean> {
  const counts = await readCounts(database, [row], (key) => countLimitsToStart(key, now));
  const plan = planOneStart(toKeyState(row), counts[0]!, now);
  if (!plan) return false;
  await database.run('UPDATE messages SET holds_place = true WHERE account_id = $1 AND seq = $2', row.account_id, seq);
  await writeWindows(database, [row], [plan]);
  return true;
}

/** Counts the messages of each key, up to the given limits. */
export async function readCounts(
  database: Database,
  rows: readonly FlowRow[],
  limitsOf: (key: KeyState) => CountLimits,
): Promise<KeyCounts[]> {
  const limits = rows.map((row) => limitsOf(toKeyState(row)));
  return database.all<KeyCounts>(
    `SELECT
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.holds_place AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key LIMIT g.active) AS few) AS active,
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.holds_place AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key AND ${only('m.state', 'ready')} LIMIT g.unstarted) AS few)
         AS unstarted,
       (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.state = 'queued' AND m.flow_key IS NOT NULL
          AND m.account_id = g.account_id AND m.flow_key = g.key LIMIT g.waiting) AS few) AS waiting
     FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
       WITH ORDINALITY AS g (account_id, key, active, unstarted, waiting, at) ORDER BY g.at`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    limits.map(({ active }) => active),
    limits.map(({ unstarted }) => unstarted),
    limits.map(({ waiting }) => waiting),
  );
}

async function writeWindows(database: Database, rows: readonly FlowRow[], plans: readonly StartPlan[]): Promise<void> {
  await database.run(
    `UPDATE flow_keys k SET window_start_at = g.window_start_at, window_count = g.window_count,
         next_start_at = g.next_start_at
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS g (account_id, key, window_start_at, window_count, next_start_at)
       WHERE k.account_id = g.account_id AND k.key = g.key
         AND (k.window_start_at, k.window_count, k.next_start_at)
           IS DISTINCT FROM (g.window_start_at, g.window_count, g.next_start_at)`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    plans.map(({ window }) => window.windowStartAt),
    plans.map(({ window }) => window.windowCount),
    plans.map(({ nextStartAt }) => nextStartAt),
  );
}

/**
 * Makes the first messages that wait under each key ready. The keys are locked, so the number of waiting messages can
 * only have grown since they were counted.
 */
async function makeReady(
  database: Database,
  rows: readonly FlowRow[],
  plans: readonly AdmissionPlan[],
  now: number,
): Promise<void> {
  if (plans.every(({ admitted }) => admitted === 0)) return;
  await database.run(
    `WITH first AS MATERIALIZED
       (SELECT g.account_id, m.seq
          FROM unnest($2::text[], $3::text[], $4::int[]) AS g (account_id, key, let_in)
          CROSS JOIN LATERAL
            (SELECT seq FROM messages
               WHERE state = 'queued' AND flow_key IS NOT NULL AND account_id = g.account_id AND flow_key = g.key
               ORDER BY due_at, seq LIMIT g.let_in) AS m)
     UPDATE messages m SET state = 'ready', holds_place = true, ${SET_READY_AT} FROM first
       WHERE m.account_id = first.account_id AND m.seq = first.seq AND ${only('m.state', 'queued')}`,
    now,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    plans.map(({ admitted }) => admitted),
  );
}

/**
 * Admits messages of keys that have a new period or have just become due. Skips keys that another transaction has
 * locked. A key that could admit more stays due.
 */
export async function admitDueKeys(database: Database, dueKeys: DueLines, now: number): Promise<void> {
  const due = await dueKeys.take(database, now, PROMOTE_KEYS_MAX);
  const locked = await lockKeys(database, due, 'SKIP LOCKED');
  await admitWaiting(database, locked, now, promotedPerKeyMax(locked.size));
}

/** Makes these keys due: this admits nothing, but the next claim admits the new messages that wait under them. */
export async function markKeysDue(database: Database, keys: LockedKeys, now: number): Promise<void> {
  const rows = [...keys.values()];
  if (rows.length === 0) return;
  await database.run(
    `UPDATE flow_keys k SET next_start_at = $3 FROM unnest($1::text[], $2::text[]) AS g (account_id, key)
       WHERE k.account_id = g.account_id AND k.key = g.key AND (k.next_start_at IS NULL OR k.next_start_at > $3)`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.key),
    now,
  );
}
