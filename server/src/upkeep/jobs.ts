// Runs bulk operations in small pieces, so that they keep their pace and continue after a restart. An operation goes
// from the newest message to the oldest: messages accepted while it runs are not touched.

import type { Account } from '../rules/accounts/account.ts';
import { JOBS_AT_ONCE, type Job, type JobWork, jobFilter } from '../rules/delivery/job.ts';
import type { Message } from '../rules/delivery/message.ts';
import { retriedMessage } from '../rules/delivery/retry.ts';
import { eachMax } from '../rules/limits/budgets.ts';
import type { Tiers } from '../rules/limits/tier.ts';
import type { NewId } from '../rules/requests/id.ts';
import type { AccountStore } from '../store/ports/account-store.ts';
import type { MessageStore } from '../store/ports/message-store.ts';
import type { UpkeepStore } from '../store/ports/upkeep-store.ts';

/** The messages of a piece are not sent to a caller, so their bodies may be larger in total than a page of a list. */
const PIECE_BYTES_MAX = 32 * 1024 * 1024;
const IDLE_MS = 2000;
/** How many messages one piece has. It has fewer when their bodies are read, which may be large. */
const PIECE_MAX = 100;
const PIECE_WITH_BODIES_MAX = 10;
/**
 * A piece may come too early by this part of its interval: the clocks of two nodes differ, and a timer may fire a
 * little early.
 */
const TOLERANCE = 0.1;

export interface JobRunnerOptions {
  readonly store: UpkeepStore & Pick<MessageStore, 'searchMessages'> & Pick<AccountStore, 'getAccount'>;
  readonly tiers: Tiers;
  readonly newId: NewId;
  /** False while no messages of the account are accepted: a retry makes new messages, so it waits. */
  readonly mayAccept: (account: Account) => boolean;
  /** Until when a message that is cancelled now is kept. */
  readonly cancelledUntil: (account: Account, now: number) => Promise<number>;
}

export function jobRunner(options: JobRunnerOptions) {
  const { store } = options;
  return {
    name: 'bulk operations',
    /** The pieces of a job keep their pace by the time of the service. */
    dueBelowMs: IDLE_MS,
    /**
     * Runs one piece of one job for each account. The jobs of an account take turns: the one that waited longest comes
     * first. A job that can do nothing now uses no turn.
     */
    async run(now: number): Promise<number> {
      const jobs = await store.runningJobs();
      const served = new Set<string>();
      const idle: Job[] = [];
      for (const job of jobs) {
        if (served.has(job.accountId)) continue;
        if (await takeTurn(options, job, now)) served.add(job.accountId);
        else idle.push(job);
      }
      // There may be more running jobs than were read. Jobs that wait must not keep the others out of the list.
      if (jobs.length >= JOBS_AT_ONCE) await Promise.all(idle.map((job) => giveTurn(options, job, now)));
      return Math.min(IDLE_MS, ...jobs.map(everyMs));
    },
  };
}

function pieceOf({ action, perSecond }: Job): number {
  return Math.min(perSecond, action === 'retry' ? PIECE_WITH_BODIES_MAX : PIECE_MAX);
}

function everyMs(job: Job): number {
  return (1000 * pieceOf(job)) / job.perSecond;
}

/** Returns false if the job can do nothing now, and so uses no turn. */
async function takeTurn(options: JobRunnerOptions, job: Job, now: number): Promise<boolean> {
  const account = isJustDone(job, now) ? null : await options.store.getAccount(job.accountId);
  if (!account) return true;
  if (job.action === 'retry' && !options.mayAccept(account)) return false;
  await advance(options, job, account, now);
  return true;
}

/** Whether another node did this piece: several nodes must not run a job faster than requested. */
function isJustDone(job: Job, now: number): boolean {
  return job.atSeq !== null && now - job.updatedAt < everyMs(job) * (1 - TOLERANCE);
}

function giveTurn({ store }: JobRunnerOptions, { accountId, id, atSeq }: Job, now: number): Promise<number> {
  return store.runJobStep(accountId, id, { action: 'wait' }, { atSeq, now });
}

/** Runs one piece: one transaction, or several if the messages are large. */
async function advance(options: JobRunnerOptions, job: Job, account: Account, now: number): Promise<void> {
  const { store } = options;
  const isRetry = job.action === 'retry';
  let cursor = job.atSeq;
  for (let left = pieceOf(job); left > 0; ) {
    const found = await store.searchMessages(job.accountId, jobFilter(job), {
      limit: left,
      cursor,
      order: 'newestFirst',
      withBodies: isRetry,
      isForChange: !isRetry,
      bytesMax: isRetry ? PIECE_BYTES_MAX : eachMax('changedBytes'),
    });
    const work = await workOn(options, job, account, found.messages, now);
    const done = await store.runJobStep(account.id, job.id, work, { atSeq: found.cursor, now });
    cursor = found.cursor;
    left -= found.messages.length;
    // The job was stopped, has nothing here for now, or has read as much as one call may.
    if (cursor === null || done === 0 || isRetry) return;
  }
}

async function workOn(
  { tiers, newId, cancelledUntil }: JobRunnerOptions,
  job: Job,
  account: Account,
  messages: readonly Message[],
  now: number,
): Promise<JobWork> {
  const messageIds = messages.map(({ id }) => id);
  switch (job.action) {
    case 'cancel':
      return { action: 'cancel', messageIds, expiresAt: await cancelledUntil(account, now) };
    case 'delete':
      return { action: 'delete', messageIds };
    case 'retry': {
      const retries = messages.map((message) => ({
        messageId: message.id,
        message: retriedMessage(message, now, newId),
      }));
      return { action: 'retry', retries, dayMax: tiers[account.tier].messagesPerDayMax };
    }
  }
}
