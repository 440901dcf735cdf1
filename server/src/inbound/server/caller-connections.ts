// The connections of callers: how many there may be, who owns them, and which one is closed to make room for a new one.
// Every connection is destroyed in time, whatever its caller does.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressGroup } from '../../rules/limits/address-group.ts';
import { eachMax } from '../../rules/limits/budgets.ts';
import { type Owner, Owners } from '../../rules/limits/owners.ts';
import { MemberList } from '../../runtime/collections/member-list.ts';
import { TurnoverMap } from '../../runtime/collections/turnover.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import { writeQueueBytes } from '../../runtime/node-internals/write-queue.ts';
import type { Clock } from '../../runtime/world.ts';
import { Connection, type Exchange } from './connection.ts';
import { closeLingering } from './lingering-close.ts';

/** How long callers may take for each step. Tests use shorter times. */
export interface CallerTimes {
  /** How long a caller may take to send the head of a request. */
  readonly headMs: number;
  /** How long a caller may take to send a whole request. */
  readonly requestMs: number;
  /** How long a caller may take to send each further part of a body. */
  readonly bodyMs: number;
  /** How long a caller may take to begin the next request. */
  readonly idleMs: number;
  /** How long a caller may take to read any part of a response. */
  readonly unreadMs: number;
  /** How long a caller may continue to send a refused body. */
  readonly refusedMs: number;
  /** How long a caller may take to close its side after ours was closed. */
  readonly endedMs: number;
  /** How long a caller that has closed its side may take to receive the responses. */
  readonly halfClosedMs: number;
  /** The time between two periodic checks of all connections. */
  readonly lookMs: number;
}

export const CALLER_TIMES: CallerTimes = {
  headMs: eachMax('headSeconds') * 1000,
  requestMs: eachMax('requestSeconds') * 1000,
  bodyMs: eachMax('bodySeconds') * 1000,
  idleMs: eachMax('idleSeconds') * 1000,
  unreadMs: eachMax('unreadSeconds') * 1000,
  refusedMs: eachMax('refusedSeconds') * 1000,
  endedMs: eachMax('endedSeconds') * 1000,
  halfClosedMs: eachMax('halfClosedSeconds') * 1000,
  lookMs: 5_000,
};

/**
 * Callers without a known account together may have the limit of unread bytes divided by this. While they have more,
 * only their connections are destroyed for unread bytes.
 */
const UNKNOWN_PART = 4;

export interface ConnectionLimits {
  readonly connections?: number;
  /** Limit for connections of callers without a known account. It applies only when all `connections` are in use. */
  readonly unknown?: number;
  readonly unreadBytes?: number;
  /** Finds the caller's address behind trusted proxies. Null: the address of the connection is the caller's. */
  readonly ipOf?: ((request: IncomingMessage) => string | null) | null;
}

export class CallerConnections {
  readonly max: number;
  readonly refused = { account: 0, node: 0 };
  readonly #clock: Clock;
  readonly #times: CallerTimes;
  readonly #unreadBytesMax: number;
  readonly #unknownMax: number;
  readonly #ipOf: ((request: IncomingMessage) => string | null) | null;
  readonly #all = new TurnoverMap<Socket, Connection>();
  readonly #owners = new Owners<Connection>();
  /** The connections that are closed on our side, in the order in which they were closed. */
  readonly #closing = new MemberList<Connection>();
  #unreadBytes = 0;
  #cancelLook: (() => void) | null = null;

  /** Needs a real-time clock, because sockets use real time. */
  constructor(clock: Clock, times: CallerTimes, limits: ConnectionLimits = {}) {
    this.#clock = clock;
    this.#times = times;
    this.max = limits.connections ?? laneMax('connections');
    this.#unknownMax = limits.unknown ?? laneMax('unknownCallers');
    this.#unreadBytesMax = limits.unreadBytes ?? laneMax('unreadAnswers');
    this.#ipOf = limits.ipOf ?? null;
  }

  /** The connections of callers without a known account, in the form of a pool, for the metrics. */
  get unknown(): { readonly max: number; readonly used: number } {
    const owners = this.#owners;
    return {
      max: this.#unknownMax,
      get used() {
        return owners.unknownConnections;
      },
    };
  }

