// The connections of callers: how many there may be, which one goes when there is no room for a new one, and that each is
// destroyed in time, whatever its caller does or does not do.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { eachMax, nodeMax } from '../domain/budgets.ts';
import type { Clock } from '../world.ts';

/** How long a caller may take. A test has shorter ones. */
export interface CallerTimes {
  /** For the head of a request. */
  readonly headMs: number;
  /** For a request as a whole. */
  readonly requestMs: number;
  /** Until the next request. */
  readonly idleMs: number;
  /** To take anything of an answer. */
  readonly unreadMs: number;
  /** To stop sending a body that is refused. */
  readonly refusedMs: number;
  /** To end a connection that was ended here. */
  readonly endedMs: number;
  /** Between two looks at all connections. */
  readonly lookMs: number;
}

export const CALLER_TIMES: CallerTimes = {
  headMs: eachMax('headSeconds') * 1000,
  requestMs: eachMax('requestSeconds') * 1000,
  idleMs: eachMax('idleSeconds') * 1000,
  unreadMs: eachMax('unreadSeconds') * 1000,
  refusedMs: eachMax('refusedSeconds') * 1000,
  endedMs: eachMax('endedSeconds') * 1000,
  lookMs: 5_000,
};

/** A request and its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Connection {
  readonly socket: Socket;
  /** Those that are not answered, or whose answers are not taken. */
  readonly open: Set<ServerResponse>;
  latest: Exchange | null;
  /** Of answers, as it was last looked at. */
  unreadBytes: number;
  /** What the socket had written when it was last looked at, and since when that has not changed. */
  written: string;
  stalledSinceMs: number;
  isStalled: boolean;
}

export class CallerConnections {
  readonly max: number;
  readonly refused = { account: 0, node: 0 };
  readonly #clock: Clock;
  readonly #times: CallerTimes;
  readonly #unreadBytesMax: number;
  readonly #all = new Map<Socket, Connection>();
  /** Those that have never brought a request, and those that wait for the next; the longest waiting first. */
  readonly #silent = new Set<Socket>();
  readonly #idle = new Set<Socket>();
  #unreadBytes = 0;
  #cancelLook: (() => void) | null = null;

  /** With a clock of real time: a socket knows no other. */
  constructor(
    clock: Clock,
    times: CallerTimes,
    limits: { readonly connections?: number; readonly unreadBytes?: number } = {},
  ) {
    this.#clock = clock;
    this.#times = times;
    this.max = limits.connections ?? nodeMax('connections');
    this.#unreadBytesMax = limits.unreadBytes ?? nodeMax('unreadAnswers');
  }

  get used(): number {
    return this.#all.size;
  }

  get unreadBytes(): number {
    return this.#unreadBytes;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  /** False when the caller has more requests under way on one connection than it may; the connection is gone then. */
  begin(exchange: Exchange): boolean {
    const { request, response } = exchange;
    const connection = this.#all.get(request.socket);
    if (connection === undefined) return false;
    if (connection.open.size >= eachMax('pipelined')) {
      request.socket.destroy();
      return false;
    }
    connection.latest = exchange;
    connection.open.add(response);
    this.#silent.delete(request.socket);
    this.#idle.delete(request.socket);
    response.on('prefinish', () => this.#count(connection));
    response.on('close', () => this.#end(connection, response));
    return true;
  }

  latestOf(socket: Socket): Exchange | null {
    return this.#all.get(socket)?.latest ?? null;
  }

  /** The caller was told all it will be told: it may go first, and at the latest now it goes. */
  destroyAfter(socket: Socket, ms: number): void {
    if (!this.#all.has(socket)) return;
    this.#silent.add(socket);
    const cancel = this.#clock.after(ms, () => socket.destroy());
    socket.once('close', cancel);
  }

  #add(socket: Socket): void {
    if (this.#all.size >= this.max && !this.#makeRoom()) {
      this.refused.node += 1;
      socket.destroy();
      return;
    }
    const connection: Connection = {
      socket,
      open: new Set(),
      latest: null,
      unreadBytes: 0,
      written: '',
      stalledSinceMs: 0,
      isStalled: false,
    };
    this.#all.set(socket, connection);
    this.#silent.add(socket);
    socket.once('close', () => this.#remove(connection));
    this.#cancelLook ??= this.#clock.after(this.#times.lookMs, () => this.#look());
  }

  #makeRoom(): boolean {
    const longest = first(this.#silent) ?? first(this.#idle);
    if (longest === undefined) return false;
    this.#forget(longest);
    longest.destroy();
    return true;
  }

  #end(connection: Connection, response: ServerResponse): void {
    connection.open.delete(response);
    this.#count(connection);
    if (connection.open.size === 0 && this.#all.has(connection.socket) && !this.#silent.has(connection.socket)) {
      this.#idle.add(connection.socket);
    }
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
    connection.unreadBytes = 0;
    this.#all.delete(socket);
    this.#silent.delete(socket);
    this.#idle.delete(socket);
  }

  /** What waits for the caller of one connection; when that is too much in all, somebody has to go. */
  #count(connection: Connection): void {
    if (!this.#all.has(connection.socket)) return;
    let bytes = connection.socket.writableLength;
    // Those behind the first have no socket yet.
    for (const response of connection.open) if (response.socket === null) bytes += response.writableLength;
    this.#unreadBytes += bytes - connection.unreadBytes;
    connection.unreadBytes = bytes;
    while (this.#unreadBytes > this.#unreadBytesMax) {
      const { socket } = this.#largest();
      this.refused.node += 1;
      this.#forget(socket);
      socket.destroy();
    }
  }

  /** Of those that take nothing, if there are any, the one for which most is held. */
  #largest(): Connection {
    let largest: Connection | null = null;
    for (const each of this.#all.values()) {
      if (each.unreadBytes === 0) continue;
      const isMore =
        largest === null ||
        (each.isStalled === largest.isStalled ? each.unreadBytes > largest.unreadBytes : each.isStalled);
      if (isMore) largest = each;
    }
    return largest!;
  }

  #look(): void {
    this.#cancelLook = this.#clock.after(this.#times.lookMs, () => this.#look());
    const nowMs = this.#clock.monotonicMs();
    for (const connection of [...this.#all.values()]) {
      const { socket } = connection;
      const written = writtenSoFar(socket);
      const hasStalled = socket.writableLength > 0 && written === connection.written;
      if (!hasStalled) connection.stalledSinceMs = nowMs;
      connection.isStalled = hasStalled;
      connection.written = written;
      if (nowMs - connection.stalledSinceMs >= this.#times.unreadMs) socket.destroy();
      else this.#count(connection);
    }
  }
}

/** Changes whenever the system takes a byte of what was written, or something is written. */
function writtenSoFar(socket: Socket): string {
  // What is left of the write that the system has taken a part of; nothing public tells it.
  const { _handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return `${socket.bytesWritten} ${socket.writableLength} ${_handle?.writeQueueSize}`;
}

function first<T>(values: ReadonlySet<T>): T | undefined {
  return values.values().next().value;
}
