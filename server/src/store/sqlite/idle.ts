// Deletes what nobody uses any more and no time limit ends: flow keys without messages, and bulk operations that have
// ended. Each call looks at some rows after a position.

import { type IdleKey, isForgettable } from '../../domain/flow-key.ts';
import { isJobOver, type Job } from '../../domain/job.ts';
import { type Walked, type WalkPosition, walked } from '../message-store.ts';
import type { Books } from './books.ts';
import type { Database } from './database.ts';

interface KeyRow extends IdleKey {
  readonly accountId: string;
  readonly key: string;
}

export function deleteIdleFlowKeys(
  database: Database,
  { saidLimits }: Pick<Books, 'saidLimits'>,
  now: number,
  after: WalkPosition,
  limit: number,
): Walked {
  saidLimits.apply();
  const rows = database.all<KeyRow>(
    `SELECT account_id AS accountId, key, is_parallelism_pinned AS isParallelismPinned, is_rate_pinned AS isRatePinned,
       is_paused AS isPaused, window_start_at AS windowStartAt, period_ms AS periodMs FROM flow_keys
       WHERE (account_id, key) > (?, ?) ORDER BY account_id, key LIMIT ?`,
    ...after,
    limit,
  );
  let deleted = 0;
  for (const row of rows) {
    if (!isForgettable(row, now)) continue;
    const { accountId, key } = row;
    if (database.get('SELECT 1 FROM messages WHERE account_id = ? AND flow_key = ? LIMIT 1', accountId, key)) continue;
    deleted += database.run('DELETE FROM flow_keys WHERE account_id = ? AND key = ?', accountId, key);
  }
  return walked(
    rows.map(({ accountId, key }) => [accountId, key]),
    limit,
    deleted,
  );
}

type JobAge = Pick<Job, 'accountId' | 'id' | 'state' | 'updatedAt'>;

export function deleteOldJobs(database: Database, now: number, after: WalkPosition, limit: number): Walked {
  const rows = database.all<JobAge>(
    `SELECT account_id AS accountId, id, state, updated_at AS updatedAt FROM jobs
       WHERE (account_id, id) > (?, ?) ORDER BY account_id, id LIMIT ?`,
    ...after,
    limit,
  );
  const old = rows.filter((job) => isJobOver(job, now));
  for (const { accountId, id } of old) database.run('DELETE FROM jobs WHERE account_id = ? AND id = ?', accountId, id);
  return walked(
    rows.map(({ accountId, id }) => [accountId, id]),
    limit,
    old.length,
  );
}
