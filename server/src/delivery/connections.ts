// The open connections, by origin. Each is lent to one attempt at a time and kept a few seconds for the next. It sends
// nothing itself. undici's own Agent is not used, because an attempt that is still connecting or queued there cannot be
// cancelled: a host that swallows packets would hold its slots far beyond every deadline.

import type { Socket } from 'node:net';
import { Client } from 'undici';
import { eachMax, nodeMax } from '../domain/budgets.ts';
import type { Clock } from '../world.ts';
import { guardAnswer, type TakeBytes } from './answer-guard.ts';
import type { Dial, DialTarget } from './dial.ts';
import { guardFirstWrite } from './first-write.ts';
import type { WireWindow } from './wire-window.ts';

/** Less than the usual 5 s of servers, or we would write into connections they are just closing. */
const IDLE_MS_MAX = 4_000;

/** So that a busy connection does not outlive a change of DNS for ever. */
const AGE_MS_MAX = 60_000;

const NOTHING_TO_TAKE_BACK = () => {};

interface Origin {
  readonly key: string;
  readonly idle: Connection[];
  readonly waiting: Waiting[];
  openCount: number;
}

interface Waiting {
  readonly target: DialTarget;
  readonly accountId: string;
  readonly ready: (connection: Connection) => void;
}

export interface Connection {
  readonly client: Client;
  readonly origin: Origin;
  readonly openedAtMs: number;
  /** The account of the attempt that uses it. Look-ups for the connection count for this account. */
  accountId: string;
  /** Called for each request as it starts, with the source of memory for its answer. */
  requestStarts: (takeBytes: TakeBytes) => void;
  readonly dialling: AbortController;
}

export interface ConnectionsOptions {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly wire: WireWindow;
  readonly hostConnectionsMax: number;
  readonly idleConnectionsMax?: number;
}

export class Connections {
  readonly #clock: Clock;
  readonly #dial: Dial;
  readonly #wire: WireWindow;
  readonly #hostConnectionsMax: number;
  readonly #idleConnectionsMax: number;
  readonly #origins = new Map<string, Origin>();
  readonly #open = new Set<Connection>();
  /** All idle ones, longest idle first. */
  readonly #idle = new Set<Connection>();

  constructor(options: ConnectionsOptions) {
    this.#clock = options.clock;
    this.#dial = options.dial;
    this.#wire = options.wire;
    this.#hostConnectionsMax = options.hostConnectionsMax;
    this.#idleConnectionsMax = options.idleConnectionsMax ?? nodeMax('idleConnections');
  }

  get openCount(): number {
    return this.#open.size;
  }

  get originCount(): number {
    return this.#origins.size;
  }

  /** Whether a connection is ready for use now. */
  hasIdle(target: DialTarget): boolean {
    return (this.#origins.get(originOf(target))?.idle.length ?? 0) > 0;
  }

  /** Calls `ready` at once, or when the host has a free connection. Returns a function that cancels the wait. */
  acquire(target: DialTarget, accountId: string, ready: (connection: Connection) => void): () => void {
    const key = originOf(target);
    let origin = this.#origins.get(key);
    if (origin === undefined) {
      origin = { key, idle: [], waiting: [], openCount: 0 };
      this.#origins.set(key, origin);
    }
    const connection = origin.idle.pop();
    if (connection !== undefined) {
      this.#idle.delete(connection);
      connection.accountId = accountId;
      ready(connection);
    } else if (origin.openCount < this.#hostConnectionsMax) {
      ready(this.#create(origin, target, accountId));
    } else {
      const waiting = { target, accountId, ready };
      const line = origin.waiting;
      line.push(waiting);
      return () => {
        const at = line.indexOf(waiting);
        if (at !== -1) line.splice(at, 1);
      };
    }
    return NOTHING_TO_TAKE_BACK;
  }

  /** A connection can be reused only if its exchange ended properly. */
  release(connection: Connection, isReusable: boolean): void {
    const { origin } = connection;
    if (!isReusable || this.#clock.monotonicMs() - connection.openedAtMs > AGE_MS_MAX) {
      this.#discard(connection);
      return;
    }
    const next = origin.waiting.shift();
    if (next !== undefined) {
      connection.accountId = next.accountId;
      next.ready(connection);
      return;
    }
    origin.idle.push(connection);
    this.#idle.add(connection);
    if (this.#idle.size > this.#idleConnectionsMax) {
      const [longestIdle] = this.#idle;
      this.#discard(longestIdle!);
    }
  }

  async close(): Promise<void> {
    for (const origin of this.#origins.values()) origin.waiting.length = 0;
    const closing = [...this.#open].map((connection) => this.#discard(connection));
    await Promise.all(closing);
  }

  #create(origin: Origin, target: DialTarget, accountId: string): Connection {
    const dialling = new AbortController();
    const client = new Client(origin.key, {
      connect: (_options, done) => {
        this.#dial(target, connection.accountId, dialling.signal).then(
          (socket: Socket) => {
            const expectAnswer = guardAnswer(socket);
            const expectWrite = guardFirstWrite(socket, this.#wire);
            connection.requestStarts = (takeBytes) => {
              expectAnswer(takeBytes);
              expectWrite();
            };
            done(null, socket);
          },
          (error: Error) => done(error, null),
        );
      },
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MS_MAX,
      keepAliveMaxTimeout: IDLE_MS_MAX,
      maxHeaderSize: eachMax('answerHeadBytes'),
      // Both are idle timers. We use one deadline for the whole attempt instead.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const connection: Connection = {
      client,
      origin,
      openedAtMs: this.#clock.monotonicMs(),
      accountId,
      requestStarts: () => {},
      dialling,
    };
    origin.openCount += 1;
    this.#open.add(connection);
    // A connection in use is left alone: if the server closed it before the request went out, undici connects again.
    client.on('disconnect', () => {
      if (this.#idle.has(connection)) this.#discard(connection);
    });
    return connection;
  }

  #discard(connection: Connection): Promise<void> {
    const { origin } = connection;
    if (!this.#open.delete(connection)) return Promise.resolve();
    if (this.#idle.delete(connection)) origin.idle.splice(origin.idle.indexOf(connection), 1);
    origin.openCount -= 1;
    connection.dialling.abort();
    const destroyed = connection.client.destroy();

    const next = origin.waiting.shift();
    if (next !== undefined) next.ready(this.#create(origin, next.target, next.accountId));
    else if (origin.openCount === 0) this.#origins.delete(origin.key);
    return destroyed;
  }
}

function originOf({ protocol, hostname, port }: DialTarget): string {
  return `${protocol}//${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
}
