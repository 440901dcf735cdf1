// The metrics of what waits in the whole service. Every node on a database shows the same numbers, so a query over
// several nodes takes the largest. Queues and flow-control keys are named only where not everybody can read the metrics.

import type { Backlog, LineDepth } from '../store/ports/backlog.ts';
import type { Metrics } from './metrics.ts';

interface ShownBacklog {
  read(): Backlog | null;
  now(): number;
}

export function registerBacklogMetrics(metrics: Metrics, { read, now }: ShownBacklog, isHidden: boolean): void {
  const show = (name: string, help: string, values: (backlog: Backlog) => readonly (readonly [string, number])[]) =>
    metrics.gauges(name, help, () => {
      const backlog = read();
      return new Map(backlog ? values(backlog) : []);
    });
  show(
    'postrider_messages_open',
    'Open messages of the whole service: ready to start, claimed by a node or awaiting an ack, or waiting for their time, their queue, their flow-control key or a person.',
    ({ open, ready, claimed, acks }) => [
      ['state="ready"', ready],
      ['state="claimed"', claimed + acks],
      ['state="waiting"', Math.max(0, open - ready - claimed - acks)],
    ],
  );
  show('postrider_acks_open', 'Attempts of the whole service that await an ack.', ({ acks }) => [['', acks]]);
  show('postrider_dead_letters', 'Dead letters of the whole service.', ({ deadLetters }) => [['', deadLetters]]);
  const ageSeconds = (at: number | null) => (at === null ? 0 : Math.max(0, now() - at) / 1000);
  show(
    'postrider_oldest_ready_seconds',
    'For how long the first message of any host has been ready to start; apart for messages that park while their host is down. Messages of suspended accounts do not count.',
    ({ oldestAt, oldestParkingAt }) => [
      ['outage="retry"', ageSeconds(oldestAt)],
      ['outage="park"', ageSeconds(oldestParkingAt)],
    ],
  );
  const depths = (lines: readonly LineDepth[], label: string) =>
    lines.map(({ accountId, name, count }, index) => {
      const named = `account="${accountId}",${label}="${labelValue(name)}"`;
      return [isHidden ? named : `rank="${index + 1}"`, count] as const;
    });
  show(
    'postrider_queue_depth',
    'Open messages of the longest queues. Queues are shown by name with --metrics-token or --metrics-port, otherwise by rank.',
    ({ queues }) => depths(queues, 'queue'),
  );
  show(
    'postrider_flow_key_depth',
    'Messages that wait behind the flow-control keys with most of them. Keys are shown by name with --metrics-token or --metrics-port, otherwise by rank.',
    ({ flowKeys }) => depths(flowKeys, 'key'),
  );
  show('postrider_backlog_age_seconds', 'How old these counts are.', ({ at }) => [['', ageSeconds(at)]]);
}

function labelValue(text: string): string {
  return text.replace(/["\\\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));
}
