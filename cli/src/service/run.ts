// Runs the service until a signal ends it. The first SIGTERM or SIGINT lets the service drain, the second one ends it
// at once.

import {
  createLog,
  type EndReport,
  type Log,
  type Postrider,
  type StartOptions,
  startPostrider,
  takePrinted,
  VERSION,
} from '../../../server/src/node/main.ts';
import type { Config } from '../../../server/src/node/settings/config.ts';
import { type Clock, systemWorld } from '../../../server/src/runtime/world.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { greeting } from './greeting.ts';
import { printWarnings } from './node-output.ts';

/** How many more ports dev tries when its own port is in use. */
const PORTS_TRIED = 20;
const PORT_MAX = 65_535;

/** How long a start may still take after a stop was requested. */
const STARTING_MS_MAX = 1000;

/** Says something: `serve` in its log, `dev` to the person who has started it. */
type Say = (level: 'info' | 'error' | 'fatal', text: string) => void;

export async function run(config: Config): Promise<number> {
  const world = systemWorld();
  const log = createLog(config.logLevel);
  const say = sayingIn(config, log);
  const startedMs = world.clock.monotonicMs();
  // Signals are handled from now on: in a container, the system does not end process 1 for a signal without a handler.
  const signal = firstSignal();
  const started = stopIfSlow(signal, world.clock, say);
  let postrider: Postrider;
  const outdated = Promise.withResolvers<string>();
  try {
    postrider = await start(config, {
      onBroken: (error) => {
        // The store can no longer be written, and no write is tried again. The next start uses what is on disk.
        say('fatal', `postrider stops: ${error.message}`);
        process.exit(1);
      },
      onOutdated: outdated.resolve,
      log,
    });
  } catch (error) {
    process.stderr.write(`postrider ${config.command} cannot start: ${startProblem(error, config)}\n`);
    return 1;
  }
  started();
  survive(postrider);
  announce(postrider, config, world.clock.monotonicMs() - startedMs);
  const why = await Promise.race([signal, outdated.promise, ...(config.untilStdinEnds ? [stdinEnd()] : [])]);
  if (why !== undefined) say('error', `postrider stops: ${why}`);
  else if (config.command === 'serve' || !config.json) {
    say('info', 'Finishing the attempts in flight. Press Ctrl+C again (or send a second signal) to stop at once.');
  }
  return endExit(await postrider.close(), why !== undefined, say);
}

function sayingIn(config: Config, log: Log): Say {
  // The terminal shows ^C at the start of the line.
  if (config.command === 'dev') return (_level, text) => void process.stderr.write(`\n${text}\n`);
  printWarnings((fields) => log.warn(fields, 'a warning of Node.js'));
  takePrinted((text) => log.warn({ text: text.trim() }, 'a thread has printed a text'));
  return (level, text) => log[level]({}, text);
}

/**
 * Call the returned function when the start has ended. If a signal comes before that, the process exits unless the
 * start ends within STARTING_MS_MAX.
 */
function stopIfSlow(signal: Promise<void>, clock: Clock, say: Say): () => void {
  let isStarted = false;
  void signal.then(() => {
    if (isStarted) return;
    // A node that has nearly started may continue and drain, because it may just have created the first token.
    clock.after(STARTING_MS_MAX, () => {
      if (isStarted) return;
      say('info', 'postrider was stopped before it was ready');
      process.exit(0);
    });
  });
  return () => {
    isStarted = true;
  };
}

function announce(
  { url, metricsUrl, token, location, isReachableFromOutside }: Postrider,
  config: Config,
  readyMs: number,
): void {
  // What no person reads is one line of JSON, like the log.
  if (config.json || (config.command === 'serve' && !process.stdout.isTTY)) {
    const page = config.command === 'serve' && { console: `${url}/console` };
    const more = { ...(metricsUrl !== null && { metrics: metricsUrl }), ...(token !== null && { token }) };
    process.stdout.write(`${JSON.stringify({ api: url, ...page, ...more })}\n`);
  } else {
    process.stdout.write(greeting({ version: VERSION, location, config, url, metricsUrl, token, readyMs }));
  }
  if (config.command === 'dev' && isReachableFromOutside) {
    process.stderr.write(
      `dev listens on ${config.host}, so other machines can reach it. All of them can use it, because its token is public. ` +
        'It accepts these host names: IP addresses, localhost, the name of this machine, and --allow-host.\n',
    );
  }
}

function endExit(ended: EndReport, isOutdated: boolean, say: Say): number {
  if (ended.left > 0 || !ended.isStoreClosed) {
    say('error', `postrider stops, but the store did not respond. ${leftWords(ended)}`);
    // Pending store calls would keep the process alive.
    process.exit(EXIT.storeAway);
  }
  if (ended.lanesLost === 0) return isOutdated ? EXIT.outdated : EXIT.done;
  say('error', 'postrider stops, but one of its threads ended before its attempts did. The next start repeats them.');
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
  process.on('uncaughtException', (error) => onFault(error));
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

/** Resolves at the first signal. A second one ends the process at once, even if the first had no effect yet. */
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
