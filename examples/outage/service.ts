// A service of its own for the demonstration: a process with a free port and a data directory that is removed afterwards.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Postrider } from 'postrider-sdk';

const PROGRAM = join(import.meta.dirname, '..', '..', 'server', 'bin', 'postrider.js');

export interface Service extends AsyncDisposable {
  readonly client: Postrider;
  /** How many messages have ended so far. */
  ended(): Promise<{ readonly delivered: number; readonly failed: number }>;
}

export async function startService(): Promise<Service> {
  const data = await mkdtemp(join(tmpdir(), 'postrider-outage-'));
  const child = spawn(process.execPath, [PROGRAM, 'dev', '--port', '0', '--data', data, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    await rm(data, { recursive: true, force: true });
  };
  const lines = createInterface({ input: child.stdout });
  const ready = await Promise.race([
    once(lines, 'line').then(([line]) => JSON.parse(line) as { readonly api: string; readonly token: string }),
    once(child, 'close').then(() => null),
  ]);
  if (!ready) {
    await stop();
    throw new Error('the service did not start');
  }
  return {
    client: new Postrider({ baseUrl: ready.api, token: ready.token }),
    ended: async () => {
      const metrics = await (await fetch(new URL('/metrics', ready.api))).text();
      const count = (state: string) =>
        Number(new RegExp(`^postrider_messages_ended_total\\{state="${state}"\\} (\\d+)`, 'm').exec(metrics)?.[1] ?? 0);
      return { delivered: count('delivered'), failed: count('failed') };
    },
    [Symbol.asyncDispose]: stop,
  };
}
