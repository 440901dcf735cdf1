// graphile-worker on PostgreSQL, with its local queue and batched completion. node graphile-worker.js <url>

import { run } from 'graphile-worker';
import { CONCURRENCY, deliver, serveFront } from './front.js';

const runner = await run({
  preset: {
    worker: {
      connectionString: process.argv[2],
      concurrentJobs: CONCURRENCY,
      maxPoolSize: 20,
      pollInterval: 500,
      localQueue: { size: CONCURRENCY * 2 },
      completeJobBatchDelay: 1,
      failJobBatchDelay: 1,
    },
  },
  noHandleSignals: true,
  taskList: { deliver: (message) => deliver(message) },
});
serveFront(async (message) => (await runner.addJob('deliver', message, { maxAttempts: 4 })).id);
