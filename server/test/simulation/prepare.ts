// What is in the store before a run begins: two accounts, their topics and queues.

import type { Schedule } from '../../src/rules/schedules/schedule.ts';
import type { Cluster } from './cluster.ts';
import { type DraftAccount, QUEUES, TOPICS } from './draft.ts';
import { type Cast, URGENT, URGENT_QUEUE } from './extras.ts';
import { MINUTE_SCHEDULE } from './ticks.ts';

export const ACCOUNTS: readonly DraftAccount[] = [
  { id: 'acc_free', tier: 'free' },
  { id: 'acc_paid', tier: 'paid' },
];

export function prepare({ timeline, watchedVerbs }: Cluster, cast: Cast): void {
  const verbs = watchedVerbs('nobody');
  const now = timeline.clock.now();
  for (const { id, tier } of ACCOUNTS) {
    verbs.createAccount({ id, name: id, tier, createdAt: now }, { current: 'sig_current', next: 'sig_next' });
    for (const [name, urls] of Object.entries(TOPICS)) {
      const endpoints = urls.map((url) => ({ name: null, url }));
      const times = { createdAt: now, updatedAt: now, version: 0 };
      verbs.saveTopic({ id: `tpc_${id}_${name}`, accountId: id, name, endpoints, defaults: [], ...times });
    }
    for (const [name, parallelism] of Object.entries(QUEUES)) verbs.saveQueue(id, name, { parallelism }, now);
    if (cast === 'full') verbs.saveQueue(id, URGENT, URGENT_QUEUE, now);
  }
  verbs.saveSchedule(everyMinute(ACCOUNTS[0]!.id, now));
}

/** Its ticks make no message: whether they come is looked at. */
function everyMinute(accountId: string, now: number): Schedule {
  return {
    id: MINUTE_SCHEDULE,
    accountId,
    cron: '* * * * *',
    destination: 'https://a.example/tick',
    queueName: null,
    headers: [],
    body: new Uint8Array(0),
    callerIp: null,
    overlap: 'allow',
    jitterMs: 0,
    isPaused: false,
    nextAt: now + 60_000,
    lastAt: null,
    lastMessageIds: [],
    skippedCount: 0,
    skippedAt: null,
    createdAt: now,
    version: 0,
  };
}
