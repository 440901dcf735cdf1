// FIFO: which of a queue's messages may start. Whoever changes what stands in a line locks the queue's row first
// (`lockQueues`), so that all nodes do it one after the other; every change that could free or fill a place ends in
// `startHeads`, and nothing else turns `queued` into `ready` for a queue. Of the messages with one order key, only the
// first can be a head.

import { eachMax } from '../../domain/budgets.ts';
import type { Claim } from '../../domain/message.ts';
import { freeHeads, QUEUE_PARALLELISM_DEFAULT, type Queue, type QueueChange } from '../../domain/queue.ts';
import { FIRST_PART, type ListPart, type ListPiece } from '../list-piece.ts';
import { areHeirs, type Place } from '../succession.ts';
import { bodyBytesSql } from './bodies.ts';
import type { Database } from './database.ts';
import { keyOf, Pairs } from './lines.ts';
import { sought } from './sought.ts';

export interface QueueRow {
  account_id: string;
  name: string;
  parallelism: number;
  is_paused: boolean;
  next_start_at: number | null;
  line_at: number;
  /** As it is in the table. */
  written_line_at: number;
  created_at: number;
  updated_at: number;
}

/** Queues whose rows this transaction holds, by `keyOf`. */
export type LockedQueues = Map<string, QueueRow>;

/** `SKIP LOCKED` leaves out those that somebody else holds. */
export async function lockQueues(
  database: Database,
  pairs: Pairs,
  how: '' | 'SKIP LOCKED' = '',
): Promise<LockedQueues> {
  if (pairs.isEmpty) return new Map();
  const rows = await database.all<QueueRow>(
    `SELECT q.*, q.line_at AS written_line_at
       FROM queues q JOIN unnest($1::text[], $2::text[]) AS g (account_id, name) USING (account_id, name)
       ORDER BY q.account_id, q.name FOR UPDATE OF q ${how}`,
    ...pairs.columns(),
  );
  return new Map(rows.map((row) => [keyOf(row.account_id, row.name), row]));
}

