// The lanes of a node: further threads that listen on the same port, deliver over their own connections and write
// through the one writer. To the store each lane is a node. A lane that ends is replaced.

import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { laneShare } from '../rules/limits/lanes.ts';
import type { KeeperState } from '../rules/time/clock.ts';
import type { Clock } from '../runtime/world.ts';
import { startThread } from '../shipped-files.ts';
import { addCounters, type MetricValues } from '../telemetry/metrics.ts';
import type { Config } from './settings/config.ts';
import { ThreadRequests } from './thread-requests.ts';

/** How a node, or a lane, ended. */
export interface EndReport {
  /** Attempts that ended or were cut off, but whose end could not be written to the store. */
  readonly left: number;
  readonly isStoreClosed: boolean;
  /** Lanes that ended before their attempts did. */
  readonly lanesLost: number;
}

/** The current statistics of one lane. */
export interface LaneStats {
  readonly attemptsInFlight: number;
  readonly metrics: MetricValues;
}

/** What a lane is started with. The store knows the lane as `node`; people see the process as `shownAs`. */
export interface LaneData {
  /** The settings of the node as a whole. */
  readonly config: Config;
  readonly lane: number;
  readonly lanes: number;
  readonly node: string;
  readonly shownAs: { readonly id: string; readonly startedAt: number };
  readonly address: { readonly host: string; readonly port: number };
  readonly channel: string;
  /** The shared memory of upkeep/shared-time.ts: the latest time that any lane has used. */
  readonly time: SharedArrayBuffer;
  /** What the first lane knows about the clocks: the lane continues with the same time. Null for a manual clock. */
  readonly clock: KeeperState | null;
  /** The shared memory of upkeep/files.ts: whether files of the store are gone. */
  readonly filesGone: SharedArrayBuffer;
  /** The shared memory of runtime/collections/lane-pools.ts: what each lane holds of the shared pools. */
  readonly poolMemory: SharedArrayBuffer;
  readonly writer: MessagePort;
  /** Another port to the writer, for long commands of accounts. */
  readonly longWriter: MessagePort;
  readonly readers: { readonly lookUp: MessagePort; readonly list: MessagePort };
}

export type ToLane =
  | { readonly kind: 'close' }
  | { readonly kind: 'askFacts'; readonly id: number }
  | { readonly kind: 'allLaneStats'; readonly id: number; readonly all: readonly LaneStats[] };

export type FromLane =
  | { readonly kind: 'ready' }
  | { readonly kind: 'cannotStart'; readonly problem: string }
  | { readonly kind: 'closed'; readonly ended: EndReport }
  | { readonly kind: 'facts'; readonly id: number; readonly facts: LaneStats }
  | { readonly kind: 'askAllFacts'; readonly id: number };

export interface LanesOptions {
  /** The settings of the node as a whole. */
  readonly config: Config;
  readonly count: number;
  readonly address: LaneData['address'];
  readonly shownAs: LaneData['shownAs'];
  /** The name of the channel between the lanes. */
  readonly channel: string;
  readonly time: LaneData['time'];
  readonly clock: () => LaneData['clock'];
  readonly filesGone: LaneData['filesGone'];
  readonly poolMemory: LaneData['poolMemory'];
  readonly timers: Clock;
  readonly newNode: () => string;
  /** Makes new ports to the threads of the store. */
  readonly connect: () => Pick<LaneData, 'writer' | 'longWriter' | 'readers'>;
  /** Records that a lane has ended, so that its claims can be recovered at once. */
  readonly noteDead: (node: string) => Promise<void>;
  readonly ownFacts: () => LaneStats;
  readonly log: (level: 'info' | 'error', fields: Readonly<Record<string, unknown>>, text: string) => void;
}

/** How often `start` checks whether the lanes may start. */
const ASK_EVERY_MS = 100;
/** The pause before a lane is replaced. It doubles with each replacement, until a new lane is ready. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;
/** How long a lane may take to close, beyond the time to drain. */
const CLOSING_MS_MAX = 10_000;
/** How long to wait for the statistics of a lane. After this, its last statistics are used. */
const FACTS_MS_MAX = 1000;

interface Running {
  readonly worker: Worker;
  readonly closed: Promise<EndReport>;
  isReady: boolean;
  /** The last statistics that the lane has sent. Null before the first. */
  facts: LaneStats | null;
}

/** The settings of one lane, with its part of every limit on attempts. */
export function laneConfig(config: Config, lanes: number, lane: number): Config {
  const { concurrency, hostConcurrency, accountConcurrency } = config;
  const share = (whole: number) => laneShare(whole, lanes, lane);
  return {
    ...config,
    concurrency: share(concurrency),
    hostConcurrency: share(hostConcurrency),
    accountConcurrency: accountConcurrency === null ? null : share(accountConcurrency),
  };
}

