// Schedules: when they run, in words and as times, their last results, and a button to run one now.

import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { calls, type Schedule } from 'postrider-sdk';
import { useState } from 'react';
import { type Search, textOf } from '../base/search.ts';
import { useClient } from '../base/session.ts';
import { cronWords } from '../parts/cron-words.ts';
import { ActionButton } from '../ui/action.tsx';
import { useExampleUrl } from '../ui/command.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { countWithNoun } from '../ui/count.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageBody, PageHead, ResponseState } from '../ui/page.tsx';
import { STATES } from '../ui/state.tsx';
import { Ago, clockTime, durationText } from '../ui/time.tsx';
import { ScheduleDetail } from './schedule-detail.tsx';

const RESULTS_SHOWN = 24;

export function SchedulesScreen() {
  const client = useClient();
  const named = textOf((useSearch({ strict: false }) as Search).schedule);
  const urlOf = useExampleUrl();
  const { data: schedules, error } = useQuery({
    queryKey: ['schedules'],
    queryFn: () => client.listSchedules(),
    refetchInterval: 3000,
  });
  return (
    <>
      <PageHead title="Schedules">
        <Link to="/send" search={{ mode: 'schedule' }} className="btn btn-primary">
          <Icon name="plus" className="size-3.5" />
          New schedule
        </Link>
      </PageHead>
      <PageBody>
        <ResponseState data={schedules} error={error} />
        {schedules?.length === 0 && (
          <EmptyState
            title="Deliver at regular times"
            call={calls.createSchedule({
              destination: urlOf('report'),
              settings: { Cron: 'CRON_TZ=Europe/Berlin 0 9 * * 1-5' },
            })}
          >
            <p>
              A schedule creates a new message at each time of a cron expression, in any time zone, or at equal
              intervals.
            </p>
          </EmptyState>
        )}
        <ul className="space-y-3">
          {schedules?.map((schedule) => (
            <li key={schedule.scheduleId}>
              <ScheduleCard schedule={schedule} isNamed={schedule.scheduleId === named} />
            </li>
          ))}
        </ul>
      </PageBody>
    </>
  );
}

function ScheduleCard({ schedule, isNamed }: { readonly schedule: Schedule; readonly isNamed: boolean }) {
  const { scheduleId, cron, destination, isPaused, nextScheduleTime } = schedule;
  const [isUnfolded, setIsUnfolded] = useState(isNamed);
  return (
    <article className={`card ${isNamed ? 'border-accent' : ''}`} aria-label={`Schedule ${scheduleId}`}>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3">
        <div className="min-w-56 grow basis-0">
          <p className="flex flex-wrap items-center gap-x-2 text-base font-medium">
            {cronWords(cron) ?? cron}
            {isPaused && <span className="chip border-transparent bg-retrying-soft text-retrying">paused</span>}
            {schedule.overlap === 'skip' && <span className="chip">skips while one is open</span>}
            {schedule.jitter !== undefined && (
              <span className="chip">jitter {durationText(schedule.jitter * 1000)}</span>
            )}
          </p>
          <p className="mono truncate text-ink-3" title={destination}>
            {schedule.method} {destination}
          </p>
          <p className="text-xs text-ink-3">
            <span className="mono">{scheduleId}</span>
            {nextScheduleTime !== undefined && (
              <>
                {' '}
                · next <Ago at={nextScheduleTime} />
              </>
            )}
            {schedule.skippedCount !== undefined && <> · {countWithNoun(schedule.skippedCount, 'skipped tick')}</>}
          </p>
        </div>
        <Results scheduleId={scheduleId} />
        <div className="flex gap-2">
          <button
            type="button"
            className="btn btn-quiet"
            aria-expanded={isUnfolded}
            onClick={() => setIsUnfolded(!isUnfolded)}
          >
            Next runs
          </button>
          <ScheduleActions schedule={schedule} />
        </div>
      </div>
      {isUnfolded && <ScheduleDetail listed={schedule} />}
    </article>
  );
}

function ScheduleActions({ schedule: { scheduleId, isPaused } }: { readonly schedule: Schedule }) {
  return (
    <>
      <ActionButton
        call={calls.runSchedule(scheduleId)}
        icon="send"
        done="It runs now, in addition to its regular times"
        link={([first]) =>
          first && (
            <Link to="/messages/$messageId" params={{ messageId: first.messageId }} className="link">
              Open it
            </Link>
          )
        }
      >
        Run now
      </ActionButton>
      {isPaused ? (
        <ActionButton
          call={calls.resumeSchedule(scheduleId)}
          icon="play"
          className="btn btn-primary"
          done="The schedule is resumed"
        >
          Resume
        </ActionButton>
      ) : (
        <ActionButton call={calls.pauseSchedule(scheduleId)} icon="pause" done="The schedule is paused">
          Pause
        </ActionButton>
      )}
      <ConfirmButton
        title={`Delete schedule “${scheduleId}”?`}
        verb="Delete the schedule"
        call={calls.deleteSchedule(scheduleId)}
        icon="trash"
        label={`Delete schedule ${scheduleId}`}
        done="The schedule is deleted"
      >
        <p>The schedule creates no more messages. Messages that it has created are still delivered.</p>
      </ConfirmButton>
    </>
  );
}

/** The last messages of the schedule, oldest first: one mark for each, in the colour of its state. */
function Results({ scheduleId }: { readonly scheduleId: string }) {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['schedule-results', scheduleId],
    queryFn: () => client.listMessages({ scheduleId: [scheduleId], count: RESULTS_SHOWN }),
    refetchInterval: 3000,
  });
  if (!data) return <ResponseState data={data} error={error} isSmall />;
  const messages = [...data.messages].reverse();
  if (messages.length === 0) return <span className="text-xs text-ink-3">has not run yet</span>;
  return (
    <ol aria-label="Last results" className="flex items-end gap-0.5">
      {messages.map(({ messageId, state, createdAt, responseStatus }) => {
        const words = `${STATES[state].label}${responseStatus === undefined ? '' : ` ${responseStatus}`}, ${clockTime(createdAt)}`;
        return (
          <li key={messageId}>
            <Link
              to="/messages/$messageId"
              params={{ messageId }}
              title={words}
              aria-label={words}
              className={`block w-1.5 rounded-sm hover:opacity-70 ${STATES[state].dot} ${state === 'DELIVERED' ? 'h-5' : 'h-6'}`}
            />
          </li>
        );
      })}
    </ol>
  );
}
