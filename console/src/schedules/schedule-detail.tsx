// A schedule, unfolded: its next times, its last messages with their ends, what it skipped, and a form to change it.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { calls, type Schedule, type ScheduleRun } from 'postrider-sdk';
import { useState } from 'react';
import { useClient, useSession } from '../base/session.ts';
import { CronPreview } from '../parts/cron-preview.tsx';
import { TickSettings } from '../parts/tick-settings.tsx';
import { ActionButton } from '../ui/action.tsx';
import { ResponseState } from '../ui/page.tsx';
import { STATES } from '../ui/state.tsx';
import { Ago, durationText } from '../ui/time.tsx';

export function ScheduleDetail({ listed }: { readonly listed: Schedule }) {
  const client = useClient();
  const { scheduleId } = listed;
  const { data, error } = useQuery({
    queryKey: ['schedule', scheduleId],
    queryFn: () => client.getSchedule(scheduleId),
    refetchInterval: 3000,
  });
  const schedule = data ?? listed;
  return (
    <div className="grid gap-6 border-t border-line px-4 py-3 lg:grid-cols-2">
      <div className="min-w-0 space-y-3">
        <ResponseState data={data} error={error} isSmall />
        {schedule.skippedText !== undefined && <p className="text-sm text-ink-2">{schedule.skippedText}</p>}
        <h3 className="heading">Next times</h3>
        <CronPreview
          cron={schedule.cron}
          {...(!schedule.isPaused && schedule.nextScheduleTimes && { times: schedule.nextScheduleTimes })}
        />
        {(schedule.lastRuns?.length ?? 0) > 0 && (
          <>
            <h3 className="heading">Last messages</h3>
            <ul className="space-y-1" aria-label="Last messages">
              {schedule.lastRuns?.map((run) => (
                <Run key={run.messageId} run={run} />
              ))}
            </ul>
          </>
        )}
      </div>
      <ChangeForm schedule={schedule} key={`${schedule.cron} ${schedule.overlap} ${schedule.jitter}`} />
    </div>
  );
}

function Run({ run: { messageId, state, createdAt, endedAt, responseStatus } }: { readonly run: ScheduleRun }) {
  const { label, dot } = STATES[state];
  return (
    <li className="flex items-center gap-2 text-sm">
      <span className={`size-2 shrink-0 rounded-full ${dot}`} />
      <Link to="/messages/$messageId" params={{ messageId }} className="link">
        {label}
        {responseStatus === undefined ? '' : ` ${responseStatus}`}
      </Link>
      <span className="text-ink-3">
        <Ago at={createdAt} />
        {endedAt !== undefined && `, ended after ${durationText(endedAt - createdAt)}`}
      </span>
    </li>
  );
}

/** A jitter as it is entered: `90s`. Empty if there is none. */
const jitterText = ({ jitter }: Schedule) => (jitter === undefined ? '' : `${jitter}s`);

function ChangeForm({ schedule }: { readonly schedule: Schedule }) {
  const { headerPrefix } = useSession().account.service;
  const [cron, setCron] = useState(schedule.cron);
  const [overlap, setOverlap] = useState<string>(schedule.overlap ?? 'allow');
  const [jitter, setJitter] = useState(jitterText(schedule));
  const headers = {
    ...(overlap !== (schedule.overlap ?? 'allow') && { [`${headerPrefix}Schedule-Overlap`]: overlap }),
    ...(jitter !== jitterText(schedule) && { [`${headerPrefix}Schedule-Jitter`]: jitter }),
  };
  const change = {
    ...(cron !== schedule.cron && { cron }),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
  return (
    <div className="min-w-0 space-y-3">
      <h3 className="heading">Change</h3>
      <label className="block">
        <span className="label">Times</span>
        <input className="input mono" value={cron} onChange={(event) => setCron(event.target.value)} />
      </label>
      {cron !== schedule.cron && <CronPreview cron={cron} />}
      <TickSettings overlap={overlap} jitter={jitter} onOverlap={setOverlap} onJitter={setJitter} />
      <ActionButton
        call={calls.changeSchedule(schedule.scheduleId, change)}
        isDisabled={Object.keys(change).length === 0}
        done="The schedule is changed; its history is kept"
      >
        Save the change
      </ActionButton>
    </div>
  );
}
