// BullMQ on Redis. node bullmq.js <redis port>

import { Queue, Worker } from 'bullmq';
import { CONCURRENCY, deliver, serveFront } from './front.js';

const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null };
const queue = new Queue('messages', { connection });
const options = { attempts: 4, backoff: { type: 'exponential', delay: 1000 }, removeOnComplete: true };
new Worker('messages', (job) => deliver(job.data), { connection, concurrency: CONCURRENCY });
serveFront(async (message) => (await queue.add('message', message, options)).id);
