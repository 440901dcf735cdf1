// The open connections, by origin. A connection is lent to one attempt at a time, then rests for a few milliseconds,
// and is then kept for the next attempt for a few seconds. undici's own Agent is not used, because an attempt that is
// still connecting or queued in it cannot be cancelled: a host that swallows packets would hold its slots far beyond
// every deadline.

import type { TargetUrl } from '../../rules/publish/destination.ts';
import { TurnoverSet } from '../../runtime/collections/turnover.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import type { Clock } from '../../runtime/world.ts';
import type { Dial, DialTarget } from '../egress/dial.ts';
import type { WireWindow } from '../engine/wire-window.ts';
import { type HttpClient, IDLE_MS_MAX } from './http-client.ts';
import { OneShotOrigins } from './one-shot-origins.ts';
import { PlainClient } from './plain-client.ts';
import { UndiciClient } from './undici-client.ts';

/** How long a connection is used at most, so that a busy one does not outlive a change of DNS indefinitely. */
const AGE_MS_MAX = 60_000;

const NOTHING_TO_TAKE_BACK = () => {};

type Target = DialTarget & Pick<TargetUrl, 'origin'>;

interface Origin {
  readonly key: string;
  readonly idle: Connection[];
  readonly waiting: Waiting[];
  openCount: number;
  /** How many connections have ended their rest. They are free in the next turn, if no bytes have come on them. */
  restedCount: number;
}

interface Waiting {
  readonly target: Target;
  readonly accountId: string;
  readonly taker: ConnectionTaker;
}

export interface ConnectionTaker {
  onConnection(connection: Connection): void;
}

/** How an exchange ended: with a whole response, cut off by us, or by its connection before a response began. */
export type ExchangeEnd = 'whole' | 'cut' | 'lost';

/**
 * A connection rests after a response, because some receivers then close it without saying so, and some send a second
 * response without a request. This arrives shortly after the response. A request that is written before it is read is
 * lost, or gets the wrong response (docs/decisions/0033-connections-rest.md).
 */
type Stage = 'lent' | 'resting' | 'rested' | 'idle';

export interface Connection {
  readonly client: HttpClient;
  readonly origin: Origin;
  readonly openedAtMs: number;
  stage: Stage;
  /** How many responses were read to their end on the connection, and when the last one ended. */
  servedCount: number;
  servedAtMs: number;
  /** The connection must not be used after this time. */
  idleUntilMs: number;
  /** The account of the attempt that uses the connection. Look-ups for the connection count for this account. */
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
  /** All idle connections, longest idle first. */
  readonly #idle = new TurnoverSet<Connection>();
  readonly #oneShot = new OneShotOrigins();
  /** The connections that began to rest in this turn of the event loop. Null if there are none. */
  #resting: Connection[] | null = null;
  /** How many connections are idle or resting, and so not in use by an attempt. */
  #unusedCount = 0;
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

