// The connection on which a node receives notifications of other nodes, and sends its own. The link (link.ts) also uses
// it to check periodically whether the database responds.

import pg from 'pg';
import { destroyConnection, pingServer } from '../../../runtime/node-internals/database-connection.ts';
import type { Clock } from '../../../runtime/world.ts';
import { clientConfig, prepareSession, type Server, type Session, within } from './connection.ts';
import { backendPid, requireOwnSessions } from './own-session.ts';

const NAME = 'postrider listener';
/** One ping in this many also checks whether the session is still ours. The others only wait for a reply. */
const PINGS_BETWEEN_CHECKS = 10;

export interface ListenerOptions {
  readonly server: Server;
  readonly timers: Clock;
  readonly channel: string;
  /** The time limit for a new connection, and for each query at its start. */
  readonly connectMs: number;
  readonly onNotification: (payload: string) => void;
  readonly onLost: (listener: Listener) => void;
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #client: pg.Client;
  #session: Session = { pid: 0, store: null };
  #pings = 0;
  /** The last query: queries run one after another. */
  #asked: Promise<unknown> = Promise.resolve();
  /** The payloads to send with the next query; null while there are none. */
  #toTell: Set<string> | null = null;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#client = new pg.Client(clientConfig(options.server, NAME, options.connectMs));
    // Set before the client connects: an 'error' event without a listener would end the process.
    this.#client.on('error', () => options.onLost(this));
    this.#client.on('end', () => options.onLost(this));
    this.#client.on('notification', ({ payload }) => options.onNotification(payload ?? ''));
  }

  get session(): Session {
    return this.#session;
  }

  async connect(): Promise<void> {
    const { server, timers, connectMs } = this.#options;
    await this.#client.connect();
    this.#session = await prepareSession(this.#client, { server, name: NAME, timers, msMax: connectMs });
  }

  /** Starts to receive notifications. Rejects unless this connection and `other` each have their own session. */
  async listen(other: pg.ClientBase): Promise<void> {
    const { timers, channel, connectMs } = this.#options;
    await requireOwnSessions(this.#client, other, timers, connectMs);
    await within(this.#client.query(`LISTEN ${pg.escapeIdentifier(channel)}`), connectMs, timers);
  }

  /** Resolves when the database has replied, to false if this ping found that the session is not ours any more. */
  ping(): Promise<boolean> {
    this.#pings += 1;
    if (this.#pings % PINGS_BETWEEN_CHECKS !== 0) return this.#ask(() => pingServer(this.#client)).then(() => true);
    // If the mode of a pooler was changed, it may have lent our session to another client.
    return this.#ask(() => backendPid(this.#client)).then((pid) => pid === this.#session.pid);
  }

  /** Notifications during a query are sent together after it: a distant database allows few round trips a second. */
  notify(payload: string): void {
    if (this.#toTell) return void this.#toTell.add(payload);
    this.#toTell = new Set([payload]);
    this.#ask(() => {
      const payloads = [...this.#toTell!];
      this.#toTell = null;
      return this.#client.query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
        this.#options.channel,
        payloads,
      ]);
    }).catch(() => {});
  }

  destroy(): void {
    destroyConnection(this.#client);
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  #ask<T>(work: () => Promise<T>): Promise<T> {
    const asked = this.#asked.then(work);
    this.#asked = asked.catch(() => {});
    return asked;
  }
}
