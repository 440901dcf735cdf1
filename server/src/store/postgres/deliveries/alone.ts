// Messages that crashes have interrupted repeatedly: they start alone on their node, or they are held until a person
// releases them. rules/delivery/recovery.ts decides which.

import type { Claim } from '../../../rules/delivery/message.ts';
import { chooseStartingAlone, SUSPECTS_READ_MAX } from '../../../rules/delivery/recovery.ts';
import type { AloneReply, Recovery } from '../../ports/delivery-store.ts';
import { RELEASED } from '../../rows/rows.ts';
import { ONE_MORE_CHANGE } from '../../shared/changed-message.ts';
import { type ExpiringRow, isLive } from '../../shared/expiries.ts';
import type { LeaseHolder } from '../../shared/succession.ts';
import { keyOf, Pairs } from '../groups/lines.ts';
import { nullEachUnstorable } from '../messages/storable.ts';
import type { Database } from '../sessions/database.ts';
import { admitOne, type LockedKeys, lockKeys } from './flow-keys.ts';
import { positionSql } from './journal.ts';
import { leaseReady, withBodies } from './lease.ts';
import type { Leasable } from './message-sql.ts';

const HELD_COUNTED_MAX = 10_000;

interface Suspect extends Leasable, ExpiringRow {
  readonly flow_key: string | null;
  readonly alone_from_at: number;
}

/**
 * Leases a message that waits to start alone: of those whose flow keys allow it, the one that has waited longest. Skips
 * messages that another node is taking.
 */
export async function claimAlone(database: Database, to: LeaseHolder, now: number): Promise<AloneReply> {
  const suspects = await triedSuspects(database, now);
  const inKeys = suspects.flatMap(({ account_id, flow_key }) =>
    flow_key === null ? [] : [[account_id, flow_key] as const],
  );
  const keys = await lockKeys(database, new Pairs(inKeys));
  let claims: readonly Claim[] = [];
  for (const suspect of suspects) {
    if (!(await mayStart(database, suspect, keys, now))) continue;
    await database.run(
      'UPDATE messages SET due_at = $3, alone_from_at = NULL WHERE account_id = $1 AND seq = $2',
      suspect.account_id,
      suspect.seq,
      suspect.alone_from_at,
    );
    claims = await withBodies(database, await leaseReady(database, to, now, [suspect]));
    break;
  }
  return { claim: claims[0] ?? null, nextAt: await nextAloneAt(database) };
}

async function triedSuspects(database: Database, now: number): Promise<readonly Suspect[]> {
  const waiting = await database.all<Pick<Suspect, 'account_id' | 'seq' | 'flow_key'>>(
    `SELECT account_id, seq, flow_key FROM messages
       WHERE alone_from_at <= $1 AND state = 'delayed' AND account_id NOT IN
         (SELECT id FROM accounts WHERE suspended_at IS NOT NULL)
       ORDER BY alone_from_at LIMIT $2`,
    now,
    SUSPECTS_READ_MAX,
  );
  if (waiting.length === 0) return [];
  const tried = chooseStartingAlone(waiting);
  const locked = await database.all<Suspect>(
    `SELECT m.account_id, m.seq, m.claimed_at, m.flow_key, m.alone_from_at, m.must_start_before
       FROM unnest($1::text[], $2::bigint[]) AS g (account_id, seq) JOIN messages m USING (account_id, seq)
       WHERE m.alone_from_at <= $3 AND m.state = 'delayed' FOR UPDATE OF m SKIP LOCKED`,
    tried.map(({ account_id }) => account_id),
    tried.map(({ seq }) => seq),
    now,
  );
  const live = locked.filter((row) => isLive(row, now));
  const rows = new Map(live.map((row) => [keyOf(row.account_id, String(row.seq)), row]));
  return tried.flatMap(({ account_id, seq }) => rows.get(keyOf(account_id, String(seq))) ?? []);
}

/** The limits of a flow key apply to a message that starts alone as to any other. */
async function mayStart(database: Database, suspect: Suspect, keys: LockedKeys, now: number): Promise<boolean> {
  if (suspect.flow_key === null) return true;
  const row = keys.get(keyOf(suspect.account_id, suspect.flow_key));
  return row !== undefined && admitOne(database, row, suspect.seq, now);
}

async function nextAloneAt(database: Database): Promise<number | null> {
  const row = await database.get<{ at: number }>(
    `SELECT alone_from_at AS at FROM messages WHERE alone_from_at IS NOT NULL AND state = 'delayed'
       ORDER BY alone_from_at LIMIT 1`,
  );
  return row?.at ?? null;
}

export async function readRecovery(database: Database): Promise<Recovery> {
  const row = await database.get<{ held: number }>(
    'SELECT count(*) AS held FROM (SELECT 1 FROM messages WHERE held_at IS NOT NULL LIMIT $1) AS few',
    HELD_COUNTED_MAX,
  );
  return { nextAloneAt: await nextAloneAt(database), held: row!.held };
}

/** Released messages are due now and keep their positions. Their earlier crashes no longer count. */
export async function releaseHeld(
  database: Database,
  accountId: string,
  messageIds: readonly string[],
  now: number,
): Promise<readonly string[]> {
  const rows = await database.all<{ id: string }>(
    `WITH free AS
       (UPDATE messages m SET due_at = $3, held_at = NULL, interrupted = 0, alone_at_crash = 0, ${ONE_MORE_CHANGE}
          WHERE m.account_id = $1 AND m.id = ANY($2::text[]) AND m.held_at IS NOT NULL
          RETURNING m.account_id, m.seq, m.id),
     journalled AS
       (INSERT INTO journal (account_id, seq, at, message_seq, step)
        SELECT account_id, ${positionSql('account_id', 'seq')}, $3, seq, ${RELEASED} FROM free)
     SELECT id FROM free`,
    accountId,
    nullEachUnstorable(messageIds),
    now,
  );
  const free = new Set(rows.map(({ id }) => id));
  return [...new Set(messageIds)].filter((id) => free.has(id));
}
