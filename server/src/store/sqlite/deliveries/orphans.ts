// Claims of nodes that are no longer alive, and the leases that a node holds.

import type { Claim } from '../../../rules/delivery/message.ts';
import { isAlive, processOf } from '../../../rules/limits/lanes.ts';
import { toMessage } from '../../rows/message-row.ts';
import { ALL_BUT_BODY } from '../messages/messages.ts';
import { accountAtClaim } from '../resources/accounts-at-claim.ts';
import type { Database } from '../thread/database.ts';
import { type ClaimedRow, isPlain } from './claim.ts';

/** The leases of a node, in any order. */
export function leasesOf(database: Database, node: string, limit: number): string[] {
  const rows = database.all<{ lease: string }>(
    "SELECT lease FROM messages WHERE state = 'claimed' AND node = ? LIMIT ?",
    node,
    limit,
  );
  return rows.map(({ lease }) => lease);
}

/** The node that checks whether other nodes are alive, and when. */
export interface LifeCheck {
  readonly asker: string;
  /** A time on the monotonic clock. */
  readonly nowMs: number;
  /** Whether the checking process was perhaps paused recently. Its lanes were paused with it. */
  readonly stoodStill: boolean;
}

/** All claims of the dead lanes of one process, without bodies. If the process has crashed, all its lanes are dead. */
export function orphanedClaims(database: Database, look: LifeCheck): Claim[] {
  for (let at = ''; ; ) {
    const next = database.get<{ node: string }>(
      "SELECT node FROM messages WHERE state = 'claimed' AND node > ? ORDER BY node LIMIT 1",
      at,
    );
    if (!next) return [];
    at = next.node;
    if (isDead(database, at, look)) {
      return deadLanes(database, at, look).flatMap((lane) => claimsOf(database, lane));
    }
  }
}

/**
 * All dead lanes of the process to which the lane `node` belongs. If the process has crashed, these are all of its
 * lanes. Only the claims of all lanes together show which message was in flight alone.
 */
function deadLanes(database: Database, node: string, look: LifeCheck): string[] {
  const process = processOf(node);
  const lanes = database.all<{ node: string }>(
    "SELECT DISTINCT node FROM messages WHERE state = 'claimed' AND node BETWEEN ? AND ?",
    process,
    // This text sorts after the name of the process with any other character that names can have.
    `${process}~`,
  );
  return lanes.map((lane) => lane.node).filter((lane) => processOf(lane) === process && isDead(database, lane, look));
}

/** Whether a node is dead. The node that asks never counts itself as dead. */
export function isDead(database: Database, node: string, { asker, nowMs, stoodStill }: LifeCheck): boolean {
  if (node === asker) return false;
  const row = database.get<{ until: number }>('SELECT alive_until AS until FROM nodes WHERE id = ?', node);
  const isOwnProcess = processOf(node) === processOf(asker);
  return !isAlive({ aliveUntilMs: row?.until ?? null, nowMs, isOwnProcess, stoodStill });
}

function claimsOf(database: Database, node: string): Claim[] {
  const rows = database.all<ClaimedRow>(
    `SELECT ${ALL_BUT_BODY}, m.deduplication_key FROM messages m WHERE m.state = 'claimed' AND m.node = ?`,
    node,
  );
  return rows.map((row) => ({
    lease: row.lease!,
    message: toMessage(row),
    ...accountAtClaim(database, row.account_id),
    isPlain: isPlain(row),
    row: row.seq,
  }));
}
