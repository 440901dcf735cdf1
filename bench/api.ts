// Calls to a running service that prepare a measurement.

import type { Child } from './child.ts';
import { wait } from './clock.ts';
import { startLoad } from './measure.ts';
import { batchOf } from './request.ts';
import type { Running } from './targets.ts';

const BATCH = 500;
const FILL_CONNECTIONS = 4;

export async function call(running: Running, method: string, path: string, body?: unknown): Promise<void> {
  const response = await fetch(`${running.apis[0]}${path}`, {
    method,
    headers: { authorization: `Bearer ${running.token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}

/** Publishes so many in batches, and returns when all are accepted. */
export async function fill(
  running: Running,
  messages: number,
  destination: string,
  headers: Readonly<Record<string, string>> = {},
  queue?: string,
): Promise<void> {
  if (messages === 0) return;
  const shape = () => batchOf(destination, running.token, Math.min(BATCH, messages), headers, queue);
  const pace = { seconds: 0, warmUpSeconds: 0, connections: FILL_CONNECTIONS };
  // In whole batches: it may be up to one more than asked for.
  const load = startLoad(running, pace, { shape, messagesMax: messages }, destination);
  try {
    await until(load, () => load.number('accepted') >= messages);
    if (load.number('refused') > 0) throw new Error(`refused: ${load.said.lastRefusal}`);
  } finally {
    await load.end();
  }
}

export async function until(child: Child, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    if (child.hasEnded) throw new Error(`it ended: ${child.output}`);
    await wait(10);
  }
}

/** Share of a core that it uses with nothing to do, in percent. */
export async function idlePercent(running: Running, seconds: number): Promise<number> {
  const before = { at: performance.now(), cpuMs: running.cpuMs };
  await wait(seconds * 1000);
  return ((running.cpuMs - before.cpuMs) / (performance.now() - before.at)) * 100;
}
