// Loaded into a process before its own code, in each of its threads: says four times a second how many bytes the
// JavaScript of that thread has allocated since it started.

import { getHeapStatistics } from 'node:v8';
import { threadId } from 'node:worker_threads';

const EVERY_MS = 250;

setInterval(() => {
  // Known to V8 for a while, to its types not yet.
  const { total_allocated_bytes: bytes = 0 } = getHeapStatistics() as { total_allocated_bytes?: number };
  process.stdout.write(`${JSON.stringify({ [`allocated${threadId}`]: bytes })}\n`);
}, EVERY_MS).unref();
