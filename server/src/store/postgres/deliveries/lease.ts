// Takes ready messages within the free slots, and leases messages to a node: those, and heads of queues that take over a
// slot. Messages that have expired are passed over: they are ended beside the claims.

import type { Claim } from '../../../rules/delivery/message.ts';
import { type Backlog, type BacklogShare, shareSlots } from '../../../rules/delivery/share-slots.ts';
import type { SlotBudget } from '../../../rules/delivery/slots.ts';
import { BACKLOG, RANK } from '../../rows/message-columns.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { startStep } from '../../rows/rows.ts';
import type { AccountAtClaim } from '../../shared/commands.ts';
import { EXPIRED_PASSED_MAX, type ExpiringRow, isLive } from '../../shared/expiries.ts';
import type { LeaseHolder } from '../../shared/succession.ts';
import { Pairs } from '../groups/lines.ts';
import { ALL_BUT_BODY, WHOLE_COLUMNS } from '../messages/messages.ts';
import type { Database } from '../sessions/database.ts';
import { bodyBytesSql, JOIN_BODY, readBodies } from './bodies.ts';
import { countStarts } from './flow-keys.ts';
import { positionSql } from './journal.ts';
import type { Leasable } from './message-sql.ts';
import type { Head } from './queues.ts';

export interface ReadyRow extends Leasable, ExpiringRow {
  /** The name of its backlog. */
  readonly backlog: string;
  readonly bytes: number;
}

/** A row, and the index of its backlog among those that were asked for. */
type AskedRow = ReadyRow & { readonly index: number };

/** Adds as many messages to `taken` as the budget allows, and locks them. */
export async function takeBacklogs(
  database: Database,
  budget: SlotBudget,
  backlogs: readonly Backlog[],
  taken: ReadyRow[],
  now: number,
): Promise<void> {
  for (const asks of shareSlots(backlogs, budget)) {
    const wanted = asks.map((ask) => ask.wanted);
    const first = await readReady(database, asks, wanted, taken);
    const rows = first.every((row) => isLive(row, now)) ? first : await passExpired(database, asks, first, taken, now);
    for (const row of rows) {
      // A small message need not wait for a large one before it.
      if (!budget.take(row.account_id, row.backlog, row.bytes)) continue;
      taken.push(row);
      asks[row.index]!.taken += 1;
    }
  }
}

function readReady(
  database: Database,
  asks: readonly BacklogShare<Backlog>[],
  wanted: readonly number[],
  taken: readonly ReadyRow[],
  sql = READY,
): Promise<AskedRow[]> {
  return database.all<AskedRow>(
    sql,
    asks.map(({ backlog }) => backlog.accountId),
    asks.map(({ backlog }) => backlog.name),
    wanted,
    taken.map(({ seq }) => seq),
  );
}

/**
 * Messages that have not expired: of those read first, and of some behind them in backlogs with expired messages. These
 * are locked only when the expired ones among them are left out: upkeep ends those meanwhile, and a lock is a write.
 */
async function passExpired(
  database: Database,
  asks: readonly BacklogShare<Backlog>[],
  first: readonly AskedRow[],
  taken: readonly ReadyRow[],
  now: number,
): Promise<AskedRow[]> {
  const missing = asks.map((_, at) => first.filter((row) => row.index === at && !isLive(row, now)).length);
  const more = missing.map((count) => (count === 0 ? 0 : count + EXPIRED_PASSED_MAX));
  const read = await readReady(database, asks, more, [...taken, ...first], BEHIND);
  const behind = read.filter((row) => isLive(row, now));
  const instead = missing.flatMap((count, at) => behind.filter((row) => row.index === at).slice(0, count));
  return [...first.filter((row) => isLive(row, now)), ...(await lockReady(database, instead, now))];
}

/** Those that can be locked and are still as they were read. */
async function lockReady(database: Database, rows: readonly AskedRow[], now: number): Promise<AskedRow[]> {
  if (rows.length === 0) return [];
  const locked = await database.all<Omit<AskedRow, 'index'> & { readonly state: string }>(
    LOCK,
    rows.map(({ account_id }) => account_id),
    rows.map(({ seq }) => seq),
  );
  const bySeq = new Map(locked.map(({ state, ...row }) => [row.seq, { state, row }]));
  return rows.flatMap(({ index, backlog, seq }) => {
    const { state, row } = bySeq.get(seq) ?? {};
    return row && state === 'ready' && row.backlog === backlog && isLive(row, now) ? [{ ...row, index }] : [];
  });
}

/** Up to `g.wanted` messages of each backlog, in their order, that are not in $4. */
const readySql = (lock: string) => `SELECT (g.at - 1)::int AS index, m.account_id, m.backlog, m.seq, m.claimed_at,
    m.must_start_before, ${bodyBytesSql('m')} AS bytes
  FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS g (account_id, backlog, wanted, at)
  CROSS JOIN LATERAL
    (SELECT account_id, ${BACKLOG} AS backlog, seq, ${RANK} AS rank, claimed_at, must_start_before, body, body_id FROM messages
       WHERE state = 'ready' AND account_id = g.account_id AND ${BACKLOG} = g.backlog AND seq <> ALL ($4::bigint[])
       ORDER BY ${RANK}, seq LIMIT g.wanted ${lock}) AS m
  ORDER BY g.at, m.rank, m.seq`;

/** Locked, without those that another transaction has locked. */
const READY = readySql('FOR UPDATE SKIP LOCKED');
const BEHIND = readySql('');

