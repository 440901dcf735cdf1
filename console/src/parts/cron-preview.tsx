// A cron expression in words, with its next times as the service computes them.

import { useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { useClient } from '../base/session.ts';
import { ResponseState } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';
import { cronWords } from './cron-words.ts';

export function CronPreview({ cron }: { readonly cron: string }) {
  const client = useClient();
  const asked = useDeferredValue(cron);
  const { data, error } = useQuery({
    queryKey: ['cron', asked],
    queryFn: () => client.cronTimes(asked),
    retry: false,
    enabled: asked.trim() !== '',
  });
  const words = cronWords(cron);
  return (
    <div className="rounded-md border border-line bg-sunken px-3 py-2.5 text-xs">
      {words !== null && <p className="mb-1 text-sm font-medium">{words}</p>}
      {asked.trim() !== '' && <ResponseState data={data} error={error} isSmall />}
      {data && !error && (
        <ol className="space-y-0.5 text-ink-2">
          {data.times.map((at) => (
            <li key={at} className="num flex justify-between gap-4">
              <span>{inZone(at, data.timeZone)}</span>
              <span className="text-ink-3">
                <Ago at={at} />
              </span>
            </li>
          ))}
          {data.times.length === 0 && <li>This schedule never runs.</li>}
        </ol>
      )}
    </div>
  );
}

export function inZone(at: number, timeZone: string): string {
  const text = new Date(at).toLocaleString('en-GB', {
    timeZone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  return `${text} ${timeZone}`;
}
