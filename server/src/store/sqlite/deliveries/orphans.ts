// Claims of nodes that are no longer alive, and the leases that a node holds.

import type { Claim } from '../../../rules/delivery/message.ts';
import { isAlive, processOfLane } from '../../../rules/limits/lanes.ts';
import { toMessage } from '../../rows/message-row.ts';
import { ALL_BUT_BODY } from '../messages/messages.ts';
import { accountAtClaim } from '../resources/accounts-at-claim.ts';
import type { Database } from '../thread/database.ts';
import { type ClaimedRow, isPlain } from './claim.ts';

/** Up to `limit` leases of a node, in any order. */
export function leasesOf(database: Database, node: string, limit: number): string[] {
  const rows = database.all<{ lease: string }>(
    "SELECT lease FROM messages WHERE state = 'claimed' AND node = ? LIMIT ?",
    node,
    limit,
  );
  return rows.map(({ lease }) => lease);
}

/** A check whether other nodes are alive: which node asks, and when. */
export interface LifeCheck {
  readonly asker: string;
  /** A time on the monotonic clock. */
  readonly nowMs: number;
  /** Whether the asking process may have been paused recently. Then its other lanes may be alive although silent. */
  readonly stoodStill: boolean;
}

/** All claims of the dead lanes of one process, without bodies. Empty if no lane with claims is dead. */
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
  const process = processOfLane(node);
  const lanes = database.all<{ node: string }>(
    "SELECT DISTINCT node FROM messages WHERE state = 'claimed' AND node BETWEEN ? AND ?",
    process,
    // `~` sorts after every character that can follow the process in the name of a lane.
    `${process}~`,
  );
  return lanes
    .map((lane) => lane.node)
    .filter((lane) => processOfLane(lane) === process && isDead(database, lane, look));
}

/** Whether a node is dead. The node that asks never counts itself as dead. */
export function isDead(database: Database, node: string, { asker, nowMs, stoodStill }: LifeCheck): boolean {
  if (node === asker) return false;
  const row = database.get<{ until: number }>('SELECT alive_until AS until FROM nodes WHERE id = ?', node);
  const isOwnProcess = processOfLane(node) === processOfLane(asker);
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
