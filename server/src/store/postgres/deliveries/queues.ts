// FIFO queues: which messages of a queue may start; of those with one order key, only the first can be a head. A
// transaction locks the row of a queue (`lockQueues`) before it changes the order of its messages, so that all nodes
// change it one after another. Every change that could free or fill a place ends in `startHeads`; nothing else makes a
// `queued` message of a queue `ready`.

import type { Claim } from '../../../rules/delivery/message.ts';
import { eachMax } from '../../../rules/limits/budgets.ts';
import type { Waiting } from '../../../rules/lines/line.ts';
import {
  freeHeads,
  planHeads,
  QUEUE_PARALLELISM_DEFAULT,
  QUEUE_PARALLELISM_MAX,
  type QueuedMessage,
  type QueueRules,
  stateChangeInPause,
} from '../../../rules/lines/queue.ts';
import { earlier } from '../../../rules/time/instant.ts';
import { QUEUE_COLUMNS, type QueueRow, toRules } from '../../rows/line-rows.ts';
import { type ExpiringRow, isLive } from '../../shared/expiries.ts';
import { PROMOTE_QUEUES_MAX, promotedPerQueueMax } from '../../shared/promotion.ts';
import { areSuccessors, type QueueAtHost } from '../../shared/succession.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { bodyBytesSql } from './bodies.ts';
import type { DueLines } from './due-lines.ts';
import { type Leasable, READY_ORDER, SET_READY_AT } from './message-sql.ts';

export interface LockedQueue extends QueueRow {
  line_at: number;
  /** The value of `line_at` in the table, to see whether it has changed. */
  written_line_at: number;
}

/** The queues whose rows this transaction has locked, by `keyOf`. */
export type LockedQueues = Map<string, LockedQueue>;

/** `SKIP LOCKED` leaves out queues that another transaction has locked. */
export async function lockQueues(
  database: Database,
  pairs: Pairs,
  how: '' | 'SKIP LOCKED' = '',
): Promise<LockedQueues> {
  if (pairs.isEmpty) return new Map();
  const rows = await database.all<LockedQueue>(
    `SELECT ${QUEUE_COLUMNS}, q.line_at, q.line_at AS written_line_at
       FROM queues q JOIN unnest($1::text[], $2::text[]) AS g (account_id, name) USING (account_id, name)
       ORDER BY q.account_id, q.name FOR UPDATE OF q ${how}`,
    ...pairs.columns(),
  );
  return new Map(rows.map((row) => [keyOf(row.account_id, row.name), row]));
}

/** Locks queues and creates missing ones. Tries again if a person or retention deletes a queue before it is locked. */
export async function lockOrCreateQueues(database: Database, pairs: Pairs, now: number): Promise<LockedQueues> {
  const count = pairs.columns()[0].length;
  for (;;) {
    const locked = await lockQueues(database, pairs);
    if (locked.size === count) return locked;
    await ensureQueues(database, pairs, now);
  }
}

async function ensureQueues(database: Database, pairs: Pairs, now: number): Promise<void> {
  const [accountIds, names] = pairs.columns();
  await database.run(
    `INSERT INTO queues (account_id, name, parallelism, created_at, updated_at)
       SELECT account_id, name, $3::int, $4::bigint, $4 FROM unnest($1::text[], $2::text[]) AS g (account_id, name)
       ON CONFLICT DO NOTHING`,
    accountIds,
    names,
    QUEUE_PARALLELISM_DEFAULT,
    now,
  );
}

/** The result of starting heads in some queues. */
export interface StartedHeads {
  /** The earliest time at which there is a message to claim, apart from `claims`. Null if there is none. */
  readonly dueAt: number | null;
  /** The messages that took over a slot. */
  readonly claims: readonly Claim[];
}

/** The slots of messages that have just ended, and how to lease them to their successors. */
export interface FreedPlaces {
  readonly places: readonly QueueAtHost[];
  readonly lease: (heads: readonly Head[]) => Promise<Claim[]>;
}

export interface Head extends QueueAtHost, ExpiringRow, Omit<Leasable, 'account_id'> {
  readonly bytes: number;
}

interface HeadOptions {
  readonly successors?: FreedPlaces | null;
  /** The limit for heads that start in each queue. */
  readonly most?: number;
}

/**
 * Makes as many messages ready as there are free places, in order, or leases them as successors of messages that ended.
 * Records when the next message may start, and the last time in the queue (`line_at`).
 */