/** Makes those that are missing. */
export async function ensureQueues(database: Database, pairs: Pairs, now: number): Promise<void> {
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

/** What has become of the lines of some queues. */
export interface Heads {
  /** The earliest time at which there is something to claim that nobody has, or null. */
  readonly dueAt: number | null;
  /** Those that took over a slot. */
  readonly claims: readonly Claim[];
}

/** The slots of messages that have just ended, and how to lease them to the next of their queues. */
export interface Estate {
  readonly places: readonly Place[];
  readonly lease: (heads: readonly Head[]) => Promise<Claim[]>;
}

export interface Head extends Place {
  readonly seq: number;
  readonly bytes: number;
}

/**
 * Makes as many messages ready as there are free places, in order, or leases them to the heirs of an estate; and notes
 * when the next one may start and where the line ends.
 */
export async function startHeads(
  database: Database,
  queues: LockedQueues,
  now: number,
  estate: Estate | null = null,
): Promise<Heads> {
  const rows = [...queues.values()];
  if (rows.length === 0) return { dueAt: null, claims: [] };
  const { started, heads, isOtherReady } = await readLines(database, rows, estate !== null);
  const dueAt: number[] = [];
  for (const [index, row] of rows.entries()) {
    const excess = started[index]! - row.parallelism;
    if (excess <= 0) continue;
    await giveBackPlaces(database, row, excess);
    dueAt.push(now);
  }
  const starting = heads.filter((head) => head.first_due_at <= now);
  // One that had its place taken away while it waited for its retry waits on, as the head.
  const isDue = starting.every((head) => head.due_at <= now);
  const isTakenOver = estate !== null && isDue && !isOtherReady && areHeirs(starting, estate.places);
  const claims = isTakenOver ? await estate.lease(starting) : [];
  if (!isTakenOver) await makeHeadsReady(database, starting, now);
  const nextStartAt = new Map<number, number>();
  for (const head of heads) {
    if (head.first_due_at > now && !nextStartAt.has(head.index)) nextStartAt.set(head.index, head.first_due_at);
  }
  await writeQueues(
    database,
    rows,
    rows.map((_, index) => nextStartAt.get(index) ?? null),
  );
  dueAt.push(...nextStartAt.values());
  if (!isTakenOver) dueAt.push(...starting.map((head) => Math.max(head.due_at, now)));
  return { dueAt: dueAt.length === 0 ? null : Math.min(...dueAt), claims };
}

interface WaitingHead extends Head {
  /** Of its queue among the rows asked for. */
  readonly index: number;
  readonly first_due_at: number;
  readonly due_at: number;
}

/** How many of each queue have their place, and the first of its line, as many as it has free ones. */
async function readLines(database: Database, rows: readonly QueueRow[], looksForOthers: boolean) {
  const found = await database.all<Partial<WaitingHead> & { index: number; started: number; is_other_ready: boolean }>(
    `SELECT (g.at - 1)::int AS index, holding.started, g.account_id, g.name AS queue_name, m.*,
        $4::boolean AND (SELECT true FROM messages WHERE state = 'ready'
                           ORDER BY account_id, host, due_at, seq LIMIT 1) IS TRUE AS is_other_ready
       FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS g (account_id, name, places, at)
       CROSS JOIN LATERAL
         (SELECT count(*)::int AS started FROM messages
            WHERE holds_slot AND queue_name IS NOT NULL AND account_id = g.account_id AND queue_name = g.name) AS holding
       LEFT JOIN LATERAL
         (SELECT seq, host, first_due_at, due_at, ${bodyBytesSql('messages')} AS bytes FROM messages
            WHERE state = 'queued' AND NOT holds_slot AND is_first_of_key AND queue_name IS NOT NULL
              AND account_id = g.account_id AND queue_name = g.name
            ORDER BY first_due_at, seq LIMIT greatest(0, g.places - holding.started)) AS m ON true
       ORDER BY g.at, m.first_due_at, m.seq`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.name),
    rows.map((row) => freeHeads({ parallelism: row.parallelism, isPaused: row.is_paused }, 0)),
    looksForOthers,
  );
  const started = rows.map(() => 0);
  for (const row of found) started[row.index] = row.started;
  return {
    started,
    heads: found.filter((row): row is typeof row & WaitingHead => row.seq !== null),
    isOtherReady: found.some((row) => row.is_other_ready),
  };
}

async function makeHeadsReady(database: Database, heads: readonly Head[], now: number): Promise<void> {
  if (heads.length === 0) return;
  await database.run(
    `UPDATE messages m SET state = CASE WHEN m.due_at > $3 THEN 'delayed' ELSE 'ready' END, holds_slot = true,
         ready_at = CASE m.attempts WHEN 0 THEN $3 ELSE m.ready_at END
       FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq)
       WHERE m.account_id = g.account_id AND m.seq = g.seq`,
    heads.map((head) => head.account_id),
    heads.map((head) => head.seq),
    now,
  );
}

