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

const VERBS: Readonly<Record<JobAction, string>> = { cancel: 'Cancel', retry: 'Retry', delete: 'Delete' };

export async function runBulk(invocation: Invocation, action: JobAction): Promise<number> {
  const { given, out, io, connect } = invocation;
  const { client } = connect();
  const filter = chosen(await filterOf(given, client), given.has('all'), action);
  const [isDryRun, perSecond] = [given.has('dry-run'), given.number('per-second') ?? PER_SECOND];
  const { matched, isMatchedCut } = await client.countBulk(action, filter);
  const what = action === 'cancel' ? 'message' : 'dead letter';
  const number = `${matched}${isMatchedCut ? ' or more' : ''} ${what}${matched === 1 ? '' : 's'}`;
  if (matched === 0) {
    if (out.isJson) out.json({ action, matched: 0, done: 0 });
    else out.note(`No ${what} matches.`);
    return EXIT.done;
  }
  if (isDryRun) {
    if (out.isJson) out.json({ action, matched, ...(isMatchedCut && { isMatchedCut }) });
    else out.line(`${number} would be changed.`);
    return EXIT.done;
  }
  await confirm(invocation, `${VERBS[action]} ${number}?`);
  let job: Job;
  try {
    job = await client.startBulk(action, filter, perSecond);
  } catch (error) {
    if (io.interrupted.aborted) out.note('Stopped before the service responded: it may have begun, and then goes on.');
    throw error;
  }
  const bar = new ProgressBar(io.stderr, io.world.clock, out.isJson || given.has('quiet'));
  while (job.state === 'running' && !io.interrupted.aborted) {
    bar.show(job.done, Math.max(job.done, job.matched), `${what}s`);
    await pause(io.world.clock, LOOK_EVERY_MS, io.interrupted);
    if (!io.interrupted.aborted) job = await client.getBulk(job.jobId);
  }
  bar.end();
  if (io.interrupted.aborted) {
    out.note(`Stopped looking. The service goes on with the operation ${job.jobId}.`);
    return interruptedExit(io.interrupted);
  }
  if (out.isJson) out.json(job);
  else
    out.line(
      `${job.done} ${what}${job.done === 1 ? '' : 's'}: ${action === 'cancel' ? 'cancelled' : action === 'retry' ? 'sent again' : 'deleted'}.`,
    );
  return EXIT.done;
}

function chosen(filter: MessageFilter, isAll: boolean, action: JobAction): MessageFilter | { readonly all: 'true' } {
  const hasFilter = Object.keys(filter).length > 0;
  if (hasFilter && !isAll) return filter;
  if (isAll && !hasFilter) return { all: 'true' };
  throw new Failure(
    isAll
      ? 'give either --all or filters'
      : `which ones? Give ids, filters such as --queue, or --all to ${action} every one`,
    { exit: EXIT.usage },
  );
}
