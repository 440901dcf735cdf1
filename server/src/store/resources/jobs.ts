// The jobs table: bulk operations and their progress.

import { JOBS_AT_ONCE, type Job, type JobStep, type JobWork } from '../../rules/delivery/job.ts';
import { accountMax } from '../../rules/limits/budgets.ts';
import { bytesOfJob } from '../../rules/limits/stored-bytes.ts';
import { JOB_COLUMNS, type JobRow, toJob } from '../rows/rows.ts';
import { listByKey } from './list-by-key.ts';
import { all, get, run, type Steps, step } from './steps.ts';

/**
 * Creates nothing if the account already runs `runningMax` jobs. The account is locked: of two calls at once, the
 * second counts the jobs after the first has ended.
 */
export function* createJob(job: Job, runningMax = Number.POSITIVE_INFINITY): Steps<boolean> {
  const { id, accountId } = job;
  yield* step('lockAccount', accountId);
  const running = yield* get<{ n: number }>(
    "SELECT count(*) AS n FROM jobs WHERE account_id = ? AND state = 'running'",
    [accountId],
  );
  if (running!.n >= runningMax) return false;
  yield* run(`INSERT INTO jobs (${JOB_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, [
    id,
    accountId,
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
  ]);
  yield* step('countStored', 'jobs', accountId, id, bytesOfJob(job));
  yield* step(
    'deleteCounted',
    accountId,
    `DELETE FROM jobs WHERE account_id = ?1 AND state <> 'running' AND id <=
       (SELECT id FROM jobs WHERE account_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    [accountId, accountMax('jobsKept')],
  );
  return true;
}

const GET_JOB = `SELECT ${JOB_COLUMNS} FROM jobs WHERE account_id = ? AND id = ?`;

export function* getJob(accountId: string, id: string): Steps<Job | null> {
  const row = yield* get<JobRow>(GET_JOB, [accountId, id]);
  return row ? toJob(row) : null;
}

/** Ordered from the newest to the oldest. */
export const listJobs = listByKey<JobRow, Job>(
  { table: 'jobs', key: 'id', columns: JOB_COLUMNS, bytes: 'octet_length(filter)', isDescending: true },
  toJob,
);

export function* stopJob(accountId: string, id: string, now: number): Steps<boolean> {
  const sql = "UPDATE jobs SET state = 'stopped', updated_at = ? WHERE account_id = ? AND id = ? AND state = 'running'";
  return (yield* run(sql, [now, accountId, id])) > 0;
}

export function* runningJobs(): Steps<Job[]> {
  const sql = `SELECT ${JOB_COLUMNS} FROM jobs WHERE state = 'running' ORDER BY updated_at LIMIT ${JOBS_AT_ONCE}`;
  return (yield* all<JobRow>(sql, [])).map(toJob);
}

interface WorkDone {
  readonly done: number;
  readonly dueAt: number | null;
  /** Claimed messages whose cancel was requested. */
  readonly requested: readonly string[];
  readonly isOverQuota?: boolean;
}

/**
 * Does the work and records it in one transaction, so that the count is right after a crash. The row of the job is
 * locked: its steps run one after another, on whichever node. If two nodes have read the same messages, the second
 * finds nothing left to do and counts nothing. Each node has covered everything from the job's position down to its own
 * `atSeq`, so the lower of the two is right.
 */
export function* runJobStep(
  accountId: string,
  id: string,
  work: JobWork,
  { atSeq, now }: Omit<JobStep, 'done'>,
): Steps<Omit<WorkDone, 'isOverQuota'>> {
  const job = yield* get<JobRow>(`${GET_JOB} FOR UPDATE`, [accountId, id]);
  if (job?.state !== 'running') return { done: 0, dueAt: null, requested: [] };
  const { isOverQuota, ...worked } = yield* doWork(accountId, work, now);
  // Over the quota, the job continues from the same position when the account has a new day. Until then other jobs have
  // their turn.
  if (isOverQuota || work.action === 'wait') {
    yield* run('UPDATE jobs SET updated_at = ? WHERE account_id = ? AND id = ?', [now, accountId, id]);
    return worked;
  }
  // A job works from the newest message down, so it continues from the lowest position that it has reached.
  const reached = atSeq === null ? job.at_seq : Math.min(job.at_seq ?? atSeq, atSeq);
  yield* run('UPDATE jobs SET done = ?, at_seq = ?, state = ?, updated_at = ? WHERE account_id = ? AND id = ?', [
    job.done + worked.done,
    reached,
    atSeq === null ? 'done' : 'running',
    now,
    accountId,
    id,
  ]);
  return worked;
}

function* doWork(accountId: string, work: JobWork, now: number): Steps<WorkDone> {
  switch (work.action) {
    case 'wait':
      return { done: 0, dueAt: null, requested: [] };
    case 'cancel': {
      const { messageIds, expiresAt } = work;
      const { cancelled, requested, dueAt } = yield* step('cancel', accountId, messageIds, now, expiresAt);
      return { done: cancelled.length + requested.length, dueAt, requested };
    }
    case 'delete':
      return { done: yield* step('deleteDeadLetters', accountId, work.messageIds), dueAt: null, requested: [] };
    case 'retry': {
      const { isRetried, isOverQuota, dueAt } = yield* step('retryDeadLetters', work.retries, now, work.dayMax);
      return { done: isRetried.filter(Boolean).length, dueAt, requested: [], isOverQuota };
    }
  }
}
