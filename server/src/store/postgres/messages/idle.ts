// Deletes what nobody uses and what never expires: flow keys and queues without messages, and bulk operations that have
// ended. Each call visits some rows after a position, and skips those that another transaction uses.

import { isJobOver, type Job } from '../../../rules/delivery/job.ts';
import { canDeleteFlowKey, type IdleKey } from '../../../rules/lines/flow-key.ts';
import { canDeleteQueue, type IdleQueue } from '../../../rules/lines/queue.ts';
import { type WalkPosition, type WalkResult, walkResult } from '../../ports/upkeep-store.ts';
import { lockQueues } from '../deliveries/queues.ts';
import { Pairs } from '../groups/lines.ts';
import type { Database } from '../sessions/database.ts';
import { deleteCounted } from './stored.ts';

interface KeyRow extends IdleKey {
  readonly accountId: string;
  readonly key: string;
}

/** An accept locks its keys before it writes messages: a key that is locked here gets none of them until the commit. */
export async function deleteIdleFlowKeys(
  database: Database,
  now: number,
  after: WalkPosition,
  limit: number,
): Promise<WalkResult> {
  const rows = await database.all<KeyRow>(
    `SELECT account_id AS "accountId", key, is_parallelism_pinned AS "isParallelismPinned",
       is_rate_pinned AS "isRatePinned", is_paused AS "isPaused", window_start_at AS "windowStartAt",
       period_ms AS "periodMs" FROM flow_keys
       WHERE (account_id, key) > ($1, $2) ORDER BY account_id, key LIMIT $3`,
    ...after,
    limit,
  );
  const idle = rows.filter((row) => canDeleteFlowKey(row, now));
  const end = (deleted: number) =>
    walkResult(
      rows.map(({ accountId, key }) => [accountId, key]),
      limit,
      deleted,
    );
  if (idle.length === 0) return end(0);
  const locked = await database.all<{ account_id: string; key: string }>(
    `SELECT account_id, key FROM flow_keys WHERE (account_id, key) IN
         (SELECT g.account_id, g.key FROM unnest($1::text[], $2::text[]) AS g (account_id, key))
         AND NOT (is_paused OR is_parallelism_pinned OR is_rate_pinned) AND requested_at IS NULL
       ORDER BY account_id, key FOR UPDATE SKIP LOCKED`,
    idle.map(({ accountId }) => accountId),
    idle.map(({ key }) => key),
  );
  // A separate statement, which sees the messages of earlier holders of the lock.
  const deleted = await deleteCounted(
    database,
    `DELETE FROM flow_keys k WHERE (k.account_id, k.key) IN
         (SELECT g.account_id, g.key FROM unnest($1::text[], $2::text[]) AS g (account_id, key))
       AND NOT EXISTS
         (SELECT 1 FROM messages m WHERE m.account_id = k.account_id AND m.flow_key = k.key)`,
    locked.map(({ account_id }) => account_id),
    locked.map(({ key }) => key),
  );
  return end(deleted);
}

interface QueueAge extends IdleQueue {
  readonly accountId: string;
  readonly name: string;
}

/** An accept locks its queues before it writes messages, and creates deleted queues again. */
export async function deleteIdleQueues(
  database: Database,
  now: number,
  after: WalkPosition,
  limit: number,
): Promise<WalkResult> {
  const rows = await database.all<QueueAge>(
    `SELECT account_id AS "accountId", name, parallelism, is_paused AS "isPaused", stored_bytes IS NOT NULL AS "isSet",
       created_at AS "createdAt" FROM queues WHERE (account_id, name) > ($1, $2) ORDER BY account_id, name LIMIT $3`,
    ...after,
    limit,
  );
  const old = rows.filter((row) => canDeleteQueue(row, now));
  const pairs = new Pairs(old.map(({ accountId, name }) => [accountId, name] as const));
  // Rows that a person or a message has changed meanwhile are checked again under the lock.
  const locked = [...(await lockQueues(database, pairs, 'SKIP LOCKED')).values()];
  const deleted =
    locked.length === 0
      ? 0
      : await deleteCounted(
          database,
          `DELETE FROM queues q WHERE (q.account_id, q.name) IN
               (SELECT g.account_id, g.name FROM unnest($1::text[], $2::text[]) AS g (account_id, name))
             AND q.stored_bytes IS NULL AND NOT q.is_paused AND NOT EXISTS
               (SELECT 1 FROM messages m
                  WHERE m.account_id = q.account_id AND m.queue_name = q.name AND m.queue_name IS NOT NULL)`,
          locked.map(({ account_id }) => account_id),
          locked.map(({ name }) => name),
        );
  return walkResult(
    rows.map(({ accountId, name }) => [accountId, name]),
    limit,
    deleted,
  );
}

type JobAge = Pick<Job, 'accountId' | 'id' | 'state' | 'updatedAt'>;

export async function deleteOldJobs(
  database: Database,
  now: number,
  after: WalkPosition,
  limit: number,
): Promise<WalkResult> {
  const rows = await database.all<JobAge>(
    `SELECT account_id AS "accountId", id, state, updated_at AS "updatedAt" FROM jobs
       WHERE (account_id, id) > ($1, $2) ORDER BY account_id, id LIMIT $3`,
    ...after,
    limit,
  );
  const old = rows.filter((job) => isJobOver(job, now));
  const deleted =
    old.length === 0
      ? 0
      : await deleteCounted(
          database,
          `DELETE FROM jobs WHERE (account_id, id) IN
               (SELECT g.account_id, g.id FROM unnest($1::text[], $2::text[]) AS g (account_id, id))
             AND state <> 'running'`,
          old.map(({ accountId }) => accountId),
          old.map(({ id }) => id),
        );
  return walkResult(
    rows.map(({ accountId, id }) => [accountId, id]),
    limit,
    deleted,
  );
}