  get used(): number {
    return this.#all.size;
  }

  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.add(socket));
  }

  /** Adds a connection. Returns null, and destroys the socket, when there is no room. */
  add(socket: Socket): Connection | null {
    if (this.#all.size >= this.max && !this.#makeRoom()) {
      this.refused.node += 1;
      socket.destroy();
      return null;
    }
    const network = addressGroup(socket.remoteAddress ?? '');
    const owner = this.#owners.network(network);
    const connection = new Connection(socket, network, owner, this.#times.endedMs);
    this.#all.set(socket, connection);
    this.#owners.change(owner, 1);
    owner.closable.add(connection);
    socket.once('close', () => this.#remove(connection));
    this.#cancelLook ??= this.#clock.after(this.#times.lookMs, () => this.#look());
    return connection;
  }

  /** The account of the current request is known now: it becomes the owner of the connection. */
  claim(socket: Socket, accountId: string): void {
    const connection = this.#all.get(socket);
    if (connection === undefined || connection.owner.key === accountId) return;
    this.#giveTo(connection, this.#owners.account(accountId));
  }

  /** Notes the start of a publish that was read without node:http. A connection has at most one of these at a time. */
  beginPublish(connection: Connection): void {
    connection.idleLooks = 0;
    connection.state = 'busy';
    if (connection.owner.isKnown) connection.leave();
  }

  endPublish(connection: Connection): void {
    if (this.#all.has(connection.socket)) this.#rest(connection);
  }

  /**
   * The service stops. Connections of publishers read no further request. Bytes that wait for their turn in the event
   * loop are handled now: node:http would take their connection for idle, and close it.
   */
  stop(): void {
    for (const connection of [...this.#all.values()]) {
      connection.publisher?.stop();
      // The publisher may just have handed the connection over to node:http, and then a feed reads it.
      connection.feed?.stop();
    }
  }

  /** Destroys the connections that node:http does not know of, and so cannot close. */
  destroyPublishers(): void {
    for (const { publisher, socket } of [...this.#all.values()]) if (publisher !== null) socket.destroy();
  }

  /** Notes the start of a request. Null when it must not be carried out: no response may follow (RFC 9112, 9.6). */
  begin(exchange: Exchange): Connection | null {
    const { request, response } = exchange;
    const connection = this.#all.get(request.socket);
    if (connection === undefined || connection.isLast) return null;
    connection.latest = exchange;
    connection.open.push(response);
    connection.state = 'busy';
    // The account of this request is not known yet, even if that of the request before it was.
    const network = this.#ipOf === null ? connection.network : addressGroup(this.#ipOf(request) ?? '');
    this.#giveTo(connection, this.#owners.network(network));
    response.on('prefinish', () => this.countUnread(connection));
    response.on('close', () => this.#end(connection, response));
    return connection;
  }

  of(socket: Socket): Connection | null {
    return this.#all.get(socket) ?? null;
  }

  /** Closes our side of the connection. For a limited time, bytes that still arrive are dropped. */
  close(connection: Connection): void {
    const { lastWords, socket } = connection;
    connection.lastWords = null;
    if (lastWords !== null && socket.writable) socket.write(lastWords);
    closeLingering(this, connection, connection.closingMs);
  }

  /** Carries out no further request of the connection, and closes it after the response to the latest request. */
  closeAfterLatest(connection: Connection): void {
    connection.isLast = true;
    const response = connection.latest?.response;
    if (response === undefined || response.writableFinished) {
      this.close(connection);
      return;
    }
    if (!response.headersSent && connection.lastWords === null) response.setHeader('Connection', 'close');
    response.once('finish', () => this.close(connection));
  }

  /**
   * Destroys the connection after `ms`, unless the caller closes it first. A later call can only shorten the time.
   * There is only one timer, because a caller that sends many requests at once may have all of them refused.
   */
  destroyAfter(socket: Socket, ms: number): void {
    const connection = this.#all.get(socket);
    if (connection === undefined) return;
    connection.state = 'closing';
    this.#closing.add(connection);
    const atMs = this.#clock.monotonicMs() + ms;
    if (atMs >= connection.destroyedAtMs) return;
    connection.cancelDestroy?.();
    connection.destroyedAtMs = atMs;
    connection.cancelDestroy = this.#clock.after(ms, () => socket.destroy());
  }

  /**
   * Counts the bytes that wait to be read by the caller of this connection. While the total of all connections is too
   * large, the connection with the largest count is destroyed.
   */
  countUnread(connection: Connection): void {
    if (!this.#all.has(connection.socket)) return;
    let bytes = connection.socket.writableLength;
    // Of several responses only the first has the socket. The bytes of the others are still in the response objects.
    for (const response of connection.open) if (response.socket === null) bytes += response.writableLength;
    this.#unreadBytes += bytes - connection.unreadBytes;
    connection.owner.unreadBytes += bytes - connection.unreadBytes;
    connection.unreadBytes = bytes;
    while (this.#unreadBytes > this.#unreadBytesMax) {
      const { socket } = this.#largest();
      this.refused.node += 1;
      this.#forget(socket);
      socket.destroy();
    }
  }

  #makeRoom(): boolean {
    const first = this.#closing.first ?? this.#owners.firstToClose(this.#unknownMax);
    if (first === null) return false;
    this.#forget(first.socket);
    first.socket.destroy();
    return true;
  }

  #giveTo(connection: Connection, owner: Owner<Connection>): void {
    const before = connection.owner;
    if (before !== owner) {
      before.unreadBytes -= connection.unreadBytes;
      owner.unreadBytes += connection.unreadBytes;
      connection.owner = owner;
      this.#owners.change(before, -1);
      this.#owners.change(owner, 1);
    }
    if (connection.state === 'closing') return;
    if (owner.isKnown) connection.leave();
    else if (connection.list !== owner.closable) owner.closable.add(connection);
  }

  /**
   * The connection waits for its next request. If it belongs to an account, it moves to the end of the order in which
   * connections are closed. Without an account it does not move: otherwise a caller could send requests without a token
   * on many connections, and new callers, whose first request is not read yet, would be closed before them.
   */
  #rest(connection: Connection): void {
    if (connection.state === 'closing') return;
    connection.state = 'idle';
    const { owner } = connection;
    if (owner.isKnown || connection.list !== owner.closable) owner.closable.add(connection);
  }

  #end(connection: Connection, response: ServerResponse): void {
    const { open } = connection;
    const at = open.indexOf(response);
    if (at !== -1) open.splice(at, 1);
    this.countUnread(connection);
    if (open.length === 0 && this.#all.has(connection.socket)) this.#rest(connection);
    connection.feed?.next();
  }

  #remove({ socket }: Connection): void {
    this.#forget(socket);
    if (this.#all.size > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  #forget(socket: Socket): void {
    const connection = this.#all.get(socket);
    if (connection === undefined) return;
    this.#unreadBytes -= connection.unreadBytes;
    connection.owner.unreadBytes -= connection.unreadBytes;
    connection.unreadBytes = 0;
    connection.cancelDestroy?.();
    this.#all.delete(socket);
    connection.leave();
    this.#owners.change(connection.owner, -1);
  }

  /**
   * Chooses the connection to destroy when too many bytes are unread: of the owner with the most, the one with the
   * most. But connections of this owner whose callers read nothing are chosen before those whose callers read slowly.
   */
  #largest(): Connection {
    const owner = this.#owners.mostUnread(this.#unreadBytesMax / UNKNOWN_PART);
    let largest: Connection | null = null;
    for (const each of this.#all.values()) {
      if (each.unreadBytes === 0 || each.owner !== owner) continue;
      const isMore =
        largest === null ||
        (each.isStalled === largest.isStalled ? each.unreadBytes > largest.unreadBytes : each.isStalled);
      if (isMore) largest = each;
    }
    return largest!;
  }

  /**
   * Makes the system detect a caller that has vanished (TCP keep-alive). Not done for a new connection, because most
   * connections are closed before the first check.
   */
  #probe(connection: Connection): void {
    if (connection.isProbed) return;
    connection.isProbed = true;
    connection.socket.setKeepAlive(true, this.#times.idleMs);
  }

  /** Whether a publisher's connection has been idle for too long. node:http closes its own idle connections. */
  #isForgotten(connection: Connection): boolean {
    connection.publisher?.look();
    // `look` may just have handed the connection over to node:http.
    if (connection.publisher === null || connection.state === 'busy') return false;
    const { headMs, idleMs, lookMs } = this.#times;
    connection.idleLooks += 1;
    return connection.idleLooks * lookMs > (connection.state === 'idle' ? idleMs : headMs);
  }

  /** Whether a caller that has closed its side has waited too long for responses. It may have disconnected entirely. */
  #hasWaitedLong(connection: Connection): boolean {
    if (!connection.socket.readableEnded) return false;
    connection.endedLooks += 1;
    return connection.endedLooks * this.#times.lookMs > this.#times.halfClosedMs;
  }

  #look(): void {
    this.#cancelLook = this.#clock.after(this.#times.lookMs, () => this.#look());
    const nowMs = this.#clock.monotonicMs();
    for (const connection of [...this.#all.values()]) {
      const { socket } = connection;
      this.#probe(connection);
      const written = writtenSoFar(socket);
      const hasStalled = socket.writableLength > 0 && written === connection.written;
      if (!hasStalled) connection.stalledSinceMs = nowMs;
      connection.isStalled = hasStalled;
      connection.written = written;
      const isUnread = nowMs - connection.stalledSinceMs >= this.#times.unreadMs;
      if (isUnread || this.#isForgotten(connection) || this.#hasWaitedLong(connection)) socket.destroy();
      else {
        this.countUnread(connection);
        connection.feed?.look(this.#times.lookMs);
      }
    }
  }
}

/** A text that changes whenever the system takes a byte of what was written, or something new is written. */
function writtenSoFar(socket: Socket): string {
  return `${socket.bytesWritten} ${socket.writableLength} ${writeQueueBytes(socket)}`;
}
