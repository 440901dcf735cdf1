// The nodes and whether they are alive, by the clock of the database.

import type { NodeAbout, NodeInfo } from '../../domain/node.ts';
import type { Database } from './database.ts';

/** A node that was silent for this long is no longer listed. */
const FORGET_AFTER = '1 hour';

/** A node that stops in an orderly way is gone at once. */
export async function leave(database: Database, node: string): Promise<void> {
  await database.run(
    `DELETE FROM nodes WHERE id = $1 OR alive_until < clock_timestamp() - interval '${FORGET_AFTER}'`,
    node,
  );
}

/**
 * What a node must know about the others: how many are alive, and the lowest schema version that a program must know.
 */
export async function surroundings(database: Database): Promise<{ nodes: number; readerMin: number }> {
  const row = await database.get<{ nodes: number; readerMin: number }>(
    `SELECT (SELECT count(*) FROM nodes WHERE alive_until > clock_timestamp()) AS nodes,
       coalesce((SELECT reader_min FROM schema_version LIMIT 1), 0) AS "readerMin"`,
  );
  return row!;
}

export async function listNodes(database: Database): Promise<NodeInfo[]> {
  const rows = await database.all<{ id: string; started: number; until: number; is_alive: boolean; about: string }>(
    `SELECT id, floor(extract(epoch FROM started_at) * 1000)::bigint AS started,
       floor(extract(epoch FROM alive_until) * 1000)::bigint AS until, alive_until > clock_timestamp() AS is_alive, about
       FROM nodes WHERE alive_until > clock_timestamp() - interval '${FORGET_AFTER}' ORDER BY id LIMIT 1000`,
  );
  return rows.map((row) => ({
    ...(JSON.parse(row.about) as NodeAbout),
    id: row.id,
    startedAt: row.started,
    aliveUntil: row.until,
    isAlive: row.is_alive,
  }));
}
