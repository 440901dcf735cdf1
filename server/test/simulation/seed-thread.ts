// A thread that runs one seed after the other, as it is told.

import { parentPort } from 'node:worker_threads';
import { runSeed, type SeedOrder } from './run-seeds.ts';

const port = parentPort!;
port.on('message', async ({ seed, times }: SeedOrder) => port.postMessage(await runSeed(seed, times)));