export async function startHeads(
  database: Database,
  queues: LockedQueues,
  now: number,
  { successors = null, most = QUEUE_PARALLELISM_MAX }: HeadOptions = {},
): Promise<StartedHeads> {
  const rows = [...queues.values()];
  if (rows.length === 0) return { dueAt: null, claims: [] };
  const { lines, isOtherReady } = await readLines(database, rows, most, successors !== null);
  const plans = rows.map((row, index) => {
    const { started, heads } = lines[index]!;
    return planHeads(toRules(row), started, heads, now, most);
  });
  for (const [index, { giveBack }] of plans.entries()) {
    if (giveBack > 0) await giveBackPlaces(database, rows[index]!, giveBack);
  }
  const starting = plans.flatMap(({ start }) => start);
  const heads = starting.map(({ head }) => head);
  const isDue = starting.every(({ head, state }) => state === 'ready' && isLive(head, now));
  const isTakenOver = successors !== null && isDue && !isOtherReady && areSuccessors(heads, successors.places);
  const claims = isTakenOver ? await successors.lease(heads) : [];
  if (!isTakenOver) await giveStates(database, starting, now);
  await writeQueues(database, rows, plans);
  let dueAt: number | null = null;
  for (const plan of plans) dueAt = earlier(dueAt, isTakenOver ? plan.nextStartAt : plan.dueAt);
  return { dueAt, claims };
}

/**
 * Makes each of these queues due when its first new message is due. This starts nothing, but the next claim starts the
 * message. Also writes `line_at`.
 */
export async function markQueuesDue(
  database: Database,
  queues: readonly { readonly queue: LockedQueue; readonly at: number }[],
): Promise<number | null> {
  const plans = queues.map(({ queue, at }) => ({ nextStartAt: earlier(queue.next_start_at, at) }));
  await writeQueues(
    database,
    queues.map(({ queue }) => queue),
    plans,
  );
  return plans.reduce<number | null>((dueAt, { nextStartAt }) => earlier(dueAt, nextStartAt), null);
}

type WaitingHead = Head & QueuedMessage;

/** For each queue: how many messages hold a place, and the first that wait, as many as there are free places. */
async function readLines(database: Database, rows: readonly QueueRow[], most: number, looksForOthers: boolean) {
  const found = await database.all<Partial<WaitingHead> & { index: number; started: number; is_other_ready: boolean }>(
    `SELECT (g.at - 1)::int AS index, holding.started, g.account_id, g.name AS queue_name, m.seq, m.host,
        m.claimed_at, m.must_start_before, m."firstDueAt", m."dueAt", m.bytes,
        $4::boolean AND (SELECT true FROM messages WHERE state = 'ready'
                           ORDER BY ${READY_ORDER} LIMIT 1) IS TRUE AS is_other_ready
       FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS g (account_id, name, places, at)
       CROSS JOIN LATERAL
         (SELECT count(*)::int AS started FROM messages
            WHERE holds_place AND queue_name IS NOT NULL AND account_id = g.account_id AND queue_name = g.name) AS holding
       LEFT JOIN LATERAL
         (SELECT seq, host, claimed_at, must_start_before, first_due_at AS "firstDueAt", due_at AS "dueAt", ${bodyBytesSql('messages')} AS bytes
            FROM messages
            WHERE state = 'queued' AND NOT holds_place AND is_first_of_key AND queue_name IS NOT NULL
              AND account_id = g.account_id AND queue_name = g.name
            ORDER BY first_due_at, seq LIMIT greatest(0, least($5::int, g.places - holding.started))) AS m ON true
       ORDER BY g.at, m."firstDueAt", m.seq`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.name),
    rows.map((row) => freeHeads(toRules(row), 0)),
    looksForOthers,
    most,
  );
  const lines = rows.map(() => ({ started: 0, heads: [] as WaitingHead[] }));
  for (const row of found) {
    const line = lines[row.index]!;
    line.started = row.started;
    if (isHead(row)) line.heads.push(row);
  }
  return { lines, isOtherReady: found.some((row) => row.is_other_ready) };
}

function isHead(row: Partial<WaitingHead>): row is WaitingHead {
  return row.seq !== null;
}

