// Claims of nodes that are no longer alive, and the leases that a node holds.

import { processOf } from '../../domain/lanes.ts';
import type { Claim } from '../../domain/message.ts';
import { toMessage } from '../message-row.ts';
import { accountAtClaim } from './accounts.ts';
import { type ClaimedRow, isPlain } from './claim.ts';
import type { Database } from './database.ts';
import { ALL_BUT_BODY } from './messages.ts';

/** Leases of a node, in any order. */
export function leasesOf(database: Database, node: string, limit: number): string[] {
  const rows = database.all<{ lease: string }>(
    "SELECT lease FROM messages WHERE state = 'claimed' AND node = ? LIMIT ?",
    node,
    limit,
  );
  return rows.map(({ lease }) => lease);
}

/** All claims of one process that is no longer alive, or of its lanes that are not, without their bodies. */
export function orphanedClaims(database: Database, node: string, aliveAt: number): Claim[] {
  for (let at = ''; ; ) {
    const next = database.get<{ node: string }>(
      "SELECT node FROM messages WHERE state = 'claimed' AND node > ? ORDER BY node LIMIT 1",
      at,
    );
    if (!next) return [];
    at = next.node;
    if (at === node || isAlive(database, at, aliveAt)) continue;
    return deadLanes(database, at, node, aliveAt).flatMap((lane) => claimsOf(database, lane));
  }
}

/**
 * All dead lanes of the process that `node` was a lane of. If the process has crashed, these are all of its lanes: which
 * message was in flight alone can only be told from all of them.
 */
function deadLanes(database: Database, node: string, asker: string, aliveAt: number): string[] {
  const process = processOf(node);
  const lanes = database.all<{ node: string }>(
    "SELECT DISTINCT node FROM messages WHERE state = 'claimed' AND node BETWEEN ? AND ?",
    process,
    // After all texts that begin with the name of the process and a character that names can have.
    `${process}~`,
  );
  return lanes
    .map((lane) => lane.node)
    .filter((lane) => processOf(lane) === process && lane !== asker && !isAlive(database, lane, aliveAt));
}

function isAlive(database: Database, node: string, aliveAt: number): boolean {
  return database.get('SELECT 1 FROM nodes WHERE id = ? AND alive_until > ?', node, aliveAt) !== undefined;
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
