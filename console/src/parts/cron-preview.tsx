// A cron expression in words, with its next times as the service computes them.

import { useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { useClient } from '../base/session.ts';
import { ResponseState } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';
import { cronWords } from './cron-words.ts';

/** `times`: the next times of a schedule, if they are known. An interval is counted from the creation of the schedule. */
export function CronPreview({ cron, times }: { readonly cron: string; readonly times?: readonly number[] }) {
  const client = useClient();
  const asked = useDeferredValue(cron);
  const { data, error } = useQuery({
    queryKey: ['cron', asked],
    queryFn: () => client.cronTimes(asked),
    retry: false,
    enabled: asked.trim() !== '',
  });
  const words = cronWords(cron);
  const shown = times ?? data?.times ?? [];
  const hasSeconds = shown.some((at) => at % 60_000 !== 0);
  return (
    <div className="rounded-md border border-line bg-sunken px-3 py-2.5 text-xs">
      {words !== null && <p className="mb-1 text-sm font-medium">{words}</p>}
      {asked.trim() !== '' && <ResponseState data={data} error={error} isSmall />}
      {data && !error && (
        <ol className="space-y-0.5 text-ink-2">
          {shown.map((at) => (
            <li key={at} className="num flex justify-between gap-4">
              <span>{timeInZone(at, data.timeZone, hasSeconds)}</span>
              <span className="text-ink-3">
                <Ago at={at} />
              </span>
            </li>
          ))}
          {shown.length === 0 && <li>This schedule never runs.</li>}
        </ol>
      )}
    </div>
  );
}

function timeInZone(at: number, timeZone: string, hasSeconds: boolean): string {
  const text = new Date(at).toLocaleString('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    ...(hasSeconds && { second: '2-digit' as const }),
  });
  return `${text} ${timeZone}`;
}
