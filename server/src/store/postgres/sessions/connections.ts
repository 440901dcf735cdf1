// The connections of a node to one server, by their use. When the server is unavailable, all of them are closed
// together and replaced.

import pg from 'pg';
import { nodeMax } from '../../../rules/limits/budgets.ts';
import { destroyConnection } from '../../../runtime/node-internals/database-connection.ts';
import type { Clock } from '../../../runtime/world.ts';
import { TurnsOfAccounts } from '../../turns/turns-of-accounts.ts';
import { WRITER_NAME } from '../deliveries/journal.ts';
import {
  ADDER_SETTINGS,
  clientConfig,
  PROBE_SETTINGS,
  prepareSession,
  type Server,
  type Settings,
  STALL_MS_MAX,
  STALL_SETTING,
  WRITER_SETTINGS,
} from './connection.ts';

/** How many connections the accounts may use at once. The others of each kind are for the node's own work. */
export const ACCOUNT_CONNECTIONS = {
  lists: nodeMax('databaseLists'),
  lookUps: nodeMax('databaseLookUps'),
  areNeedsInTurn: true,
  changes: nodeMax('databaseChanges'),
};

export type Role = 'writers' | 'adders' | 'settlers' | 'readers' | 'heartbeat' | 'probe';

interface Use {
  readonly name: string;
  readonly max: number;
  readonly settings?: Settings;
}

const USES: Readonly<Record<Role, Use>> = {
  // Four more than for changes of accounts: for accepts into queues, settles, claims and upkeep.
  writers: { name: WRITER_NAME, max: ACCOUNT_CONNECTIONS.changes + 4, settings: WRITER_SETTINGS },
  // Each runs one statement at a time.
  adders: { name: WRITER_NAME, max: 1, settings: ADDER_SETTINGS },
  settlers: { name: WRITER_NAME, max: 1, settings: WRITER_SETTINGS },
  // Two more than for reads of accounts: for tokens, bodies of claimed messages, and upkeep.
  readers: { name: 'postrider reader', max: ACCOUNT_CONNECTIONS.lists + ACCOUNT_CONNECTIONS.lookUps + 2 },
  heartbeat: { name: 'postrider heartbeat', max: 1 },
  probe: { name: 'postrider probe', max: 1, settings: PROBE_SETTINGS },
};
const ROLES = Object.keys(USES) as Role[];

const IDLE_MS_MAX = 30_000;

export interface ConnectionsOptions {
  readonly server: Server;
  readonly timers: Clock;
  /** How long a new connection may take, at the moment. */
  readonly connectMs: () => number;
  /** See LinkOptions. A transaction may also be idle for this much longer before the server ends it. */
  readonly morePatienceMs: number;
  /** Called with the server process of each new connection. If it throws, the connection is closed. */
  readonly onSession: (pid: number) => void;
}

export class Connections {
  readonly server: Server;
  readonly #options: ConnectionsOptions;
  readonly #pools = new Map<Role, pg.Pool>();
  /**
   * Callers wait for their turns here, in front of the pools: a wait for a connection that is in use does not mean that
   * the database is slow.
   */
  readonly #turns = new Map<Role, TurnsOfAccounts>();
  /** All connections with their uses, so that hanging ones can be closed. */
  readonly #clients = new Map<pg.ClientBase, Use>();
  /** The server process of each connection: no two connections may have the same one. */
  readonly #pids = new Map<pg.ClientBase, number>();
  /**
   * The server processes, including those of lost connections. The process id that a pooler reports at connect is a
   * different one.
   */
  readonly #processes = new WeakMap<pg.ClientBase, number>();

  constructor(options: ConnectionsOptions) {
    this.server = options.server;
    this.#options = options;
    for (const role of ROLES) {
      this.#pools.set(role, this.#open(USES[role]));
      this.#turns.set(role, new TurnsOfAccounts(USES[role].max));
    }
  }

  /** Runs `work` when one of the connections of this role is free. */
  inTurn<T>(role: Role, work: () => Promise<T>): Promise<T> {
    return this.#turns.get(role)!.run('', work);
  }

  connect(role: Role): Promise<pg.PoolClient> {
    const pool = this.#pools.get(role)!;
    pool.options.connectionTimeoutMillis = this.#options.connectMs();
    return pool.connect();
  }

  /** The server process of a connection, even of a lost one. */
  processOf(client: pg.ClientBase): number | null {
    return this.#processes.get(client) ?? null;
  }

  has(pid: number): boolean {
    return [...this.#pids.values()].includes(pid);
  }

  /** Closes all connections. A caller that waits for its turn is refused when the connection it waits for is closed. */
  cutOff(): void {
    for (const client of [...this.#clients.keys()]) destroyConnection(client);
    this.#clients.clear();
    this.#pids.clear();
    for (const pool of this.#pools.values()) void pool.end().catch(() => {});
  }

  async end(): Promise<void> {
    // The probe is closed without waiting: it may hang for as long as a standby is unavailable.
    for (const [client, use] of this.#clients) if (use === USES.probe) destroyConnection(client);
    await Promise.allSettled([...this.#pools.values()].map((pool) => pool.end()));
  }

  #open(use: Use): pg.Pool {
    const { name, max } = use;
    const { server, timers, connectMs, morePatienceMs, onSession } = this.#options;
    const settings = new Map(use.settings);
    // Additional settings cost a connection another round trip.
    if (morePatienceMs > 0) settings.set(STALL_SETTING, String(STALL_MS_MAX + morePatienceMs));
    // The driver awaits this hook, although its type does not say so. If it rejects, the connection is closed.
    const onConnect = async (client: pg.ClientBase): Promise<void> => {
      // A connection that breaks while in use, between two statements, reports it only here, and an 'error' event
      // without a listener would end the process. The next statement fails.
      client.on('error', () => {});
      this.#clients.set(client, use);
      client.on('end', () => this.#forget(client));
      const { pid } = await prepareSession(client, { server, name, settings, timers, msMax: connectMs() });
      onSession(pid);
      this.#processes.set(client, pid);
      this.#pids.set(client, pid);
    };
    const pool = new pg.Pool({
      ...clientConfig(server, name, connectMs()),
      max,
      idleTimeoutMillis: IDLE_MS_MAX,
      onConnect,
    });
    pool.on('remove', (client) => this.#forget(client));
    // For an idle connection: the pool has dropped it, and the next caller gets another one.
    pool.on('error', () => {});
    return pool;
  }

  #forget(client: pg.ClientBase): void {
    this.#clients.delete(client);
    this.#pids.delete(client);
  }
}
