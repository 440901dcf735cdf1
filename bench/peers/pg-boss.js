// pg-boss on PostgreSQL, woken by NOTIFY, in batches. node pg-boss.js <url of the database>

import { PgBoss } from 'pg-boss';
import { CONCURRENCY, deliver, serveFront } from './front.js';

const boss = new PgBoss({ connectionString: process.argv[2], max: 20, useListenNotify: true });
boss.on('error', (error) => process.stderr.write(`${error}\n`));
await boss.start();
await boss.createQueue('messages', { notify: true, retryLimit: 3, retryBackoff: true });
await boss.work(
  'messages',
  { batchSize: CONCURRENCY, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
  (jobs) => Promise.all(jobs.map(({ data }) => deliver(data))),
);
serveFront((message) => boss.send('messages', message));