export class Lanes {
  readonly #options: LanesOptions;
  /** The running lanes by number. The lane of the main thread, number 0, is not among them. */
  readonly #running = new Map<number, Running>();
  readonly #requests: ThreadRequests<LaneStats>;
  /** The counters of all lanes that have ended, added up, as last known: a sum of counters must not fall. */
  #ended: MetricValues = new Map();
  #pauseMs = PAUSE_MS;
  #isClosing = false;

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#requests = new ThreadRequests(options.timers, FACTS_MS_MAX);
  }

  /** How many lanes listen, including the lane of the main thread. */
  get listening(): number {
    return 1 + [...this.#running.values()].filter(({ isReady }) => isReady).length;
  }

  /**
   * Starts the lanes as soon as `mayStart` returns true. After a crash the main thread delivers alone at first, a few
   * messages at a time: a message that crashes the process is found only while nothing else is in flight.
   */
  start(mayStart: () => boolean): void {
    const { count, timers } = this.#options;
    if (this.#isClosing) return;
    if (!mayStart()) timers.after(ASK_EVERY_MS, () => this.start(mayStart));
    else for (let lane = 1; lane < count; lane += 1) this.#startLane(lane);
  }

  /** The statistics of all lanes: the main thread's, then the sum of the ended lanes, then each running lane's. */
  async facts(): Promise<readonly LaneStats[]> {
    const asked = [...this.#running.values()].map(async (running) => {
      const ask = (id: number) => running.worker.postMessage({ kind: 'askFacts', id } satisfies ToLane);
      running.facts = (await this.#requests.ask(ask)) ?? running.facts;
    });
    await Promise.all(asked);
    // A lane that has ended meanwhile is counted in `#ended`.
    const others = [...this.#running.values()].flatMap(({ facts }) => facts ?? []);
    return [this.#options.ownFacts(), { attemptsInFlight: 0, metrics: this.#ended }, ...others];
  }

  /** Drains all lanes and returns how each ended. */
  async close(): Promise<readonly EndReport[]> {
    this.#isClosing = true;
    const { timers, config } = this.#options;
    const running = [...this.#running.values()];
    const closing = running.map(async ({ worker, closed }) => {
      const cancel = timers.after(config.drainMs + CLOSING_MS_MAX, () => void worker.terminate());
      worker.postMessage({ kind: 'close' } satisfies ToLane);
      const ended = await closed;
      cancel();
      await worker.terminate();
      return ended;
    });
    return Promise.all(closing);
  }

  #startLane(lane: number): void {
    const { config, count, address, shownAs, channel, time, filesGone, poolMemory, clock, newNode, connect } =
      this.#options;
    const node = newNode();
    const ports = connect();
    const data: LaneData = {
      config: { ...config },
      lane,
      lanes: count,
      node,
      shownAs,
      address,
      channel,
      time,
      clock: clock(),
      filesGone,
      poolMemory,
      ...ports,
    };
    const worker = startThread('node/lane', {
      workerData: data,
      transferList: [ports.writer, ports.longWriter, ports.readers.lookUp, ports.readers.list],
      name: `lane-${lane}`,
    });
    const closed = Promise.withResolvers<EndReport>();
    const running: Running = { worker, closed: closed.promise, isReady: false, facts: null };
    this.#running.set(lane, running);
    worker.on('message', (message: FromLane) => {
      if (message.kind === 'ready') {
        running.isReady = true;
        this.#pauseMs = PAUSE_MS;
        this.#options.log('info', { lane }, 'a lane listens');
      } else if (message.kind === 'cannotStart') {
        this.#options.log('error', { err: new Error(message.problem), lane }, 'a lane cannot start');
        void worker.terminate();
      } else if (message.kind === 'closed') closed.resolve(message.ended);
      else if (message.kind === 'facts') this.#requests.answer(message.id, message.facts);
      else void this.#sendFacts(worker, message.id);
    });
    worker.on('error', (error) => {
      this.#options.log('error', { err: error, lane }, 'an error has ended a lane');
    });
    worker.on('exit', () => {
      // A lane that was cut off may have attempts whose end is unknown. A lane that was not ready has none.
      closed.resolve({ left: 0, isStoreClosed: true, lanesLost: running.isReady ? 1 : 0 });
      if (running.facts) this.#ended = addCounters(this.#ended, running.facts.metrics);
      if (!this.#isClosing) this.#replace(lane, node);
    });
  }

  async #sendFacts(worker: Worker, id: number): Promise<void> {
    const all = await this.facts();
    worker.postMessage({ kind: 'allLaneStats', id, all } satisfies ToLane);
  }

  #replace(lane: number, node: string): void {
    const { timers, log, noteDead } = this.#options;
    log('error', { lane }, 'a lane ended; another one is started');
    this.#running.delete(lane);
    // If this fails, the lane counts as dead when its last heartbeat is old enough.
    noteDead(node).catch(() => {});
    timers.after(this.#pauseMs, () => {
      if (!this.#isClosing) this.#startLane(lane);
    });
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX);
  }
}

/** A pair of ports: one to serve here, one to give to a lane. */
export function portPair(): { readonly here: MessagePort; readonly there: MessagePort } {
  const { port1, port2 } = new MessageChannel();
  return { here: port1, there: port2 };
}
