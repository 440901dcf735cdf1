// The nodes and whether they are alive, by the clock of the database.

import type { NodeDescription, NodeInfo } from '../../../rules/nodes/node.ts';
import type { LiveNodes } from '../../shared/hints.ts';
import type { Database } from './database.ts';

/** A node that was silent for this long is no longer listed. */
const FORGET_AFTER = '1 hour';

/** Deletes a node that stops in an orderly way, and nodes that were silent for long. */
export async function deleteNode(database: Database, node: string): Promise<void> {
  await database.run(
    `DELETE FROM nodes WHERE id = $1 OR alive_until < clock_timestamp() - interval '${FORGET_AFTER}'`,
    node,
  );
}

/** The maximum length of a list of nodes. */
const NODES_MAX = 1000;

/**
 * What a node must know about the others: which are alive, and the lowest schema version that a program must know. The
 * list begins after this node, so that no two nodes notify the same one first.
 */
export async function otherNodes(database: Database, node: string): Promise<{ nodes: LiveNodes; readerMin: number }> {
  const row = await database.get<{ ids: string[]; abouts: string[]; readerMin: number }>(
    `SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(about), '{}') AS abouts,
       coalesce((SELECT reader_min FROM schema_version LIMIT 1), 0) AS "readerMin"
       FROM (SELECT id, about FROM nodes WHERE alive_until > clock_timestamp() ORDER BY id <= $1, id LIMIT ${NODES_MAX}) AS alive`,
    node,
  );
  const { ids, abouts, readerMin } = row!;
  const deliverers = ids.filter(
    (id, index) => id !== node && (JSON.parse(abouts[index]!) as Partial<NodeDescription>).role !== 'api',
  );
  return { nodes: { count: ids.length, deliverers }, readerMin };
}

export async function listNodes(database: Database): Promise<NodeInfo[]> {
  const rows = await database.all<{ id: string; started: number; until: number; is_alive: boolean; about: string }>(
    `SELECT id, floor(extract(epoch FROM started_at) * 1000)::bigint AS started,
       floor(extract(epoch FROM alive_until) * 1000)::bigint AS until, alive_until > clock_timestamp() AS is_alive, about
       FROM nodes WHERE alive_until > clock_timestamp() - interval '${FORGET_AFTER}' ORDER BY id LIMIT ${NODES_MAX}`,
  );
  return rows.map((row) => ({
    ...(JSON.parse(row.about) as NodeDescription),
    id: row.id,
    startedAt: row.started,
    aliveUntil: row.until,
    isAlive: row.is_alive,
  }));
}