/** `line_at` may have been moved by the caller, on the row it locked. */
async function writeQueues(
  database: Database,
  rows: readonly QueueRow[],
  nextStartAt: readonly (number | null)[],
): Promise<void> {
  const changed = rows
    .map((row, index) => ({ ...row, next_start_at: nextStartAt[index]!, was: row.next_start_at }))
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

/** The parallelism was lowered: of the heads without an attempt under way, the last ones stand in line again. */
async function giveBackPlaces(database: Database, { account_id, name }: QueueRow, count: number): Promise<void> {
  await database.run(
    `UPDATE messages SET state = 'queued', holds_slot = false
       WHERE account_id = $1 AND state <> 'claimed' AND ended_at IS NULL AND seq IN
         (SELECT seq FROM messages
            WHERE holds_slot AND queue_name IS NOT NULL AND account_id = $1 AND queue_name = $2 AND state <> 'claimed'
            ORDER BY first_due_at DESC, seq DESC LIMIT $3)`,
    account_id,
    name,
    count,
  );
}

/** An order key of a queue, and how many messages of it came at once. */
export interface OrderKey {
  readonly accountId: string;
  readonly queueName: string;
  readonly orderKey: string;
  count: number;
}

export class OrderKeys {
  readonly #keys = new Map<string, OrderKey>();

  add(accountId: string, queueName: string, orderKey: string): void {
    const key = `${keyOf(accountId, queueName)}\n${orderKey}`;
    const known = this.#keys.get(key);
    if (known) known.count += 1;
    else this.#keys.set(key, { accountId, queueName, orderKey, count: 1 });
  }

  /**
   * Of the open messages with an order key, only the first may be a head. To be called after some came or ended, under
   * the lock of their queue; the one that was first before is at most as many places back as came.
   */
  async settle(database: Database): Promise<void> {
    const keys = [...this.#keys.values()];
    if (keys.length === 0) return;
    const rows = await database.all<{ account_id: string; seq: number; is_first_of_key: boolean; rank: number }>(
      `SELECT g.account_id, m.seq, m.is_first_of_key, m.rank
         FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS g (account_id, queue_name, order_key, count)
         CROSS JOIN LATERAL
           (SELECT seq, is_first_of_key, row_number() OVER (ORDER BY first_due_at, seq) AS rank FROM messages
              WHERE order_key IS NOT NULL AND ended_at IS NULL AND account_id = g.account_id
                AND queue_name = g.queue_name AND order_key = g.order_key
              ORDER BY first_due_at, seq LIMIT g.count + 1) AS m
         WHERE NOT EXISTS
           (SELECT 1 FROM messages h WHERE h.holds_slot AND h.queue_name IS NOT NULL AND h.account_id = g.account_id
              AND h.queue_name = g.queue_name AND h.order_key = g.order_key)`,
      keys.map((key) => key.accountId),
      keys.map((key) => key.queueName),
      keys.map((key) => key.orderKey),
      keys.map((key) => key.count),
    );
    const wrong = rows.filter((row) => row.is_first_of_key !== (row.rank === 1));
    if (wrong.length === 0) return;
    await database.run(
      `UPDATE messages m SET is_first_of_key = NOT m.is_first_of_key
         FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq)
         WHERE m.account_id = g.account_id AND m.seq = g.seq`,
      wrong.map((row) => row.account_id),
      wrong.map((row) => row.seq),
    );
  }
}

/** Starts the heads of queues whose next message has become due. One that somebody else changes is left for later. */
export async function startDueQueues(database: Database, now: number, limit: number): Promise<void> {
  const due = await database.all<{ account_id: string; name: string }>(
    'SELECT account_id, name FROM queues WHERE next_start_at <= $1 ORDER BY next_start_at LIMIT $2',
    now,
    limit,
  );
  const pairs = new Pairs(due.map((row) => [row.account_id, row.name] as const));
  await startHeads(database, await lockQueues(database, pairs, 'SKIP LOCKED'), now);
}

export async function saveQueue(
  database: Database,
  accountId: string,
  name: string,
  change: QueueChange,
  now: number,
): Promise<Queue> {
  const pairs = new Pairs([[accountId, name]]);
  await ensureQueues(database, pairs, now);
  const before = (await lockQueues(database, pairs)).get(keyOf(accountId, name))!;
  const isPaused = change.isPaused ?? before.is_paused;
  await database.run(
    `UPDATE queues SET parallelism = $3, is_paused = $4, updated_at = $5 WHERE account_id = $1 AND name = $2`,
    accountId,
    name,
    change.parallelism ?? before.parallelism,
    isPaused,
    now,
  );
  // A head of a paused queue waits as `queued`, keeping its place; resumed, it waits for the clock as before.
  if (isPaused) await moveHeads(database, accountId, name, "state IN ('ready', 'delayed')", 'queued', now);
  else await moveHeads(database, accountId, name, "state = 'queued'", 'delayed', now);
  await startHeads(database, await lockQueues(database, pairs), now);
  return (await getQueue(database, accountId, name))!;
}

async function moveHeads(
  database: Database,
  accountId: string,
  name: string,
  from: string,
  to: 'queued' | 'delayed',
  now: number,
): Promise<void> {
  await database.run(
    `UPDATE messages SET state = '${to}', ready_at = CASE attempts WHEN 0 THEN $3 ELSE ready_at END
       WHERE holds_slot AND queue_name IS NOT NULL AND account_id = $1 AND queue_name = $2 AND ${from}`,
    accountId,
    name,
    now,
  );
}

export async function getQueue(database: Database, accountId: string, name: string): Promise<Queue | null> {
  if (sought(name) === null) return null;
  const rows = await database.all<QueueRow>(
    'SELECT * FROM queues WHERE account_id = $1 AND name = $2',
    accountId,
    name,
  );
  return (await toQueues(database, rows))[0] ?? null;
}

/** Queues whose messages are counted by one statement. */
const COUNTED_TOGETHER = 20;

/** Ends early when it has counted enough: the queues behind are another piece of work. */
export async function listQueues(
  database: Database,
  accountId: string,
  part: ListPart = FIRST_PART,
): Promise<ListPiece<Queue>> {
  const rows = await database.all<QueueRow>(
    'SELECT * FROM queues WHERE account_id = $1 AND name > $2 ORDER BY name LIMIT $3',
    accountId,
    part.after ?? '',
    part.limit + 1,
  );
  const entries: Queue[] = [];
  let counted = 0;
  while (entries.length < Math.min(rows.length, part.limit) && counted <= eachMax('lineCount')) {
    const some = rows.slice(entries.length, Math.min(entries.length + COUNTED_TOGETHER, part.limit));
    const queues = await toQueues(database, some);
    entries.push(...queues);
    counted += queues.reduce((sum, { lag }) => sum + lag, 0);
  }
  return { entries, hasMore: rows.length > entries.length };
}

async function toQueues(database: Database, rows: readonly QueueRow[]): Promise<Queue[]> {
  if (rows.length === 0) return [];
  const max = eachMax('lineCount');
  const counts = await database.all<{ lag: number }>(
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM messages m WHERE m.ended_at IS NULL AND m.queue_name IS NOT NULL
               AND m.account_id = g.account_id AND m.queue_name = g.name LIMIT $3) AS few) AS lag
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (account_id, name, at) ORDER BY g.at`,
    rows.map((row) => row.account_id),
    rows.map((row) => row.name),
    max + 1,
  );
  return rows.map((row, index) => {
    const { lag } = counts[index]!;
    return {
      accountId: row.account_id,
      name: row.name,
      parallelism: row.parallelism,
      isPaused: row.is_paused,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      lag: Math.min(lag, max),
      ...(lag > max && { isLagCut: true }),
    };
  });
}

/** Deletes a queue that has no open messages; answers its lag. Under its lock none can come meanwhile. */
export async function deleteQueue(database: Database, accountId: string, name: string): Promise<number | null> {
  if (sought(name) === null) return null;
  const locked = await lockQueues(database, new Pairs([[accountId, name]]));
  if (locked.size === 0) return null;
  const { lag } = (await getQueue(database, accountId, name))!;
  const isOpen = await database.get(
    `SELECT 1 FROM messages WHERE ended_at IS NULL AND account_id = $1 AND queue_name = $2
       AND cancel_requested_at IS NULL LIMIT 1`,
    accountId,
    name,
  );
  if (isOpen) return lag;
  await database.run(
    `UPDATE messages SET holds_slot = false, order_key = NULL
       WHERE ended_at IS NULL AND account_id = $1 AND queue_name = $2`,
    accountId,
    name,
  );
  await database.run('DELETE FROM queues WHERE account_id = $1 AND name = $2', accountId, name);
  return 0;
}
