// Runs the service until a signal ends it. The first SIGTERM or SIGINT lets the service drain, the second one ends it
// at once.

import {
  type EndReport,
  type Postrider,
  type StartOptions,
  startPostrider,
  VERSION,
} from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { type Clock, systemWorld } from '../../../server/src/runtime/world.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { greeting } from './greeting.ts';

/** Limit for the ports that dev tries after a busy one. */
const PORTS_TRIED = 20;
const PORT_MAX = 65_535;

/** How long a start may still take after a stop was requested. */
const STARTING_MS_MAX = 1000;

export async function run(config: Config): Promise<number> {
  const world = systemWorld();
  const startedMs = world.clock.monotonicMs();
  // Signals are handled from now on: in a container, the system does not end process 1 for a signal without a handler.
  const signal = firstSignal();
  const started = stopIfSlow(signal, world.clock);
  let postrider: Postrider;
  const outdated = Promise.withResolvers<string>();
  try {
    postrider = await start(config, {
      onBroken: (error) => {
        // The file that can no longer be written is not tried again. The next start uses what is on disk.
        process.stderr.write(`postrider stops: ${error.message}\n`);
        process.exit(1);
      },
      onOutdated: outdated.resolve,
    });
  } catch (error) {
    process.stderr.write(`postrider ${config.command} cannot start: ${startProblem(error, config)}\n`);
    return 1;
  }
  started();
  survive(postrider);
  announce(postrider, config, world.clock.monotonicMs() - startedMs);
  const why = await Promise.race([signal, outdated.promise, ...(config.untilStdinEnds ? [stdinEnd()] : [])]);
  if (why !== undefined) process.stderr.write(`postrider stops: ${why}\n`);
  else if (!config.json)
    process.stderr.write(
      `\nFinishing the attempts in flight. Press Ctrl+C again (or send a second signal) to stop at once.\n`,
    );
  return endExit(await postrider.close(), why !== undefined);
}

/**
 * Call the returned function when the start has ended. If a signal comes before that, the start may take only a little
 * longer.
 */
function stopIfSlow(signal: Promise<void>, clock: Clock): () => void {
  let isStarted = false;
  void signal.then(() => {
    if (isStarted) return;
    // A node that has nearly started continues and drains. It may just have created the first token.
    clock.after(STARTING_MS_MAX, () => {
      if (isStarted) return;
      process.stderr.write('postrider was stopped before it was ready\n');
      process.exit(0);
    });
  });
  return () => {
    isStarted = true;
  };
}

function announce(
  { url, metricsUrl, token, location, listensBeyond }: Postrider,
  config: Config,
  readyMs: number,
): void {
  if (config.json) {
    const metrics = metricsUrl !== null && { metrics: metricsUrl };
    process.stdout.write(`${JSON.stringify({ api: url, ...metrics, ...(token !== null && { token }) })}\n`);
  } else {
    process.stdout.write(greeting({ version: VERSION, location, config, url, metricsUrl, token, readyMs }));
  }
  if (config.command === 'dev' && listensBeyond) {
    process.stderr.write(
      `dev listens on ${config.host}, so other machines can reach it. All of them can use it, because its token is public. ` +
        'It accepts these host names: IP addresses, localhost, the name of this machine, and --allow-host.\n',
    );
  }
}

function endExit(ended: EndReport, isOutdated: boolean): number {
  if (ended.left > 0 || !ended.isStoreClosed) {
    process.stderr.write(`postrider stops, but the store did not respond. ${leftWords(ended)}\n`);
    // Pending store calls would keep the process alive.
    process.exit(EXIT.storeAway);
  }
  if (ended.lanesLost === 0) return isOutdated ? EXIT.outdated : EXIT.done;
  process.stderr.write(
    'postrider stops, but one of its threads ended before its attempts did. The next start repeats them.\n',
  );
  return EXIT.failed;
}

function leftWords({ left }: EndReport): string {
  if (left === 0)
    return 'The results of all attempts are stored. Messages that were not sent yet are sent when the store is back.';
  const attempts = left === 1 ? '1 attempt' : `${left} attempts`;
  return `The result of ${attempts} could not be stored: the service repeats them when the store is back.`;
}

/**
 * Logs uncaught errors and lets the process continue: a caller that can provoke an error must not be able to stop the
 * work of others. This is safe, because nothing is acknowledged before the store has written it, and a store that can
 * no longer be written ends the process separately. Rejected promises come here as well.
 */
function survive({ onFault }: Postrider): void {
  process.on('uncaughtException', onFault);
}

/** In dev a busy port does not stop the start: the next free port is used and printed. */
async function start(config: Config, options: StartOptions): Promise<Postrider> {
  for (let port = config.port; ; port += 1) {
    try {
      return await startPostrider({ ...config, port }, options);
    } catch (error) {
      const { code, port: busyPort } = error as { readonly code?: string; readonly port?: number };
      const isBusy = code === 'EADDRINUSE' && busyPort === port;
      const isLast = port >= Math.min(config.port + PORTS_TRIED, PORT_MAX);
      if (!isBusy || config.command !== 'dev' || isLast) throw error;
      process.stderr.write(`Port ${port} is in use; trying ${port + 1}.\n`);
    }
  }
}

function startProblem(error: unknown, config: Config): string {
  const { code, syscall, message, port } = error as {
    readonly code?: string;
    readonly syscall?: string;
    readonly message: string;
    readonly port?: number;
  };
  const isMetrics = config.metricsPort !== null && port === config.metricsPort;
  const [number, flag] = isMetrics ? [config.metricsPort, '--metrics-port'] : [config.port, '--port'];
  if (code === 'EADDRINUSE') return `port ${number} is in use; choose another with ${flag}, or 0 for any free one.`;
  if (syscall === 'listen' || syscall === 'getaddrinfo')
    return `cannot listen on ${config.host}, port ${number}: ${message}`;
  return message;
}

/** Resolves when the writer of standard input has closed it. */
function stdinEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error'] as const) process.stdin.once(event, () => resolve());
    process.stdin.resume();
    // Reading standard input must not keep the process alive after a signal.
    process.stdin.unref?.();
  });
}

/**
 * Resolves at the first signal. The second signal ends the process at once, even if the first has not had its effect
 * yet.
 */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isFirst = true;
    const obey = () => {
      if (!isFirst) process.exit(1);
      isFirst = false;
      resolve();
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, obey);
  });
}
