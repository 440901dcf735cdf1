// Cancels, retries or deletes messages. For all that a filter selects: counts them, asks for confirmation, starts the
// operation and follows it to its end.

import type { Job, JobAction, MessageFilter } from 'postrider-sdk';
import type { Invocation } from '../../frame/command.ts';
import { confirm } from '../../frame/confirm.ts';
import { EXIT, interruptedExit } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { countOf } from '../../frame/output.ts';
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
  const number = countOf(matched, what, isMatchedCut ? ' or more' : '');
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
  out.result(job, `${countOf(job.done, what)}: ${done}.`);
  return EXIT.done;
}

async function started({ io, out }: Invocation, start: () => Promise<Job>): Promise<Job> {
  try {
    return await start();
  } catch (error) {
    if (io.interrupted.aborted)
      out.note('Stopped before the service responded. If the operation has begun, it continues.');
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

/** Handles each of the ids. If one of several is no longer there, the others are still handled. */
export async function handleEach(
  { given, out }: Invocation,
  idField: 'messageId' | 'dlqId',
  handle: (id: string) => Promise<void>,
): Promise<number> {
  let missing = 0;
  for (const id of given.words) {
    try {
      await handle(id);
    } catch (error) {
      const { status, message } = error as { readonly status?: number; readonly message: string };
      if (given.words.length === 1 || status !== 404) throw error;
      if (out.isJson) await out.record({ [idField]: id, error: message });
      else out.warn(`${id}: ${message}`);
      missing += 1;
    }
  }
  return missing === 0 ? EXIT.done : EXIT.notFound;
}