/** By the key alone, so that the planner has no other index to choose. */
const LOCK = `SELECT m.account_id, ${BACKLOG} AS backlog, m.seq, m.state, m.claimed_at, m.must_start_before, ${bodyBytesSql('m')} AS bytes
  FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq) JOIN messages m USING (account_id, seq)
  FOR UPDATE OF m SKIP LOCKED`;

/** A claimed message, and what its claim needs to know about the account. */
export type ClaimRow = MessageRow & AccountAtClaim & Required<Pick<Claim, 'isPlain'>>;

/** A claim without its body. The body is read after the commit, so that no lock is held meanwhile. */
export type ClaimWithoutBody = Claim & Pick<MessageRow, 'seq' | 'body_id'>;

/** The columns of a claim besides its message `m`: from the account `a`, and whether the message is plain. */
export const CLAIM_COLUMNS_BESIDE_MESSAGE = `a.tier, a.current_key AS "signingKey",
  m.queue_name IS NULL AND m.flow_key IS NULL AND m.deduplication_key IS NULL AS "isPlain"`;

const leaseSql = (columns: string, also = '', join = '') => `WITH m AS
    (UPDATE messages m SET state = 'claimed', lease = g.lease, node = $4, claimed_at = $5${also}
       FROM unnest($1::text[], $2::bigint[], $3::text[], $6::boolean[]) AS g (account_id, seq, lease, is_start_journalled)
       WHERE m.account_id = g.account_id AND m.seq = g.seq
       RETURNING ${READ_COLUMNS}, m.body, m.deduplication_key, g.is_start_journalled),
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
       SELECT account_id, ${positionSql('account_id', 'seq')}, $5, seq, ${startStep(1)} - attempts FROM m WHERE NOT is_start_journalled)
  SELECT ${columns}, ${CLAIM_COLUMNS_BESIDE_MESSAGE} FROM m JOIN accounts a ON a.id = m.account_id ${join}`;

const LEASE = leaseSql(ALL_BUT_BODY);
/** Reads the bodies too, which are small: a message with a large body is never a successor. */
const LEASE_HEADS = leaseSql(
  WHOLE_COLUMNS,
  ', holds_place = true, ready_at = CASE m.attempts WHEN 0 THEN $5 ELSE m.ready_at END',
  JOIN_BODY,
);

/** Leases ready messages. Their bodies are read after the commit: see `withBodies`. */
export function leaseReady(
  database: Database,
  to: LeaseHolder,
  now: number,
  rows: readonly Leasable[],
): Promise<ClaimWithoutBody[]> {
  return lease(database, LEASE, to, now, rows);
}

/** Leases heads of queues directly, instead of making them ready first. */
export function leaseHeads(database: Database, to: LeaseHolder, now: number, heads: readonly Head[]): Promise<Claim[]> {
  return lease(database, LEASE_HEADS, to, now, heads);
}

async function lease(
  database: Database,
  sql: string,
  { node, leasePrefix }: LeaseHolder,
  now: number,
  rows: readonly Leasable[],
): Promise<ClaimWithoutBody[]> {
  if (rows.length === 0) return [];
  const claimed = await database.all<ClaimRow>(
    sql,
    rows.map(({ account_id }) => account_id),
    rows.map(({ seq }) => seq),
    rows.map((_, index) => `${leasePrefix}.${index}`),
    node,
    now,
    rows.map(({ claimed_at }) => claimed_at !== null),
  );
  const keys = new Pairs();
  for (const row of claimed) if (row.flow_key !== null) keys.add(row.account_id, row.flow_key);
  await countStarts(database, keys, now);
  const bySeq = new Map(claimed.map((row) => [row.seq, row]));
  return rows.flatMap(({ seq }) => {
    const row = bySeq.get(seq);
    return row ? [toClaim(row)] : [];
  });
}

export function toClaim(row: ClaimRow): ClaimWithoutBody {
  const { seq, body_id, tier, signingKey, isPlain } = row;
  return { lease: row.lease!, seq, body_id, message: toMessage(row), tier, signingKey, isPlain };
}

/**
 * Adds the bodies, which are read after the commit. By then a cancel may have been requested, or this node may have
 * stalled so long that another node took over the claim: such claims are left out.
 */
export async function withBodies(database: Database, claims: readonly ClaimWithoutBody[]): Promise<Claim[]> {
  if (claims.length === 0) return [];
  const standing = await database.all<{ seq: number; body: Uint8Array | null }>(
    `SELECT m.seq, CASE WHEN m.body_id IS NULL THEN m.body END AS body
       FROM messages m JOIN unnest($1::text[], $2::bigint[], $3::text[]) AS g (account_id, seq, lease)
         ON m.account_id = g.account_id AND m.seq = g.seq AND m.lease = g.lease
       WHERE m.cancel_requested_at IS NULL`,
    claims.map(({ message }) => message.accountId),
    claims.map(({ seq }) => seq),
    claims.map(({ lease }) => lease),
  );
  const own = new Map(standing.map(({ seq, body }) => [seq, body]));
  const sharing = claims.filter(({ seq }) => own.get(seq) === null);
  const shared = await readBodies(
    database,
    sharing.map(({ seq, body_id, message }) => ({ account_id: message.accountId, seq, body_id })),
  );
  return claims.flatMap(({ seq, body_id: _, ...claim }) => {
    const body = own.get(seq) ?? shared.get(seq);
    return body ? [{ ...claim, message: { ...claim.message, body } }] : [];
  });
}