async function giveStates(
  database: Database,
  starting: readonly { readonly head: Head; readonly state: Waiting }[],
  now: number,
): Promise<void> {
  if (starting.length === 0) return;
  await database.run(
    `UPDATE messages m SET state = g.state, holds_place = true, ${SET_READY_AT}
       FROM unnest($2::text[], $3::bigint[], $4::text[]) AS g (account_id, seq, state)
       WHERE m.account_id = g.account_id AND m.seq = g.seq`,
    now,
    starting.map(({ head }) => head.account_id),
    starting.map(({ head }) => head.seq),
    starting.map(({ state }) => state),
  );
}

/** Also writes `line_at`, which the caller may have moved. */
async function writeQueues(
  database: Database,
  rows: readonly LockedQueue[],
  plans: readonly { readonly nextStartAt: number | null }[],
): Promise<void> {
  const changed = rows
    .map((row, index) => ({ ...row, next_start_at: plans[index]!.nextStartAt, was: row.next_start_at }))
    .filter((row) => row.next_start_at !== row.was || row.line_at !== row.written_line_at);
  if (changed.length === 0) return;
  await database.run(
    `UPDATE queues q SET next_start_at = g.next_start_at, line_at = g.line_at
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS g (account_id, name, next_start_at, line_at)
       WHERE q.account_id = g.account_id AND q.name = g.name`,
    changed.map((row) => row.account_id),
    changed.map((row) => row.name),
    changed.map((row) => row.next_start_at),
    changed.map((row) => row.line_at),
  );
}

/** After the parallelism was lowered: the last heads without a running attempt wait in the queue again. */
async function giveBackPlaces(database: Database, { account_id, name }: QueueRow, count: number): Promise<void> {
  await database.run(
    `WITH last AS MATERIALIZED
       (SELECT account_id, seq FROM messages
          WHERE holds_place AND queue_name IS NOT NULL AND account_id = $1 AND queue_name = $2 AND state <> 'claimed'
          ORDER BY first_due_at DESC, seq DESC LIMIT $3)
     UPDATE messages m SET state = 'queued', holds_place = false FROM last
       WHERE m.account_id = last.account_id AND m.seq = last.seq AND m.state <> 'claimed' AND m.ended_at IS NULL`,
    account_id,
    name,
    count,
  );
}

/**
 * Starts the heads of queues whose next message has become due. Skips queues that another transaction has locked. A
 * queue that could start more stays due.
 */
export async function startDueQueues(database: Database, dueQueues: DueLines, now: number): Promise<void> {
  const due = await dueQueues.take(database, now, PROMOTE_QUEUES_MAX);
  const locked = await lockQueues(database, due, 'SKIP LOCKED');
  await startHeads(database, locked, now, { most: promotedPerQueueMax(locked.size) });
}

export async function lockOrCreateQueue(
  database: Database,
  accountId: string,
  name: string,
  now: number,
): Promise<LockedQueue> {
  const locked = await lockOrCreateQueues(database, new Pairs([[accountId, name]]), now);
  return locked.get(keyOf(accountId, name))!;
}

/**
 * Call this after the rules of a queue have changed. Messages that hold a place wait while the queue is paused, and
 * continue when it is resumed: this sets their states. Then it starts the heads that may start.
 */
export async function applyQueueRules(
  database: Database,
  accountId: string,
  name: string,
  { isPaused }: QueueRules,
  now: number,
): Promise<void> {
  const { from, to } = stateChangeInPause(isPaused);
  await database.run(
    `UPDATE messages m SET state = $2, ${SET_READY_AT}
       WHERE holds_place AND queue_name IS NOT NULL AND account_id = $3 AND queue_name = $4 AND state = ANY($5::text[])`,
    now,
    to,
    accountId,
    name,
    from,
  );
  await startHeads(database, await lockQueues(database, new Pairs([[accountId, name]])), now);
}

/** For how many queues or flow keys one statement counts the messages. */
export const COUNTED_PER_STATEMENT = 20;

/** How many open messages each of the first queues has, as many queues as one statement counts. */
export async function queueLags(database: Database, queues: readonly QueueRow[]): Promise<number[]> {
  const some = queues.slice(0, COUNTED_PER_STATEMENT);
  const counts = await database.all<{ lag: number }>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.ended_at IS NULL AND m.queue_name IS NOT NULL
               AND m.account_id = g.account_id AND m.queue_name = g.name LIMIT $3) AS few) AS lag
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (account_id, name, at) ORDER BY g.at`,
    some.map((row) => row.account_id),
    some.map((row) => row.name),
    eachMax('lineCount') + 1,
  );
  return counts.map(({ lag }) => lag);
}
