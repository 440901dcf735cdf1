// The usage of an account: one column for each day, and the sum for each kind.

import { useQuery } from '@tanstack/react-query';
import type { Usage as UsageByDay } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ResponseState, Section } from '../ui/page.tsx';

const KINDS: readonly (readonly [kind: string, label: string, tone: string])[] = [
  ['publish', 'published', 'bg-accent'],
  ['schedule', 'by schedules', 'bg-waiting'],
  ['callback', 'callbacks', 'bg-delivered'],
  ['failureCallback', 'failure callbacks', 'bg-retrying'],
  ['alert', 'alerts', 'bg-active'],
];
const DAYS = 31;

export function Usage() {
  const client = useClient();
  const { data, error } = useQuery({ queryKey: ['usage'], queryFn: () => client.usage(), refetchInterval: 10_000 });
  return (
    <Section title="Usage, last 31 days">
      <ResponseState data={data} error={error} />
      {data && <Days {...data} />}
    </Section>
  );
}

function Days({ usage, toDay }: UsageByDay) {
  const counts = new Map<string, number>();
  for (const { day, kind, count } of usage) {
    counts.set(`${day} ${kind}`, count);
    counts.set(day, (counts.get(day) ?? 0) + count);
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  const days = daysUntil(toDay);
  const most = Math.max(1, ...days.map((day) => counts.get(day) ?? 0));
  return (
    <div className="card p-4">
      <div className="flex h-28 items-end gap-1" role="img" aria-label={`Messages by day, at most ${most} per day`}>
        {days.map((day) => (
          <div
            key={day}
            className="flex h-full grow flex-col justify-end"
            title={`${day}: ${(counts.get(day) ?? 0).toLocaleString('en')}`}
          >
            {KINDS.map(([kind, , tone]) => {
              const count = counts.get(`${day} ${kind}`) ?? 0;
              return count === 0 ? null : (
                <div
                  key={kind}
                  className={`min-h-0.5 first:rounded-t-sm ${tone}`}
                  style={{ height: `${(count / most) * 100}%` }}
                />
              );
            })}
            {!counts.has(day) && <div className="h-0.5 rounded-sm bg-line" />}
          </div>
        ))}
      </div>
      <ul className="num mt-3 flex flex-wrap gap-x-5 gap-y-1 text-xs text-ink-2">
        {KINDS.map(([kind, label, tone]) => (
          <li key={kind} className="flex items-center gap-1.5">
            <span className={`size-2 rounded-full ${tone}`} />
            {label}: {(counts.get(kind) ?? 0).toLocaleString('en')}
          </li>
        ))}
      </ul>
    </div>
  );
}

function daysUntil(last: string): string[] {
  const end = Date.parse(last);
  return Array.from({ length: DAYS }, (_, index) =>
    new Date(end - (DAYS - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}
