// What every test here is made of: publishers, their receiver, their servers, and the faults noted on the way.

import { setTimeout as wait } from 'node:timers/promises';
import type { Cancel, Fault, History, StoredMessage } from '../checker/history.ts';
import { createTopic, type PublisherOptions, Publishers, SERIAL_QUEUES, type Target } from './publishers.ts';
import { Receiver } from './receiver.ts';
import { endServers, ServerProcess } from './server-process.ts';
import { countOpen, type HeldClaim, readClaims } from './store-file.ts';

const ENDING_MS_MAX = 120_000;
const POLL_MS = 50;
/** What a process had sent and given up is read by its receiver by then. */
const LATE_MS_MAX = 1000;
/** A request that was on its way when a cancel was answered is seen by then. */
const ARRIVAL_MS_MAX = 1000;

/** From the environment when a run is to be repeated, else from the clock; the caller prints it. */
export function chooseSeed(): number {
  const given = process.env.CRASH_SEED;
  return given ? Number(given) : Date.now() % 1_000_000_000;
}

export class Trial {
  readonly receiver: Receiver;
  readonly publishers: Publishers;
  readonly faults: Fault[] = [];
  readonly cancels: Cancel[] = [];
  readonly #leases = new Set<string>();
  #token = '';

  private constructor(receiver: Receiver, publishers: Publishers) {
    this.receiver = receiver;
    this.publishers = publishers;
  }

  /** Runs `work` and clears up behind it, however it ends. `mark`: see `Marked`. */
  static async run<T>(
    seed: number,
    mark: () => number,
    work: (trial: Trial) => Promise<T>,
    options: PublisherOptions & { readonly deliveryMsMax?: number } = {},
  ): Promise<T> {
    const receiver = await Receiver.start(seed + 1, mark, options.deliveryMsMax);
    const trial = new Trial(receiver, new Publishers(receiver, seed + 2, mark, options));
    try {
      return await work(trial);
    } finally {
      await endServers();
      await trial.publishers.stop();
      await receiver.close();
    }
  }

  /** A server that is ready and has load. The first one must start on an empty directory. */
  async start(directory: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const server = new ServerProcess(['--data', directory], env);
    this.publishers.aim([await this.targetOf(server)]);
    return server;
  }

  /** Where to publish to a server, once it is ready. The first one must start on an empty store. */
  async targetOf(server: ServerProcess): Promise<Target> {
    const { api, token } = await server.ready;
    if (this.#token === '') {
      this.#token = token!;
      await createTopic({ api, token: token! }, this.receiver);
    }
    return { api, token: this.#token };
  }

  /** After the end of a server: until nothing of it is under way any more, neither here nor there. */
  async quiet(): Promise<void> {
    this.publishers.aim([]);
    await Promise.all([this.publishers.paused(), this.receiver.drained()]);
  }

  async published(count: number): Promise<void> {
    await until(
      () => this.publishers.log.length >= count,
      () => `${count} publishes have not been answered`,
    );
  }

  /** Notes a crash with the attempts that were under way, as the store of the dead server tells. */
  noteCrash(directory: string): HeldClaim[] {
    return this.noteFault('crash', readClaims(directory));
  }

  /**
   * Notes a fault with the claims that it cut off, and answers which of them are new. A claim that an earlier fault had
   * cut off and nobody has taken up since is still that one attempt.
   */
  noteFault<C extends HeldClaim>(kind: Exclude<Fault['kind'], 'clockJump'>, claims: readonly C[]): C[] {
    const cutOff = claims.filter(({ lease }) => !this.#leases.has(lease));
    for (const { lease } of cutOff) this.#leases.add(lease);
    this.faults.push({ kind, at: Date.now(), inFlight: cutOff.map(({ messageId }) => messageId) });
    return cutOff;
  }

  /** Publishes nothing more, waits until every message has ended, and stops the server in good order. */
  async finish(server: ServerProcess, directory: string): Promise<void> {
    await this.allEnded(async () => countOpen(directory));
    await stopInGoodOrder(server);
  }

  /** Publishes nothing more, and waits until every message has ended. */
  async allEnded(countOpen: () => Promise<number>): Promise<void> {
    await this.publishers.stop();
    let open = 0;
    await until(
      async () => {
        open = await countOpen();
        return open === 0;
      },
      () => `${open} messages have not ended`,
    );
  }

  history(stored: readonly StoredMessage[], logs?: Pick<History, 'publishes' | 'arrivals'>): History {
    return {
      publishes: logs?.publishes ?? this.publishers.log,
      arrivals: logs?.arrivals ?? this.receiver.arrivals,
      cancels: this.cancels,
      stored,
      faults: this.faults,
      serialQueues: SERIAL_QUEUES,
      arrivalMsMax: ARRIVAL_MS_MAX,
      lateMsMax: LATE_MS_MAX,
      released: [],
    };
  }
}

export async function stopInGoodOrder(server: ServerProcess): Promise<void> {
  const { code, signal } = await server.stop();
  if (code !== 0) throw new Error(`told to stop, the server left with ${signal ?? code}: ${server.stderr}`);
}

/** Looks again and again, and says what is `otherwise` when it gives up. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  otherwise: () => string,
  msMax = ENDING_MS_MAX,
): Promise<void> {
  const deadline = performance.now() + msMax;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`${otherwise()} after ${msMax} ms`);
    await wait(POLL_MS);
  }
}