  /** Gives the taker a connection at once, or when the host has a free one. Returns a function that ends the wait. */
  acquire(target: Target, accountId: string, taker: ConnectionTaker): () => void {
    const key = target.origin;
    const origin = this.#origins.get(key) ?? { key, idle: [], waiting: [], openCount: 0, restedCount: 0 };
    const connection = this.#takeIdle(origin);
    if (connection !== null) {
      this.#lend(connection, accountId, taker);
      return NOTHING_TO_TAKE_BACK;
    }
    // The origin may have been removed with its last connection, which was idle too long.
    this.#origins.set(key, origin);
    const isOneComing = origin.restedCount > origin.waiting.length;
    if (origin.openCount < this.#hostConnectionsMax && !isOneComing) {
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

  /** Takes a connection back from its attempt. It can be reused only if its exchange ended with a whole response. */
  release(connection: Connection, end: ExchangeEnd): void {
    const { origin, client } = connection;
    const nowMs = this.#clock.monotonicMs();
    if (end === 'lost' || client.hasUnasked) this.#noteLoss(connection, 0);
    const isTooOld = nowMs - connection.openedAtMs > AGE_MS_MAX;
    if (end !== 'whole' || client.reusableMs === 0 || isTooOld || this.#oneShot.has(origin.key, nowMs)) {
      this.#discard(connection);
      return;
    }
    connection.servedCount += 1;
    connection.servedAtMs = nowMs;
    connection.idleUntilMs = nowMs + client.reusableMs;
    this.#rest(connection);
    if (this.#unusedCount > this.#idleConnectionsMax) {
      const [longestIdle = connection] = this.#idle;
      this.#discard(longestIdle);
    }
  }

  async close(): Promise<void> {
    this.#cancelLook?.();
    this.#cancelLook = null;
    for (const origin of this.#origins.values()) origin.waiting.length = 0;
    const closing = [...this.#open].map((connection) => this.#discard(connection));
    await Promise.all(closing);
  }

  /** Connections that rest in the same turn share one timer. */
  #rest(connection: Connection): void {
    connection.stage = 'resting';
    this.#unusedCount += 1;
    if (this.#resting !== null) {
      this.#resting.push(connection);
      return;
    }
    const resting = [connection];
    this.#resting = resting;
    this.#clock.soon(() => {
      this.#resting = null;
    });
    this.#clock.shortly(() => this.#endRest(resting));
  }

  /**
   * Timers fire before sockets are read, so the connections are used only in the next turn: what has arrived is read
   * first.
   */
  #endRest(resting: readonly Connection[]): void {
    for (const connection of resting) {
      if (!this.#open.has(connection)) continue;
      connection.stage = 'rested';
      connection.origin.restedCount += 1;
    }
    this.#clock.soon(() => this.#handOn(resting));
  }

  /** Hands the connections to waiting attempts, or keeps them for later ones. */
  #handOn(rested: readonly Connection[]): void {
    const nowMs = this.#clock.monotonicMs();
    for (const connection of rested) {
      const { origin } = connection;
      // The receiver may have closed the connection meanwhile.
      if (!this.#open.has(connection)) continue;
      if (connection.idleUntilMs <= nowMs) {
        this.#discard(connection);
        continue;
      }
      origin.restedCount -= 1;
      const next = origin.waiting.shift();
      if (next !== undefined) {
        this.#lend(connection, next.accountId, next.taker);
        continue;
      }
      connection.stage = 'idle';
      origin.idle.push(connection);
      this.#idle.add(connection);
      this.#cancelLook ??= this.#clock.after(IDLE_MS_MAX, () => this.#look());
    }
  }

  #lend(connection: Connection, accountId: string, taker: ConnectionTaker): void {
    connection.stage = 'lent';
    connection.accountId = accountId;
    this.#unusedCount -= 1;
    taker.onConnection(connection);
  }

  /**
   * Takes an idle connection. One that is idle too long is not taken, because its receiver may be about to close it: a
   * request written to it would be lost.
   */
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

  /** One timer serves all idle connections: most are used again long before it fires. */
  #look(): void {
    this.#cancelLook = null;
    const nowMs = this.#clock.monotonicMs();
    for (const connection of [...this.#idle]) if (connection.idleUntilMs <= nowMs) this.#discard(connection);
    if (this.#idle.size > 0) this.#cancelLook = this.#clock.after(IDLE_MS_MAX / 4, () => this.#look());
  }

  #create(origin: Origin, target: Target, accountId: string): Connection {
    const dialling = new AbortController();
    const onLost = () => this.#onLost(connection);
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
    const connection: Connection = {
      client,
      origin,
      openedAtMs,
      stage: 'lent',
      servedCount: 0,
      servedAtMs: 0,
      idleUntilMs: 0,
      accountId,
      dialling,
    };
    origin.openCount += 1;
    this.#open.add(connection);
    return connection;
  }

  /** A connection in use is left alone: its attempt notices the end. */
  #onLost(connection: Connection): void {
    if (connection.stage === 'lent') return;
    this.#noteLoss(connection, this.#clock.monotonicMs() - connection.servedAtMs);
    this.#discard(connection);
  }

  /** If the loss shows that connections to the origin serve only one request, none of them is used again. */
  #noteLoss({ client, origin, servedCount }: Connection, idleMs: number): void {
    const loss = { servedCount, idleMs, isUnasked: client.hasUnasked };
    if (!this.#oneShot.note(origin.key, loss, this.#clock.monotonicMs())) return;
    for (const connection of [...this.#open]) {
      if (connection.origin === origin && connection.stage !== 'lent') this.#discard(connection);
    }
  }

  #discard(connection: Connection): Promise<void> {
    const { origin } = connection;
    if (!this.#open.delete(connection)) return Promise.resolve();
    if (connection.stage !== 'lent') this.#unusedCount -= 1;
    if (this.#idle.delete(connection)) origin.idle.splice(origin.idle.indexOf(connection), 1);
    else if (connection.stage === 'rested') origin.restedCount -= 1;
    origin.openCount -= 1;
    connection.dialling.abort();
    const destroyed = connection.client.destroy();

    const next = origin.waiting.shift();
    if (next !== undefined) next.taker.onConnection(this.#create(origin, next.target, next.accountId));
    else if (origin.openCount === 0) this.#origins.delete(origin.key);
    return destroyed;
  }
}
