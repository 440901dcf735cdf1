// Counts requests by route. A route is a pattern of our own, so there are few of them, whatever callers ask for.

import type { Metrics } from './metrics.ts';

/** The route of a request whose path is unknown, or lacks something. */
export const NO_ROUTE = 'none';

export type CountRequest = (route: string, status: number) => void;

export function requestCounter(metrics: Metrics): CountRequest {
  const count = metrics.counter(
    'postrider_requests_total',
    'Responses of the API, by route and class of status. Unknown paths have the route none.',
  );
  /** By class of status and route: the texts of the labels. Each is built once. */
  const labels: readonly Map<string, string>[] = Array.from({ length: 6 }, () => new Map());
  return (route, status) => {
    const group = Math.floor(status / 100);
    const ofGroup = labels[group]!;
    const known = ofGroup.get(route);
    if (known !== undefined) return count(known);
    const made = `route="${route}",status="${group}xx"`;
    ofGroup.set(route, made);
    count(made);
  };
}
