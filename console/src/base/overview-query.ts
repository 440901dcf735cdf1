// The counts of messages by state, which the navigation, the chips and the screens share. They are requested once for
// all.

import { useQuery } from '@tanstack/react-query';
import { useClient } from './session.ts';

export function useOverview(refetchMs = 3000) {
  const client = useClient();
  return useQuery({ queryKey: ['overview'], queryFn: () => client.overview(), refetchInterval: refetchMs });
}

/** A count, or `20k+` when there are at least that many. */
export function countText(count: number, countedMax: number): string {
  if (count >= countedMax) return `${Math.round(countedMax / 1000)}k+`;
  return count.toLocaleString('en');
}
