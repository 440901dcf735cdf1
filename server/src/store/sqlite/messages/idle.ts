// Deletes rows that nobody uses any more and that no retention deletes: flow keys and queues without messages, and bulk
// operations that have ended. Each call visits some rows after a position.

import { isJobOver, type Job } from '../../../rules/delivery/job.ts';
import { canDeleteFlowKey, type IdleKey } from '../../../rules/lines/flow-key.ts';
import { canDeleteQueue } from '../../../rules/lines/queue.ts';
import { type WalkPosition, type WalkResult, walkResult } from '../../ports/upkeep-store.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

interface KeyRow extends IdleKey {
  readonly accountId: string;
  readonly key: string;
}

export function deleteIdleFlowKeys(
  database: Database,
  { requestedFlowLimits, stored }: Pick<TransactionCaches, 'requestedFlowLimits' | 'stored'>,
  now: number,
  after: WalkPosition,
  limit: number,
): WalkResult {
  requestedFlowLimits.apply();
  const rows = database.all<KeyRow>(
    `SELECT account_id AS accountId, key, is_parallelism_pinned AS isParallelismPinned, is_rate_pinned AS isRatePinned,
       is_paused AS isPaused, window_start_at AS windowStartAt, period_ms AS periodMs FROM flow_keys
       WHERE (account_id, key) > (?, ?) ORDER BY account_id, key LIMIT ?`,
    ...after,
    limit,
  );
  let deleted = 0;
  for (const row of rows) {
    if (!canDeleteFlowKey(row, now)) continue;
    const { accountId, key } = row;
    if (database.get('SELECT 1 FROM messages WHERE account_id = ? AND flow_key = ? LIMIT 1', accountId, key)) continue;
    deleted += stored.delete(accountId, 'DELETE FROM flow_keys WHERE account_id = ? AND key = ?', accountId, key);
  }
  return walkResult(
    rows.map(({ accountId, key }) => [accountId, key]),
    limit,
    deleted,
  );
}

interface QueueAge {
  readonly accountId: string;
  readonly name: string;
  readonly parallelism: number;
  readonly isPaused: number;
  readonly isSet: number;
  readonly createdAt: number;
}

export function deleteIdleQueues(
  database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  now: number,
  after: WalkPosition,
  limit: number,
): WalkResult {
  const rows = database.all<QueueAge>(
    `SELECT account_id AS accountId, name, parallelism, is_paused AS isPaused, stored_bytes IS NOT NULL AS isSet,
       created_at AS createdAt FROM queues WHERE (account_id, name) > (?, ?) ORDER BY account_id, name LIMIT ?`,
    ...after,
    limit,
  );
  let deleted = 0;
  for (const { accountId, name, parallelism, isPaused, isSet, createdAt } of rows) {
    const queue = { parallelism, isPaused: Boolean(isPaused), isSet: Boolean(isSet), createdAt };
    if (!canDeleteQueue(queue, now)) continue;
    if (database.get('SELECT 1 FROM messages WHERE account_id = ? AND queue_name = ? LIMIT 1', accountId, name))
      continue;
    deleted += stored.delete(accountId, 'DELETE FROM queues WHERE account_id = ? AND name = ?', accountId, name);
  }
  return walkResult(
    rows.map(({ accountId, name }) => [accountId, name]),
    limit,
    deleted,
  );
}

type JobAge = Pick<Job, 'accountId' | 'id' | 'state' | 'updatedAt'>;

export function deleteOldJobs(
  database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  now: number,
  after: WalkPosition,
  limit: number,
): WalkResult {
  const rows = database.all<JobAge>(
    `SELECT account_id AS accountId, id, state, updated_at AS updatedAt FROM jobs
       WHERE (account_id, id) > (?, ?) ORDER BY account_id, id LIMIT ?`,
    ...after,
    limit,
  );
  const old = rows.filter((job) => isJobOver(job, now));
  for (const { accountId, id } of old) {
    stored.delete(accountId, 'DELETE FROM jobs WHERE account_id = ? AND id = ?', accountId, id);
  }
  return walkResult(
    rows.map(({ accountId, id }) => [accountId, id]),
    limit,
    old.length,
  );
}
