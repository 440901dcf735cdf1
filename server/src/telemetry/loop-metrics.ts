// The metrics of a lane's event loop: how busy it is, how late its timers are, and who uses it.

import type { Metrics } from './metrics.ts';

/** Limit for the accounts that the metrics of the event loop name, for each lane. */
const NAMED_MAX = 5;

interface SharedLoop {
  readonly waits: number;
  most(count: number): { readonly accounts: readonly (readonly [string, number])[]; readonly unknownMs: number };
}

/** Shows who uses the event loop's time. Accounts are named only where not everybody can read the metrics. */
export function registerLoopMetrics(metrics: Metrics, loop: SharedLoop, isHidden: boolean): void {
  metrics.gauges(
    'postrider_loop_used_seconds',
    'Time of the event loop used for callers in the last one to two seconds: the accounts that used most, and all callers without a known token. Accounts are shown by id with --metrics-token or --metrics-port, otherwise by rank.',
    () => {
      const { accounts, unknownMs } = loop.most(NAMED_MAX);
      const labels = (id: string, index: number) => (isHidden ? `account="${id}"` : `rank="${index + 1}"`);
      const most = accounts.map(([id, ms], index) => [labels(id, index), ms / 1000] as const);
      return new Map([['account="none"', unknownMs / 1000], ...most]);
    },
  );
  metrics.counted(
    'postrider_loop_waits_total',
    'Times a caller had to wait for its turn, because it had used more than its share of a busy event loop.',
    () => loop.waits,
  );
}

/** Shows how busy the event loop is. Returns a function that counts by how much a timer was late. */
export function registerLoopDelay(metrics: Metrics, busyMs: () => number): (lateMs: number) => void {
  metrics.counted(
    'postrider_loop_busy_seconds_total',
    'Time in which the event loop was busy. With several lanes, the sum of all of them.',
    () => busyMs() / 1000,
  );
  return metrics.histogram(
    'postrider_loop_delay_seconds',
    'By how much a timer was late that fires five times a second: for so long, nothing else could run.',
  );
}
