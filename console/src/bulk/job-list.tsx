// The list of bulk operations: their progress, and a button to stop one.

import { useQuery } from '@tanstack/react-query';
import { calls, type Job } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ActionButton } from '../ui/action.tsx';
import { countWithNoun, shownCount } from '../ui/count.ts';
import { ResponseState, Section } from '../ui/page.tsx';
import { Ago, durationText } from '../ui/time.tsx';

const WORDS = {
  retry: ['Retrying', 'Retried'],
  cancel: ['Cancelling', 'Cancelled'],
  delete: ['Deleting', 'Deleted'],
} as const;

export function JobList() {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['bulk'],
    queryFn: () => client.listBulk(),
    refetchInterval: ({ state }) => (state.data?.jobs.some(({ state: each }) => each === 'running') ? 500 : 3000),
  });
  const jobs = data?.jobs ?? [];
  return (
    <Section title="Operations">
      <ResponseState data={data} error={error} />
      {data && jobs.length === 0 && (
        <p className="text-sm text-ink-3">
          No operations yet. Operations run in the background and continue after a restart of the service.
        </p>
      )}
      <ul className="space-y-3">
        {jobs.map((job) => (
          <li key={job.jobId}>
            <JobCard job={job} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function JobCard({ job }: { readonly job: Job }) {
  const { action, state, matched, done, perSecond } = job;
  const isRunning = state === 'running';
  const share = state === 'done' ? 1 : matched === 0 ? 0 : Math.min(1, done / matched);
  const [doing, did] = WORDS[action];
  const tone = isRunning ? 'bg-active' : state === 'done' ? 'bg-delivered' : 'bg-cancelled';
  const leftMs = (Math.max(0, matched - done) / perSecond) * 1000;
  return (
    <article className="card px-4 py-3" aria-label={`${doing} ${countWithNoun(matched, 'message', job.isMatchedCut)}`}>
      <div className="flex flex-wrap items-baseline gap-x-3">
        <p className="grow text-sm font-medium">
          {isRunning ? doing : did} <span className="num">{done.toLocaleString('en')}</span>
          <span className="num font-normal text-ink-3"> of {shownCount(matched, job.isMatchedCut)}</span>
          {state === 'stopped' && <span className="ml-2 font-normal text-ink-3">stopped</span>}
        </p>
        <p className="num text-xs text-ink-3">
          {isRunning ? (
            `${job.isMatchedCut ? 'at least' : 'about'} ${durationText(leftMs)} left at ${perSecond}/s`
          ) : (
            <Ago at={job.updatedAt} />
          )}
        </p>
        {isRunning && (
          <ActionButton
            call={calls.stopBulk(job.jobId)}
            icon="stop"
            className="btn btn-small"
            done="Stopped. Finished changes are not undone"
          >
            Stop
          </ActionButton>
        )}
      </div>
      <div
        className="mt-2 h-2 overflow-hidden rounded-full bg-sunken"
        role="progressbar"
        aria-label={`${doing}: progress`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
      >
        <div
          className={`h-full rounded-full transition-[width] duration-150 ${tone}`}
          style={{ width: `${share * 100}%` }}
        />
      </div>
      <p className="mono mt-2 truncate text-2xs text-ink-3" title={JSON.stringify(job.filter)}>
        {Object.keys(job.filter).length === 0 ? 'all' : JSON.stringify(job.filter)}
      </p>
    </article>
  );
}
