// The jobs table: bulk operations and their progress.

import { JOBS_AT_ONCE, type Job, type JobStep, type JobWork } from '../../../rules/delivery/job.ts';
import { accountMax } from '../../../rules/limits/budgets.ts';
import { bytesOfJob } from '../../../rules/limits/stored-bytes.ts';
import {
  BEHIND_ALL,
  FIRST_PART,
  fitting,
  type ListPart,
  type ListPiece,
  type WeighedKey,
} from '../../ports/list-piece.ts';
import { JOB_COLUMNS, type JobRow, toJob } from '../../rows/rows.ts';
import { cancel } from '../deliveries/cancel.ts';
import { deleteDeadLetters, retryDeadLetters } from '../messages/dead-letters.ts';
import type { Database } from '../thread/database.ts';
import type { TransactionCaches } from '../thread/transaction-caches.ts';

/** Creates nothing if the account already runs `runningMax` jobs. */
export function createJob(
  database: Database,
  { stored }: Pick<TransactionCaches, 'stored'>,
  job: Job,
  runningMax = Number.POSITIVE_INFINITY,
): boolean {
  const { n } = database.get<{ n: number }>(
    "SELECT count(*) AS n FROM jobs WHERE account_id = ? AND state = 'running'",
    job.accountId,
  )!;
  if (n >= runningMax) return false;
  database.run(
    `INSERT INTO jobs (id, account_id, action, filter, per_second, state, matched,
       is_matched_cut, done, at_seq, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    job.id,
    job.accountId,
    job.action,
    JSON.stringify(job.filter),
    job.perSecond,
    job.state,
    job.matched,
    job.isMatchedCut ? 1 : 0,
    job.done,
    job.atSeq,
    job.createdAt,
    job.updatedAt,
  );
  stored.weigh('jobs', job.accountId, job.id, bytesOfJob(job));
  stored.delete(
    job.accountId,
    `DELETE FROM jobs WHERE account_id = ?1 AND state <> 'running' AND id <=
       (SELECT id FROM jobs WHERE account_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    job.accountId,
    accountMax('jobsKept'),
  );
  return true;
}

export function getJob(database: Database, accountId: string, id: string): Job | null {
  const row = database.get<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE account_id = ? AND id = ?`, accountId, id);
  return row ? toJob(row) : null;
}

/** Newest first. */
export function listJobs(database: Database, accountId: string, part: ListPart = FIRST_PART): ListPiece<Job> {
  const after = part.after ?? BEHIND_ALL;
  const keys = database.all<WeighedKey>(
    `SELECT id AS key, octet_length(filter) AS bytes FROM jobs WHERE account_id = ? AND id < ?
       ORDER BY id DESC LIMIT ?`,
    accountId,
    after,
    part.limit + 1,
  );
  const { last, count } = fitting(keys, part);
  const rows = database.all<JobRow>(
    `SELECT ${JOB_COLUMNS} FROM jobs WHERE account_id = ? AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
    accountId,
    after,
    last,
    count,
  );
  return { entries: rows.map(toJob), hasMore: keys.length > count };
}

export function runningJobs(database: Database): Job[] {
  return database
    .all<JobRow>(`SELECT ${JOB_COLUMNS} FROM jobs WHERE state = 'running' ORDER BY updated_at LIMIT ${JOBS_AT_ONCE}`)
    .map(toJob);
}

/**
 * Counts the step even if the job was stopped meanwhile. A job works from the newest message down, so it continues from
 * the lowest position it reached.
 */
function advanceJob(database: Database, accountId: string, id: string, step: JobStep): void {
  database.run(
    `UPDATE jobs SET done = done + ?1, at_seq = min(ifnull(at_seq, ?2), ifnull(?2, at_seq)), updated_at = ?3,
       state = iif(state = 'running' AND ?2 IS NULL, 'done', state) WHERE account_id = ?4 AND id = ?5`,
    step.done,
    step.atSeq,
    step.now,
    accountId,
    id,
  );
}

export interface JobReply {
  readonly done: number;
  readonly dueAt: number | null;
  /** Claimed messages whose cancel was requested. */
  readonly requested: readonly string[];
}

/** Does the work and records it in one transaction: after a crash, exactly what is done is counted. */
export function runJobStep(
  database: Database,
  caches: TransactionCaches,
  accountId: string,
  id: string,
  work: JobWork,
  step: Omit<JobStep, 'done'>,
): JobReply {
  if (getJob(database, accountId, id)?.state !== 'running') return { done: 0, dueAt: null, requested: [] };
  const { done, dueAt, isOverQuota = false, requested = [] } = doWork(database, caches, accountId, work, step.now);
  // Over the quota, it continues from the same position when the account has a new day. Others have their turn until then.
  if (isOverQuota || work.action === 'wait') {
    database.run('UPDATE jobs SET updated_at = ? WHERE account_id = ? AND id = ?', step.now, accountId, id);
  } else advanceJob(database, accountId, id, { ...step, done });
  return { done, dueAt, requested };
}

function doWork(database: Database, caches: TransactionCaches, accountId: string, work: JobWork, now: number) {
  switch (work.action) {
    case 'wait':
      return { done: 0, dueAt: null };
    case 'cancel': {
      const { messageIds, expiresAt } = work;
      const { cancelled, requested, dueAt } = cancel(database, caches, accountId, messageIds, now, expiresAt);
      return { done: cancelled.length + requested.length, dueAt, requested };
    }
    case 'delete':
      return { done: deleteDeadLetters(database, caches, accountId, work.messageIds), dueAt: null };
    case 'retry': {
      const { isRetried, isOverQuota, dueAt } = retryDeadLetters(database, caches, work.retries, now, work.dayMax);
      return { done: isRetried.filter(Boolean).length, dueAt, isOverQuota };
    }
  }
}

export function stopJob(database: Database, accountId: string, id: string, now: number): boolean {
  return (
    database.run(
      "UPDATE jobs SET state = 'stopped', updated_at = ? WHERE account_id = ? AND id = ? AND state = 'running'",
      now,
      accountId,
      id,
    ) > 0
  );
}
