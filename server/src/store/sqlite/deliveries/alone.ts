// Messages that crashes have interrupted repeatedly: each starts alone, or is held until a person releases it.
// rules/delivery/recovery.ts decides which.

import type { Claim } from '../../../rules/delivery/message.ts';
import { chooseStartingAlone, SUSPECTS_READ_MAX } from '../../../rules/delivery/recovery.ts';
import type { AfterAttempt } from '../../../rules/lines/line.ts';
import type { AloneReply, Recovery } from '../../ports/delivery-store.ts';
import { toMessage } from '../../rows/message-row.ts';
import { RELEASED } from '../../rows/rows.ts';
import { ONE_MORE_CHANGE } from '../../shared/changed-message.ts';
import { type ExpiringRow, isLive } from '../../shared/expiries.ts';
import type { LeaseHolder } from '../../shared/succession.ts';
import { suspendedAccounts } from '../resources/accounts-at-claim.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';
import { Bodies } from './bodies.ts';
import { type Claimable, writeClaim } from './claim.ts';
import { admitOne } from './flow-keys.ts';

const HELD_COUNTED_MAX = 10_000;

/** Stores how crashes have interrupted the message, and what follows. Settle calls this only if there were any. */
export function writeInterruptions(
  database: Database,
  seq: number,
  aloneAtCrash: number,
  { aloneFromAt, heldAt }: AfterAttempt,
): void {
  database.run(
    'UPDATE messages SET alone_at_crash = ?, alone_from_at = ?, held_at = ? WHERE seq = ?',
    aloneAtCrash,
    aloneFromAt,
    heldAt,
    seq,
  );
}

interface Suspect extends Claimable, ExpiringRow {
  readonly account_id: string;
  readonly flow_key: string | null;
  readonly alone_from_at: number;
}

/** Leases one message that must start alone: the longest waiting one that no suspension or flow key blocks. */
export function claimAlone(database: Database, caches: TransactionCaches, to: LeaseHolder, now: number): AloneReply {
  caches.requestedFlowLimits.apply();
  const suspects = database.all<Suspect>(
    `SELECT seq, claimed_at, account_id, flow_key, alone_from_at, must_start_before FROM messages WHERE alone_from_at <= ? AND state = 'delayed'
       ORDER BY alone_from_at LIMIT ?`,
    now,
    SUSPECTS_READ_MAX,
  );
  const suspended = suspendedAccounts(database);
  const able = suspects.filter((each) => !suspended.includes(each.account_id) && isLive(each, now));
  const suspect = chooseStartingAlone(able).find((each) => mayStart(database, each, now));
  const claim = suspect ? startAlone(database, caches, suspect, to, now) : null;
  return { claim, nextAt: nextAloneAt(database) };
}

function startAlone(
  database: Database,
  caches: TransactionCaches,
  suspect: Suspect,
  { node, leasePrefix }: LeaseHolder,
  now: number,
): Claim {
  const { seq, account_id: accountId, alone_from_at: dueAt } = suspect;
  database.run('UPDATE messages SET due_at = ?, alone_from_at = NULL WHERE seq = ?', dueAt, seq);
  const lease = `${leasePrefix}.0`;
  const row = writeClaim(database, caches, suspect, { lease, node }, now);
  return { lease, message: toMessage(new Bodies(database).fill(row)), ...caches.accountsAtClaim.get(accountId) };
}

/** Whether the flow key of the message, if it has one, admits it now. If so, the message takes its place there. */
function mayStart(database: Database, { seq, account_id: accountId, flow_key: key }: Suspect, now: number): boolean {
  return key === null || admitOne(database, accountId, key, seq, now);
}

function nextAloneAt(database: Database): number | null {
  const row = database.get<{ at: number }>(
    `SELECT alone_from_at AS at FROM messages WHERE alone_from_at IS NOT NULL AND state = 'delayed'
       ORDER BY alone_from_at LIMIT 1`,
  );
  return row?.at ?? null;
}

export function readRecovery(database: Database): Recovery {
  const { held } = database.get<{ held: number }>(
    'SELECT count(*) AS held FROM (SELECT 1 FROM messages WHERE held_at IS NOT NULL LIMIT ?)',
    HELD_COUNTED_MAX,
  )!;
  return { nextAloneAt: nextAloneAt(database), held };
}

/** Releases held messages. They are due now, keep their positions, and their earlier crashes no longer count. */
export function releaseHeld(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  messageIds: readonly string[],
  now: number,
): { released: string[]; dueAt: number | null } {
  const released = messageIds.filter((id) => {
    const row = database.get<{ seq: number }>(
      'SELECT seq FROM messages WHERE id = ? AND account_id = ? AND held_at IS NOT NULL',
      id,
      accountId,
    );
    if (!row) return false;
    database.run(
      `UPDATE messages SET due_at = ?, held_at = NULL, interrupted = 0, alone_at_crash = 0, ${ONE_MORE_CHANGE}
         WHERE seq = ?`,
      now,
      row.seq,
    );
    caches.journal.add(accountId, row.seq, RELEASED, now);
    return true;
  });
  return { released, dueAt: released.length > 0 ? now : null };
}
