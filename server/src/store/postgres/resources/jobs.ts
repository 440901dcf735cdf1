// The jobs table: bulk operations and their progress.

import { JOBS_AT_ONCE, type Job, type JobStep, type JobWork } from '../../../rules/delivery/job.ts';
import { accountMax } from '../../../rules/limits/budgets.ts';
import { bytesOfJob } from '../../../rules/limits/stored-bytes.ts';
import { JOB_COLUMNS, type JobRow, toJob } from '../../rows/rows.ts';
import { cancel } from '../deliveries/cancel.ts';
import { deleteDeadLetters, retryDeadLetters } from '../messages/dead-letters.ts';
import { nullIfUnstorable } from '../messages/null-if-unstorable.ts';
import { deleteWeighed, weigh } from '../messages/stored.ts';
import type { Database } from '../sessions/database.ts';

/**
 * Creates nothing if the account already runs `runningMax` jobs. Of two calls at once, the second counts after the
 * first.
 */
export async function createJob(database: Database, job: Job, runningMax = Number.POSITIVE_INFINITY): Promise<boolean> {
  await database.run('SELECT 1 FROM accounts WHERE id = $1 FOR NO KEY UPDATE', job.accountId);
  const row = await database.get<{ n: number }>(
    "SELECT count(*) AS n FROM jobs WHERE account_id = $1 AND state = 'running'",
    job.accountId,
  );
  if (row!.n >= runningMax) return false;
  await database.run(
    `INSERT INTO jobs (${JOB_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    job.id,
    job.accountId,
    job.action,
    JSON.stringify(job.filter),
    job.perSecond,
    job.state,
    job.matched,
    job.isMatchedCut,
    job.done,
    job.atSeq,
    job.createdAt,
    job.updatedAt,
  );
  await weigh(database, 'jobs', job.accountId, job.id, bytesOfJob(job));
  await deleteWeighed(
    database,
    `DELETE FROM jobs WHERE account_id = $1 AND state <> 'running' AND id <=
       (SELECT id FROM jobs WHERE account_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`,
    job.accountId,
    accountMax('jobsKept'),
  );
  return true;
}

export async function getJob(database: Database, accountId: string, id: string): Promise<Job | null> {
  const row = await database.get<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE account_id = $1 AND id = $2`,
    accountId,
    nullIfUnstorable(id),
  );
  return row ? toJob(row) : null;
}

export async function runningJobs(database: Database): Promise<Job[]> {
  const rows = await database.all<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE state = 'running' ORDER BY updated_at LIMIT ${JOBS_AT_ONCE}`,
  );
  return rows.map(toJob);
}

/**
 * Counts the step even if the job was stopped meanwhile. A job works from the newest message down, so it continues from
 * the lowest position it reached.
 */
async function advanceJob(database: Database, accountId: string, id: string, step: JobStep): Promise<void> {
  // `least` ignores nulls.
  await database.run(
    `UPDATE jobs SET done = done + $1, at_seq = least(at_seq, $2::bigint), updated_at = $3,
       state = CASE WHEN state = 'running' AND $2::bigint IS NULL THEN 'done' ELSE state END
       WHERE account_id = $4 AND id = $5`,
    step.done,
    step.atSeq,
    step.now,
    accountId,
    nullIfUnstorable(id),
  );
}

export interface JobReply {
  readonly done: number;
  readonly dueAt: number | null;
  /** Claimed messages whose cancel was requested. */
  readonly requested: readonly string[];
}

/**
 * Does the work and records it in one transaction: after a crash, exactly what is done is counted. Steps of one job run
 * one after another, on any node. Two nodes may have found the same messages: the second one finds nothing left to do
 * and counts nothing. Each has covered everything from the job's position down to its own position, so the lower
 * position is right for both.
 */
export async function runJobStep(
  database: Database,
  accountId: string,
  id: string,
  work: JobWork,
  step: Omit<JobStep, 'done'>,
): Promise<JobReply> {
  const job = await database.get<Pick<JobRow, 'state'>>(
    'SELECT state FROM jobs WHERE account_id = $1 AND id = $2 FOR UPDATE',
    accountId,
    nullIfUnstorable(id),
  );
  if (job?.state !== 'running') return { done: 0, dueAt: null, requested: [] };
  const { done, dueAt, isOverQuota = false, requested = [] } = await doWork(database, accountId, work, step.now);
  // Over the quota, it continues from the same position when the account has a new day. Others have their turn until then.
  if (isOverQuota || work.action === 'wait') {
    await database.run('UPDATE jobs SET updated_at = $1 WHERE account_id = $2 AND id = $3', step.now, accountId, id);
  } else await advanceJob(database, accountId, id, { ...step, done });
  return { done, dueAt, requested };
}

async function doWork(database: Database, accountId: string, work: JobWork, now: number) {
  switch (work.action) {
    case 'wait':
      return { done: 0, dueAt: null };
    case 'cancel': {
      const { cancelled, requested, dueAt } = await cancel(database, accountId, work.messageIds, now, work.expiresAt);
      return { done: cancelled.length + requested.length, dueAt, requested };
    }
    case 'delete':
      return { done: await deleteDeadLetters(database, accountId, work.messageIds), dueAt: null };
    case 'retry': {
      const { isRetried, isOverQuota, dueAt } = await retryDeadLetters(database, work.retries, now, work.dayMax);
      return { done: isRetried.filter(Boolean).length, dueAt, isOverQuota };
    }
  }
}

export async function stopJob(database: Database, accountId: string, id: string, now: number): Promise<boolean> {
  const changes = await database.run(
    "UPDATE jobs SET state = 'stopped', updated_at = $1 WHERE account_id = $2 AND id = $3 AND state = 'running'",
    now,
    accountId,
    nullIfUnstorable(id),
  );
  return changes > 0;
}
