// One measurement of one target: publishers, target and receiver, each in processes of their own, warmed up, and what
// they said and cost in a stretch of time.

import { join } from 'node:path';
import { Child } from './child.ts';
import { wait } from './clock.ts';
import type { Percentiles } from './histogram.ts';
import type { LoadSpec } from './load.ts';
import type { RequestShape } from './request.ts';
import { HERE, type Running, type StartOptions, type Target } from './targets.ts';

const LOAD = join(HERE, 'load.ts');
const SINK = join(HERE, 'sink.ts');
const NONE: Percentiles = { count: 0, p50: 0, p99: 0, p999: 0, max: 0 };

export interface Pace {
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
}

export interface Result {
  readonly accepted: number;
  readonly delivered: number;
  readonly refused: number;
  /** In microseconds: from when a message was to be sent until it was answered, and until the receiver had it. */
  readonly answered: Percentiles;
  readonly received: Percentiles;
  /** For a delivered message: of the processes that do the work, and of the database they ask. */
  readonly cpuUs: number;
  readonly databaseCpuUs: number;
  /** Of both, for an accepted message: where accepting is all there is to do. */
  readonly cpuAcceptedUs: number;
  readonly allocatedBytes: number;
  /** At the end of the run. */
  readonly rssBytes: number;
  /** For an accepted message, over the whole run; null where the target does not tell. */
  readonly fileBytes: number | null;
}

export type LoadChoice = Partial<Omit<LoadSpec, 'apis' | 'shape'>> & {
  readonly shape?: (running: Running, destination: string) => RequestShape;
  /** Before the first message. */
  readonly prepare?: (running: Running, destination: string) => Promise<void>;
};

/** Starts the target anew, so that no measurement has another one behind it. */
export async function measure(
  target: Target,
  pace: Pace,
  load: LoadChoice = {},
  options: StartOptions = {},
): Promise<Result> {
  const running = await target.start(options);
  try {
    return await measureRunning(running, pace, load);
  } finally {
    await running.stop();
  }
}

export async function measureRunning(running: Running, pace: Pace, load: LoadChoice = {}): Promise<Result> {
  const sink = new Child([SINK]);
  const publishers: Child[] = [];
  try {
    const destination = `http://127.0.0.1:${await sink.says<number>('port')}/`;
    await load.prepare?.(running, destination);
    const bytesBefore = await running.fileBytes();
    const publisher = startLoad(running, pace, load, destination);
    publishers.push(publisher);
    await wait(pace.warmUpSeconds * 1000);
    const before = await look(running, publisher, sink);
    await wait(pace.seconds * 1000);
    const after = await look(running, publisher, sink);
    if (after.refused > 0) process.stderr.write(`${after.refused} were refused: ${publisher.said.lastRefusal}\n`);
    if (after.odd > 0) process.stderr.write(`${after.odd} requests without a length reached the receiver\n`);
    const seconds = (after.at - before.at) / 1000;
    const delivered = after.delivered - before.delivered;
    const bytesAfter = await running.fileBytes();
    const perMessage = (amount: number) => amount / Math.max(1, delivered);
    return {
      accepted: (after.accepted - before.accepted) / seconds,
      delivered: delivered / seconds,
      refused: after.refused,
      answered: (publisher.said.answered as Percentiles | undefined) ?? NONE,
      received: (sink.said.received as Percentiles | undefined) ?? NONE,
      cpuUs: perMessage((after.cpuMs - before.cpuMs) * 1000),
      databaseCpuUs: perMessage((after.databaseCpuMs - before.databaseCpuMs) * 1000),
      cpuAcceptedUs:
        ((after.cpuMs - before.cpuMs + after.databaseCpuMs - before.databaseCpuMs) * 1000) /
        Math.max(1, after.accepted - before.accepted),
      allocatedBytes: perMessage(after.allocatedBytes - before.allocatedBytes),
      rssBytes: running.rssBytes,
      fileBytes:
        bytesBefore === null || bytesAfter === null ? null : (bytesAfter - bytesBefore) / Math.max(1, after.accepted),
    };
  } finally {
    for (const child of [...publishers, sink]) await child.end();
  }
}

export function startLoad(running: Running, pace: Pace, load: LoadChoice, destination: string): Child {
  const { shape = (of, to) => of.shape(to), prepare: _, ...rest } = load;
  return startPublishers({
    apis: running.apis,
    shape: shape(running, destination),
    connections: pace.connections,
    rate: 0,
    ...rest,
  });
}

export function startPublishers(spec: LoadSpec): Child {
  const child = new Child([LOAD]);
  // Not as an argument: a batch is larger than one may be.
  child.process.stdin!.write(`${JSON.stringify(spec)}\n`);
  return child;
}

async function look(running: Running, publisher: Child, sink: Child) {
  await Promise.all([publisher.mark(), sink.mark()]);
  return {
    at: performance.now(),
    accepted: publisher.number('accepted'),
    refused: publisher.number('refused') + publisher.number('broken'),
    delivered: sink.number('count'),
    odd: sink.number('odd'),
    cpuMs: running.cpuMs,
    databaseCpuMs: running.databaseCpuMs,
    allocatedBytes: running.allocatedBytes,
  };
}

export function startSink(): Child {
  return new Child([SINK]);
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}

/** Each number of the results by itself. */
export function medianOf(results: readonly Result[]): Result {
  const of = (pick: (result: Result) => number) => median(results.map(pick));
  const percentiles = (pick: (result: Result) => Percentiles): Percentiles => ({
    count: of((result) => pick(result).count),
    p50: of((result) => pick(result).p50),
    p99: of((result) => pick(result).p99),
    p999: of((result) => pick(result).p999),
    max: of((result) => pick(result).max),
  });
  return {
    accepted: of(({ accepted }) => accepted),
    delivered: of(({ delivered }) => delivered),
    refused: of(({ refused }) => refused),
    answered: percentiles(({ answered }) => answered),
    received: percentiles(({ received }) => received),
    cpuUs: of(({ cpuUs }) => cpuUs),
    databaseCpuUs: of(({ databaseCpuUs }) => databaseCpuUs),
    cpuAcceptedUs: of(({ cpuAcceptedUs }) => cpuAcceptedUs),
    allocatedBytes: of(({ allocatedBytes }) => allocatedBytes),
    rssBytes: of(({ rssBytes }) => rssBytes),
    fileBytes: results.some(({ fileBytes }) => fileBytes === null) ? null : of(({ fileBytes }) => fileBytes ?? 0),
  };
}
