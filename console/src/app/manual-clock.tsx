// A note in the navigation when the service runs with a manual clock: its time, and whether it is stopped. This
// component also updates the clock that the ages and countdowns of all screens use.

import { useQuery } from '@tanstack/react-query';
import { setServiceClock } from '../base/service-time.ts';
import { useClient } from '../base/session.ts';
import { exactTime, useNow } from '../ui/time.tsx';

const EVERY_MS = 1000;

export function ManualClock() {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ['clock'],
    queryFn: async () => {
      const clock = await client.clock();
      setServiceClock(clock);
      return clock;
    },
    retry: false,
    // If the service has a real clock, or does not know this call, it is asked only once.
    refetchInterval: ({ state }) => (state.error || state.data?.clock === 'real' ? false : EVERY_MS),
  });
  const now = useNow();
  if (!data || data.clock === 'real') return null;
  return (
    <p className="border-t border-line px-4 py-2 text-xs text-ink-3">
      Manual clock, {data.clock === 'frozen' ? 'stopped at' : 'running, now'}
      <br />
      <time className="num" dateTime={new Date(now).toISOString()}>
        {exactTime(now)}
      </time>
    </p>
  );
}
