// Cancels, retries or deletes all messages that a filter selects: counts them, asks, starts the operation and follows it
// to its end.

import type { Job, JobAction, MessageFilter } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { interruptedExit } from '../../frame/command-line.ts';
import { confirm } from '../../frame/confirm.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { ProgressBar } from '../../frame/progress-bar.ts';
import { filterOf } from './filter.ts';
import { pause } from './follow.ts';

const PER_SECOND = 100;
const LOOK_EVERY_MS = 500;

const WORDS: Readonly<Record<JobAction, { readonly verb: string; readonly what: string; readonly done: string }>> = {
  cancel: { verb: 'Cancel', what: 'message', done: 'cancelled' },
  retry: { verb: 'Retry', what: 'dead letter', done: 'sent again' },
  delete: { verb: 'Delete', what: 'dead letter', done: 'deleted' },
};

const counted = (number: number, what: string, more = '') => `${number}${more} ${what}${number === 1 ? '' : 's'}`;

export async function runBulk(invocation: Invocation, action: JobAction): Promise<number> {
  const { given, out, io, connect } = invocation;
  const { client } = connect();
  const filter = chosen(await filterOf(given, client), given.has('all'), action);
  const [isDryRun, perSecond] = [given.has('dry-run'), given.number('per-second') ?? PER_SECOND];
  const { matched, isMatchedCut } = await client.countBulk(action, filter);
  const { verb, what, done } = WORDS[action];
  if (matched === 0) {
    if (out.isJson) out.json({ action, matched: 0, done: 0 });
    out.note(`No ${what} matches.`);
    return EXIT.done;
  }
  const number = counted(matched, what, isMatchedCut ? ' or more' : '');
  if (isDryRun) {
    out.result({ action, matched, ...(isMatchedCut && { isMatchedCut }) }, `${number} would be changed.`);
    return EXIT.done;
  }
  await confirm(invocation, `${verb} ${number}?`);
  const job = await endOf(invocation, await started(invocation, () => client.startBulk(action, filter, perSecond)));
  if (io.interrupted.aborted) {
    out.note(`Stopped watching. The service continues the operation ${job.jobId}.`);
    return interruptedExit(io.interrupted);
  }
  out.result(job, `${counted(job.done, what)}: ${done}.`);
  return EXIT.done;
}

async function started({ io, out }: Invocation, start: () => Promise<Job>): Promise<Job> {
  try {
    return await start();
  } catch (error) {
    if (io.interrupted.aborted)
      out.note('Stopped before the service responded: it may have begun, and then continues.');
    throw error;
  }
}

/** Polls the operation until it has ended, or until the user interrupts. */
async function endOf({ given, out, io, connect }: Invocation, begun: Job): Promise<Job> {
  const { client } = connect();
  let job = begun;
  const bar = new ProgressBar(io.stderr, io.world.clock, out.isJson || given.has('quiet'));
  while (job.state === 'running' && !io.interrupted.aborted) {
    bar.show(job.done, Math.max(job.done, job.matched), `${WORDS[job.action].what}s`);
    await pause(io.world.clock, LOOK_EVERY_MS, io.interrupted);
    if (!io.interrupted.aborted) job = await client.getBulk(job.jobId);
  }
  bar.end();
  return job;
}

function chosen(filter: MessageFilter, isAll: boolean, action: JobAction): MessageFilter | { readonly all: 'true' } {
  const hasFilter = Object.keys(filter).length > 0;
  if (hasFilter && !isAll) return filter;
  if (isAll && !hasFilter) return { all: 'true' };
  throw new Failure(
    isAll
      ? 'give either --all or filters'
      : `nothing is selected: give ids, filters such as --queue, or --all to ${action} all of them`,
    { exit: EXIT.usage },
  );
}
