// npm run bench: the floor and Postrider side by side. npm run bench -- <part>: one of the other measurements, each a
// file of its own. npm run bench -- all: everything the report is made of, one after the other.

import { spawnSync } from 'node:child_process';

const PARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'side-by-side': () => import('./side-by-side.ts'),
  lanes: () => import('./lanes.ts'),
  nodes: () => import('./nodes.ts'),
  growth: () => import('./growth.ts'),
  delayed: async () => (await import('./behind.ts')).measureBehind('delayed'),
  parked: async () => (await import('./behind.ts')).measureBehind('parked'),
  history: async () => (await import('./behind.ts')).measureBehind('history'),
  fifo: () => import('./fifo.ts'),
  batch: () => import('./batch.ts'),
  topics: () => import('./topics.ts'),
  idle: () => import('./idle.ts'),
  'slow-disk': () => import('./slow-disk.ts'),
  goals: () => import('./goals.ts'),
  guard: () => import('./guard.ts'),
};

/** Each in a process of its own; one that fails does not keep the others from running. */
function runAll(options: readonly string[]): number {
  const failed = Object.keys(PARTS).filter((part) => {
    process.stderr.write(`\n${part}\n`);
    const { status } = spawnSync(process.execPath, [import.meta.filename, part, ...options], { stdio: 'inherit' });
    return status !== 0;
  });
  if (failed.length > 0) process.stderr.write(`failed: ${failed.join(', ')}\n`);
  return failed.length > 0 ? 1 : 0;
}

const [first = ''] = process.argv.slice(2);
const name = first === '' || first.startsWith('--') ? 'side-by-side' : first;
const part = PARTS[name];
if (name === 'all') process.exitCode = runAll(process.argv.slice(3));
else if (part) await part();
else {
  process.stderr.write(`npm run bench -- <part>, one of: ${Object.keys(PARTS).join(', ')}, all\n`);
  process.exitCode = 1;
}
