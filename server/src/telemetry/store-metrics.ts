// The metrics of what a node writes to its store.

import type { OnCommit } from '../store/ports/store.ts';
import type { Metrics } from './metrics.ts';

export function commitMetrics(metrics: Metrics): OnCommit {
  const took = metrics.histogram(
    'postrider_commit_seconds',
    'How long a transaction took, from when its calls were sent to the store until they were on disk.',
  );
  const calls = metrics.counter(
    'postrider_committed_calls_total',
    'Calls that were committed. Divided by postrider_commit_seconds_count: how many calls share a transaction.',
  );
  return (tookMs, count) => {
    took(tookMs);
    calls('', count);
  };
}
