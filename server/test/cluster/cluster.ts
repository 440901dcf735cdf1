// Three real nodes over one real PostgreSQL, each with a network of its own to it, under the load of the crash tests.

import { globSync } from 'node:fs';
import type { Target } from '../crash/publishers.ts';
import { ServerProcess } from '../crash/server-process.ts';
import { stopInGoodOrder, Trial, until } from '../crash/trial.ts';
import { PostgresServer } from '../postgres/server.ts';
import { freePort } from '../support/free-port.ts';
import { type NodeClaim, StoreTables } from './store-tables.ts';
import { TcpProxy } from './tcp-proxy.ts';

const NAMES = ['A', 'B', 'C'];
/** A client gives up on a node that stands still, and goes on with another. */
const ANSWER_MS_MAX = 3000;
/** Slow receivers: whatever happens to a node, it has something in flight. */
const DELIVERY_MS_MAX = 150;

const OPTIONS = { answerMsMax: ANSWER_MS_MAX, mayComeLate: true, deliveryMsMax: DELIVERY_MS_MAX, isPaced: true };

/**
 * Short, so that a drain whose database is away is over within a run. It is also the time for requests that are being
 * answered, and attempts have what is left of it: with 3 s, a busy machine cut some off.
 */
export const DRAIN_MS = 8000;

const [fakeTime] = globSync('/usr/lib/**/faketime/libfaketimeMT.so.1');
/** For the process of a node whose wall clock is ahead; null where the machine has not what it takes to show it so. */
export const AHEAD: Readonly<Record<string, string>> | null =
  fakeTime === undefined ? null : { LD_PRELOAD: fakeTime, FAKETIME: '+1.5', FAKETIME_DONT_FAKE_MONOTONIC: '1' };

export interface Takeover {
  readonly fault: string;
  readonly claims: number;
  readonly ms: number;
  /** Of these, while there was no node that nothing was done to: nobody was there to take over. */
  readonly nobodyMs: number;
  /** The last of them, as it stood when it was last seen untouched. */
  readonly last: string;
}

/** A place in the cluster: the process in it changes, its network stays. */
export class ClusterNode {
  readonly name: string;
  readonly proxy: TcpProxy;
  /** A fault is at work on it: no other one chooses it meanwhile. */
  isBusy = false;
  /** It is gone, stands still or has no database. */
  isAtFault = false;
  /** Null while there is no process that could be asked. */
  target: Target | null = null;
  #server: ServerProcess | null = null;
  #id = '';
  readonly #env: Readonly<Record<string, string>>;

  constructor(name: string, proxy: TcpProxy, env: Readonly<Record<string, string>>) {
    this.name = name;
    this.proxy = proxy;
    this.#env = env;
  }

  get server(): ServerProcess {
    return this.#server!;
  }

  /** As the store knows its present process. */
  get id(): string {
    return this.#id;
  }

  /** A new process; until it is ready and the store has heard of it. */
  async boot(database: URL, port: number, trial: Trial, tables: StoreTables): Promise<void> {
    const url = new URL(database);
    url.port = String(this.proxy.port);
    const flags = ['--store', url.href, '--port', String(port), '--drain', `${DRAIN_MS}ms`];
    this.#server = new ServerProcess(flags, this.#env);
    this.target = await trial.targetOf(this.#server);
    this.#id = await tables.nodeAt(`127.0.0.1:${port}`);
    this.isAtFault = false;
  }
}

export class Cluster {
  readonly trial: Trial;
  readonly postgres: PostgresServer;
  readonly tables: StoreTables;
  readonly nodes: readonly ClusterNode[];
  readonly takeovers: Takeover[] = [];
  /** Of nodes that ended without being told to. */
  readonly deaths: string[] = [];
  /** What the nodes said about errors. */
  readonly logs: string[] = [];
  /** Something is on its way to the database that must find it there: it is not restarted meanwhile. */
  isHolding = false;
  readonly #database: URL;
  readonly #watches: Promise<void>[] = [];

  private constructor(trial: Trial, postgres: PostgresServer, database: URL, nodes: readonly ClusterNode[]) {
    this.trial = trial;
    this.postgres = postgres;
    this.nodes = nodes;
    this.tables = new StoreTables(database.href);
    this.#database = database;
  }

  /** Runs `work` and clears up behind it, however it ends. `isSkewed`: the clock of the last node is ahead. */
  static async run<T>(
    { seed, isSkewed, restMs }: { readonly seed: number; readonly isSkewed: boolean; readonly restMs: number },
    work: (cluster: Cluster) => Promise<T>,
  ): Promise<T> {
    const postgres = await PostgresServer.start();
    const proxies = await Promise.all(NAMES.map(() => TcpProxy.start(postgres.port)));
    try {
      const database = new URL(postgres.url(await postgres.createEmptyDatabase()));
      const inTrial = async (trial: Trial) => {
        const envOf = (index: number) => (isSkewed && index === NAMES.length - 1 ? (AHEAD ?? {}) : {});
        const nodes = NAMES.map((name, index) => new ClusterNode(name, proxies[index]!, envOf(index)));
        const cluster = new Cluster(trial, postgres, database, nodes);
        for (const node of nodes) await cluster.boot(node);
        return work(cluster);
      };
      return await Trial.run(seed, () => 0, inTrial, { ...OPTIONS, restMs });
    } finally {
      for (const proxy of proxies) await proxy.close();
      await postgres.stop();
    }
  }

  get freeNodes(): ClusterNode[] {
    return this.nodes.filter(({ isBusy }) => !isBusy);
  }

  async boot(node: ClusterNode): Promise<void> {
    const booted = node.boot(this.#database, await freePort(), this.trial, this.tables);
    const { server } = node;
    void server.exited.then(({ code, signal }) => {
      if (server.stderr !== '') this.logs.push(`${node.name}: ${server.stderr}`);
      if (!server.isToldToEnd) this.deaths.push(`${node.name} ended by itself (${signal ?? code}): ${server.stderr}`);
    });
    await booted;
    this.aim();
  }

  /** Clients know the nodes that are there, and find out by themselves which of them answer. */
  aim(): void {
    this.trial.publishers.aim(this.nodes.flatMap(({ target }) => target ?? []));
  }

  /** Notes how long it takes from `sinceMs` until none of these claims stands as it did. */
  watchTakeover(fault: string, claims: readonly NodeClaim[], sinceMs: number): Promise<void> {
    if (claims.length === 0) return Promise.resolve();
    const watch = async () => {
      let [nobodyMs, lookedMs, last] = [0, performance.now(), ''];
      await until(
        async () => {
          const left = await this.tables.untouched(claims);
          const nowMs = performance.now();
          if (this.nodes.every(({ isAtFault }) => isAtFault)) nobodyMs += nowMs - lookedMs;
          lookedMs = nowMs;
          last = left[0] ?? last;
          return left.length === 0;
        },
        () => `${fault}: not all of its ${claims.length} claims were taken over`,
      );
      this.takeovers.push({ fault, claims: claims.length, ms: performance.now() - sinceMs, nobodyMs, last });
    };
    const watching = watch();
    watching.catch(() => {}); // told by `finish`, unless the run has failed before
    this.#watches.push(watching);
    return watching;
  }

  /** No more faults: until every message has ended and all nodes have stopped in good order. */
  async finish(): Promise<void> {
    await Promise.all(this.#watches);
    await this.trial.allEnded(() => this.tables.countOpen());
    for (const { server } of this.nodes) await stopInGoodOrder(server);
  }
}
