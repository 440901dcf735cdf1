// Runs test files, each in a process of its own, several at once: at least as many as keep the processors busy when all of
// them work, and more while processors are idle, because tests often wait. Each file runs with an environment of its own.

import { availableParallelism, cpus } from 'node:os';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { GROUP } from './support/summary-line.ts';

/** Some wait while others work. */
const AT_ONCE = Math.min(12, 2 * availableParallelism() + 1);
const AT_ONCE_MAX = Math.min(16, 5 * availableParallelism());
/** An idle machine with less memory than this gets no more files. */
const MEMORY_BYTES_MIN = 3 * 1024 ** 3;
/** The share of the processors' time that must be unused before one more file starts. */
const IDLE_MIN = 0.3;
const LOOK_MS = 1000;
/** Of a test, and of a process with its files: a test that never ends is cut off and named, so that the others are still counted. */
const TEST_MS_MAX = 600_000;
const PROCESS_MS_MAX = 1_200_000;

export interface Job {
  /** Relative to `cwd`. Several run in one process. */
  readonly files: readonly string[];
  readonly title: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface PoolOptions {
  readonly cwd: string;
  /** Loaded before each file. */
  readonly preload: string;
  readonly signal: AbortSignal;
  /** One at a time, beside nothing else. */
  readonly isAlone?: boolean;
  /** A process that runs longer has failed. */
  readonly processMsMax?: number;
  /** What a file reports: at its end, unless there is no other, so that the lines of two are never mixed. */
  readonly onEvent: (job: Job, event: TestEvent) => void;
}

/** Starts them in the given order. Returns whether all passed. */
export async function runFiles(jobs: readonly Job[], options: PoolOptions): Promise<boolean> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  const idle = new IdleTime();
  let isGood = true;
  const start = (job: Job) => {
    const ended = runFile(job, jobs.length === 1, options).then((isFileGood) => {
      isGood &&= isFileGood;
      running.delete(ended);
    });
    running.add(ended);
  };
  const always = options.isAlone ? 1 : AT_ONCE;
  const max = options.isAlone ? 1 : AT_ONCE_MAX;
  const look = setInterval(() => {
    const isIdle = (idle.share() ?? 0) >= IDLE_MIN && process.availableMemory() >= MEMORY_BYTES_MIN;
    if (isIdle && running.size < max && waiting.length > 0) start(waiting.shift()!);
  }, LOOK_MS);
  try {
    while ((waiting.length > 0 || running.size > 0) && !options.signal.aborted) {
      while (waiting.length > 0 && running.size < always) start(waiting.shift()!);
      await Promise.race(running);
    }
    await Promise.all(running);
  } finally {
    clearInterval(look);
  }
  return isGood && waiting.length === 0;
}

async function runFile(job: Job, isOnly: boolean, options: PoolOptions): Promise<boolean> {
  const { cwd, preload, signal, onEvent, processMsMax = PROCESS_MS_MAX } = options;
  const isGroup = job.files.length > 1;
  const stream = run({
    files: isGroup ? [GROUP] : [...job.files],
    cwd,
    env: isGroup ? { ...job.env, POSTRIDER_TEST_GROUP: JSON.stringify(job.files) } : job.env,
    execArgv: ['--import', preload, `--test-timeout=${TEST_MS_MAX}`],
    concurrency: 1,
    signal: AbortSignal.any([signal, AbortSignal.timeout(processMsMax)]),
  });
  const events: TestEvent[] = [];
  let isGood = false;
  for await (const event of stream as AsyncIterable<TestEvent>) {
    const isOfFile = (event.data as { file?: string } | undefined)?.file !== undefined;
    if (isOfFile && isOnly) onEvent(job, event);
    else if (isOfFile) events.push(event);
    // Of the runner, after those of the file.
    else if (event.type === 'test:summary') isGood = event.data.success;
  }
  for (const event of events) onEvent(job, event);
  return isGood;
}

/** How much of the processors' time nobody used since it was last asked. */
export class IdleTime {
  /** In a container with a share of the processors, the machine's idle time is not ours. */
  readonly #isKnown = cpus().length === availableParallelism();
  #before = readTimes();

  share(): number | null {
    if (!this.#isKnown) return null;
    const now = readTimes();
    const [idle, all] = [now.idle - this.#before.idle, now.all - this.#before.all];
    this.#before = now;
    return all > 0 ? idle / all : 0;
  }
}

function readTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((each) => each.times);
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    all: times.reduce((sum, { user, nice, sys, irq, idle }) => sum + user + nice + sys + irq + idle, 0),
  };
}
