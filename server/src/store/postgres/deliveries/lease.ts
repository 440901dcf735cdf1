// Leases messages to a node: those that a claim has found ready, and heads of queues that take over a slot.

import type { Claim } from '../../../rules/delivery/message.ts';
import { READ_COLUMNS } from '../../rows/message-fields.ts';
import { type MessageRow, toMessage } from '../../rows/message-row.ts';
import { startStep } from '../../rows/rows.ts';
import type { AccountAtClaim } from '../../shared/commands.ts';
import type { LeaseHolder } from '../../shared/succession.ts';
import { Pairs } from '../groups/lines.ts';
import { ALL_BUT_BODY, WHOLE } from '../messages/messages.ts';
import type { Database } from '../sessions/database.ts';
import { JOIN_BODY, readBodies } from './bodies.ts';
import { countStarts } from './flow-keys.ts';
import { positionSql } from './journal.ts';
import type { Leasable } from './message-sql.ts';
import type { Head } from './queues.ts';

/** A claimed message, and what its claim needs to know about the account. */
export type ClaimRow = MessageRow & AccountAtClaim & Required<Pick<Claim, 'isPlain'>>;

/** A claim without its body. The body is read after the commit, so that no lock is held meanwhile. */
export type ClaimWithoutBody = Claim & Pick<MessageRow, 'seq' | 'body_id'>;

/** The columns of a claim that come from the account `a`, beside its message `m`. */
export const BESIDE_MESSAGE = `a.tier, a.current_key AS "signingKey",
  m.queue_name IS NULL AND m.flow_key IS NULL AND m.deduplication_key IS NULL AS "isPlain"`;

const leaseSql = (columns: string, also = '', join = '') => `WITH m AS
    (UPDATE messages m SET state = 'claimed', lease = g.lease, node = $4, claimed_at = $5${also}
       FROM unnest($1::text[], $2::bigint[], $3::text[], $6::boolean[]) AS g (account_id, seq, lease, is_start_journalled)
       WHERE m.account_id = g.account_id AND m.seq = g.seq
       RETURNING ${READ_COLUMNS}, m.body, m.deduplication_key, g.is_start_journalled),
  journalled AS
    (INSERT INTO journal (account_id, seq, at, message_seq, step)
       SELECT account_id, ${positionSql('account_id', 'seq')}, $5, seq, ${startStep(1)} - attempts FROM m WHERE NOT is_start_journalled)
  SELECT ${columns}, ${BESIDE_MESSAGE} FROM m JOIN accounts a ON a.id = m.account_id ${join}`;

const LEASE = leaseSql(ALL_BUT_BODY);
/** Reads the bodies too: a message with a large body is never a successor. */
const LEASE_HEADS = leaseSql(
  WHOLE,
  ', holds_place = true, ready_at = CASE m.attempts WHEN 0 THEN $5 ELSE m.ready_at END',
  JOIN_BODY,
);

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
