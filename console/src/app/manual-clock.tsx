// A note in the navigation when the service runs with a manual clock: its time, and whether it is stopped. It also
// keeps the ages and countdowns of all screens by that clock.

import { useQuery } from '@tanstack/react-query';
import { noteClock } from '../base/service-time.ts';
import { useClient } from '../base/session.ts';
import { exactTime, useNow } from '../ui/time.tsx';

const EVERY_MS = 1000;

export function ManualClock() {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ['clock'],
    queryFn: async () => {
      const clock = await client.clock();
      noteClock(clock);
      return clock;
    },
    retry: false,
    // A service with a real clock, or without this call, is asked once.
    refetchInterval: ({ state }) => (state.error || state.data?.clock === 'real' ? false : EVERY_MS),
  });
  const now = useNow();
  if (!data || data.clock === 'real') return null;
  return (
    <p className="border-t border-line px-4 py-2 text-xs text-ink-3">
      Manual clock, {data.clock === 'frozen' ? 'stopped at' : 'runs'}
      <br />
      <time className="num" dateTime={new Date(now).toISOString()}>
        {exactTime(now)}
      </time>
    </p>
  );
}
