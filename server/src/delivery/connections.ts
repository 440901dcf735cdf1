// The open connections, by origin. Each is lent to one attempt at a time and kept a few seconds for the next. It sends
// nothing itself. undici's own Agent is not used, because an attempt that is still connecting or queued there cannot be
// cancelled: a host that swallows packets would hold its slots far beyond every deadline.

import type { TargetUrl } from '../domain/destination.ts';
import { laneMax } from '../domain/lanes.ts';
import { TurnoverSet } from '../domain/turnover.ts';
import type { Clock } from '../world.ts';
import type { Dial, DialTarget } from './dial.ts';
import { type HttpClient, IDLE_MS_MAX } from './http-client.ts';
import { PlainClient } from './plain-client.ts';
import { UndiciClient } from './undici-client.ts';
import type { WireWindow } from './wire-window.ts';

/** So that a busy connection does not outlive a change of DNS for ever. */
const AGE_MS_MAX = 60_000;

const NOTHING_TO_TAKE_BACK = () => {};

type Target = DialTarget & Pick<TargetUrl, 'origin'>;

interface Origin {
  readonly key: string;
  readonly idle: Connection[];
  readonly waiting: Waiting[];
  openCount: number;
}

interface Waiting {
  readonly target: Target;
  readonly accountId: string;
  readonly taker: ConnectionTaker;
}

export interface ConnectionTaker {
  onConnection(connection: Connection): void;
}

export interface Connection {
  readonly client: HttpClient;
  readonly origin: Origin;
  readonly openedAtMs: number;
  /** While it is idle: when it must not be used any more. */
  idleUntilMs: number;
  /** The account of the attempt that uses it. Look-ups for the connection count for this account. */
  accountId: string;
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
  readonly #idle = new TurnoverSet<Connection>();
  #cancelLook: (() => void) | null = null;

  constructor(options: ConnectionsOptions) {
    this.#clock = options.clock;
    this.#dial = options.dial;
    this.#wire = options.wire;
    this.#hostConnectionsMax = options.hostConnectionsMax;
    this.#idleConnectionsMax = options.idleConnectionsMax ?? laneMax('idleConnections');
  }

  get openCount(): number {
    return this.#open.size;
  }

  get originCount(): number {
    return this.#origins.size;
  }

  /** Whether a connection is ready for use now. */
  hasIdle(target: Target): boolean {
    const idle = this.#origins.get(target.origin)?.idle.at(-1);
    return idle !== undefined && idle.idleUntilMs > this.#clock.monotonicMs();
  }

  /** Gives one at once, or when the host has a free one. Returns a function that cancels the wait. */
  acquire(target: Target, accountId: string, taker: ConnectionTaker): () => void {
    const key = target.origin;
    const origin = this.#origins.get(key) ?? { key, idle: [], waiting: [], openCount: 0 };
    const connection = this.#takeIdle(origin);
    if (connection !== null) {
      connection.accountId = accountId;
      taker.onConnection(connection);
      return NOTHING_TO_TAKE_BACK;
    }
    // It may have been removed with the last connection that was idle too long.
    this.#origins.set(key, origin);
    if (origin.openCount < this.#hostConnectionsMax) {
      taker.onConnection(this.#create(origin, target, accountId));
    } else {
      const waiting = { target, accountId, taker };
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
    const { origin, client } = connection;
    const nowMs = this.#clock.monotonicMs();
    if (!isReusable || client.reusableMs === 0 || nowMs - connection.openedAtMs > AGE_MS_MAX) {
      this.#discard(connection);
      return;
    }
    const next = origin.waiting.shift();
    if (next !== undefined) {
      connection.accountId = next.accountId;
      next.taker.onConnection(connection);
      return;
    }
    connection.idleUntilMs = nowMs + client.reusableMs;
    origin.idle.push(connection);
    this.#idle.add(connection);
    this.#cancelLook ??= this.#clock.after(IDLE_MS_MAX, () => this.#look());
    if (this.#idle.size > this.#idleConnectionsMax) {
      const [longestIdle] = this.#idle;
      this.#discard(longestIdle!);
    }
  }

  async close(): Promise<void> {
    this.#cancelLook?.();
    this.#cancelLook = null;
    for (const origin of this.#origins.values()) origin.waiting.length = 0;
    const closing = [...this.#open].map((connection) => this.#discard(connection));
    await Promise.all(closing);
  }

  /** One that is idle too long may just be closed by its receiver: what is written to it would be lost. */
  #takeIdle(origin: Origin): Connection | null {
    for (;;) {
      const connection = origin.idle.at(-1);
      if (connection === undefined) return null;
      if (connection.idleUntilMs <= this.#clock.monotonicMs()) {
        this.#discard(connection);
        continue;
      }
      origin.idle.pop();
      this.#idle.delete(connection);
      return connection;
    }
  }

  /** One timer for all of them: most are used again long before. */
  #look(): void {
    this.#cancelLook = null;
    const nowMs = this.#clock.monotonicMs();
    for (const connection of [...this.#idle]) if (connection.idleUntilMs <= nowMs) this.#discard(connection);
    if (this.#idle.size > 0) this.#cancelLook = this.#clock.after(IDLE_MS_MAX / 4, () => this.#look());
  }

  #create(origin: Origin, target: Target, accountId: string): Connection {
    const dialling = new AbortController();
    // A connection in use is left alone: its attempt hears of its end.
    const onLost = () => {
      if (this.#idle.has(connection)) this.#discard(connection);
    };
    const client =
      target.protocol === 'http:'
        ? new PlainClient(
            this.#wire,
            (onread) => this.#dial(target, connection.accountId, dialling.signal, onread),
            onLost,
          )
        : new UndiciClient(
            origin.key,
            this.#wire,
            () => this.#dial(target, connection.accountId, dialling.signal),
            onLost,
          );
    const openedAtMs = this.#clock.monotonicMs();
    const connection: Connection = { client, origin, openedAtMs, idleUntilMs: 0, accountId, dialling };
    origin.openCount += 1;
    this.#open.add(connection);
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
    if (next !== undefined) next.taker.onConnection(this.#create(origin, next.target, next.accountId));
    else if (origin.openCount === 0) this.#origins.delete(origin.key);
    return destroyed;
  }
}
