// For tests: starts a real service with a clock that is stopped until the test moves it. Needs the package `postrider`
// beside this one, and a runtime that can start a process: Node.js, Bun or Deno.
/// <reference lib="esnext.disposable" preserve="true" />

import { Postrider } from './postrider.ts';
import type { ServiceClock } from './shapes.ts';
import { type StartedService, startInside, startProcess } from './testing-process.ts';

export type { ServiceClock } from './shapes.ts';

export interface StartOptions {
  /** The prefix of all headers of the service. Default: `Service-`. */
  readonly headerPrefix?: string;
  /** More flags of `postrider dev`, such as `['--deduplication-window', '1h']`. */
  readonly flags?: readonly string[];
  /**
   * Runs the service in the process of the test, where a debugger can follow a message through it. The service then
   * uses the timers of that process, even those that a test has replaced, and keeps the process alive until it is
   * closed. This needs Node.js 24 or newer. Default: false, which starts a process of its own.
   */
  readonly inProcess?: boolean;
  /** The command that starts a service, with arguments. Default: the package `postrider`, else that on the PATH. */
  readonly command?: readonly [string, ...string[]];
  /** How long the service may take to start, in milliseconds. Default: a minute. */
  readonly startMs?: number;
}

export interface AdvanceOptions {
  /** How long to wait for one attempt, in real time: `'30s'`, or seconds. Default: 10 seconds. */
  readonly wait?: string | number;
  /** If true, an advance also returns when attempts are unfinished after `wait`. Otherwise it throws an error. */
  readonly allowUnderWay?: boolean;
}

/** The clock of the service. It stands still until the test moves it. */
export interface TestClock {
  /** The time of the service in milliseconds since 1970. */
  now(): Promise<number>;
  /**
   * Moves the time by a duration such as `'1h'`, or by seconds. Each message that becomes due on the way is attempted
   * when the clock shows its time. The promise resolves when the results of all attempts are stored. `advance(0)` waits
   * for messages that are due already.
   */
  advance(span: string | number, options?: AdvanceOptions): Promise<ServiceClock>;
  /** Moves the time to an instant: a Date, an ISO text with its time zone, or milliseconds since 1970. */
  advanceTo(instant: Date | string | number, options?: AdvanceOptions): Promise<ServiceClock>;
  /** Lets the time run, at the speed of real time. */
  run(): Promise<ServiceClock>;
  /** Stops the time. */
  freeze(): Promise<ServiceClock>;
}

export interface TestService extends AsyncDisposable {
  /** The address of the service, for example `http://127.0.0.1:35245`. */
  readonly url: string;
  /** The token for every call: `Authorization: Bearer …`. */
  readonly token: string;
  readonly client: Postrider;
  readonly clock: TestClock;
  /** Stops the service and removes its data. A second call does nothing. */
  close(): Promise<void>;
}

/** Thrown by an advance when a receiver has not responded within `wait`. */
export class StillUnderWayError extends Error {
  override readonly name = 'StillUnderWayError';
  readonly clock: ServiceClock;

  constructor(clock: ServiceClock) {
    const { underWay, underWayCount } = clock;
    const first = underWay.slice(0, 3).map(({ messageId, url }) => `${messageId} to ${url}`);
    const more = underWayCount > first.length ? `, and ${underWayCount - first.length} more` : '';
    super(
      `the clock has moved, but receivers have not responded yet: ${first.join(', ')}${more}. ` +
        'Give them longer with { wait }, or continue without them with { allowUnderWay: true }',
    );
    this.clock = clock;
  }
}

/**
 * Starts a service on a free port, with its data in a temporary folder. The service runs in its own process or in this
 * one.
 */
export async function startPostrider(options: StartOptions = {}): Promise<TestService> {
  const { headerPrefix, flags = [], command = null, startMs = 60_000, inProcess = false } = options;
  if (inProcess && command !== null)
    throw new TypeError('give inProcess or command, not both: a command runs as a process of its own');
  const prefix = headerPrefix === undefined ? [] : ['--header-prefix', headerPrefix];
  const all = [...prefix, ...flags];
  const started = await (inProcess ? startInside(all) : startProcess(command, all, startMs));
  const { url, token } = started;
  const client = new Postrider({
    baseUrl: url,
    token,
    fetch: ownFetch,
    ...(headerPrefix !== undefined && { headerPrefix }),
  });
  const close = () => started.close();
  return { url, token, client, clock: clockOf(started), close, [Symbol.asyncDispose]: close };
}

/** The original `fetch`, because a test may replace the global one by a mock. */
const ownFetch = globalThis.fetch;

function clockOf(started: StartedService): TestClock {
  async function ask(order?: object): Promise<ServiceClock> {
    const response = await ownFetch(`${started.url}/v2/dev/clock`, {
      method: order ? 'POST' : 'GET',
      headers: { Authorization: `Bearer ${started.token}` },
      ...(order && { body: JSON.stringify(order) }),
    }).catch((error: unknown) => {
      throw new Error(started.whyGone() ?? 'the service does not respond', { cause: error });
    });
    const answer = (await response.json()) as ServiceClock & { readonly error?: string };
    if (!response.ok) throw new Error(`the clock cannot be moved: ${answer.error}`);
    return answer;
  }

  async function advance(order: object, { wait, allowUnderWay = false }: AdvanceOptions): Promise<ServiceClock> {
    const clock = await ask({ ...order, ...(wait !== undefined && { wait }) });
    if (clock.underWayCount > 0 && !allowUnderWay) throw new StillUnderWayError(clock);
    return clock;
  }

  return {
    now: async () => (await ask()).now,
    advance: (span, options = {}) => advance({ advance: span }, options),
    advanceTo: (instant, options = {}) =>
      advance({ advanceTo: instant instanceof Date ? instant.getTime() : instant }, options),
    run: () => ask({ run: true }),
    freeze: () => ask({ freeze: true }),
  };
}
