// A connection whose publishes are read without node:http, which would take as long as all the rest of a publish. Only
// requests that arrived in one piece and in the plainest form are read here. At the first other request, the connection
// is handed over to node:http with all unread bytes, and node:http keeps it.

import { STATUS_CODES, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';
import { REQUEST_ID_HEADER } from '../../rules/requests/request-id.ts';
import { withEntry } from '../../runtime/collections/short-list.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import {
  pushToStream,
  resumeReading,
  returnBytesToStream,
  takeBytes,
} from '../../runtime/node-internals/socket-bytes.ts';
import { JSON_HEADERS } from '../api/errors.ts';
import type { CallerConnections } from './caller-connections.ts';
import type { CallerResponse } from './caller-response.ts';
import type { Connection } from './connection.ts';
import { type WholeRequest, WholeRequestReader } from './whole-request.ts';

export interface PublisherConnectionOptions {
  readonly connections: CallerConnections;
  readonly turns: LoopTurns;
  /** Carries out a request. */
  readonly handle: (request: WholeRequest, response: WholeResponse) => void;
  /**
   * Hands a connection over to node:http, with the bytes that were not read here. Returns false when no more should be
   * read for now.
   */
  readonly giveToNode: (connection: Connection, bytes: Buffer) => boolean;
  /** Responds to a caller that has closed its side in the middle of a request. */
  readonly refuseCutShort: (socket: Socket) => void;
  /** Whether the service accepts no more requests. */
  readonly isClosing: () => boolean;
  /** Returns the id of a request whose caller gives this header. */
  readonly requestId: (given: string | undefined) => string;
  /** Returns the text of the `Date` header. */
  readonly dateText: () => string;
  /** The headers of a response after which the connection stays open. */
  readonly keepAlive: string;
}

const PART_BYTES_MAX = eachMax('partBytes');
const NOBODY: readonly (() => void)[] = [];

export class PublisherConnection {
  readonly #options: PublisherConnectionOptions;
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #requests = new WholeRequestReader();
  /** The response to the current request. */
  #response: WholeResponse | null = null;
  /** The start of a request whose end has not arrived. */
  #part: Buffer | null = null;
  /** Bytes that arrived during the current request. */
  #waiting: Buffer | null = null;
  /** Bytes that wait for their turn in the event loop. */
  #deferred: Buffer | null = null;
  #hasCallerEnded = false;

  constructor(options: PublisherConnectionOptions, connection: Connection) {
    this.#options = options;
    this.#connection = connection;
    this.#socket = connection.socket;
    connection.publisher = this;
    takeBytes(this.#socket, (bytes) => (bytes === null ? pushToStream(this.#socket, null) : this.#receive(bytes)));
    this.#socket.on('end', this.#end);
    this.#socket.on('close', this.#close);
    this.#socket.on('error', ignore);
    // A paused socket would not report the end of its connection.
    this.#socket.resume();
  }

  /** Called periodically. An incomplete request is handed over to node:http, which limits the time for the rest. */
  look(): void {
    if (this.#part !== null && this.#deferred === null) this.#leave(this.#part);
  }

  /** The service stops. No further request is read here, and bytes that have arrived are handed over to node:http. */
  stop(): void {
    const came = [this.#part, this.#deferred].filter((each) => each !== null);
    if (came.length > 0) this.#leave(came.length === 1 ? came[0]! : joined(came[0]!, came[1]!));
    else if (this.#response === null && !this.#connection.isClosing) this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  send(head: string, text: string, isLast: boolean): void {
    const { connections, dateText, keepAlive } = this.#options;
    const socket = this.#socket;
    const isEnd = this.#isEnd(isLast);
    socket.write(`${head}Date: ${dateText()}\r\n${isEnd ? 'Connection: close\r\n' : keepAlive}\r\n${text}`);
    // The system has usually taken the whole response by now. Otherwise the request counts as open until it has.
    if (socket.writableLength === 0) {
      this.#finish(isEnd);
      return;
    }
    connections.countUnread(this.#connection);
    socket.write('', () => {
      connections.countUnread(this.#connection);
      this.#finish(isEnd);
    });
  }

  /** Whether the connection ends after the current request. */
  #isEnd(isLast: boolean): boolean {
    return isLast || this.#hasCallerEnded || this.#options.isClosing();
  }

  /** Returns false when no more should be read for now. */
  #receive(chunk: Buffer): boolean {
    const { turns } = this.#options;
    // Bytes that arrive during a request wait for its end anyway.
    if (this.#response === null && (this.#deferred !== null || turns.mustWait(this.#connection.owner))) {
      this.#defer(chunk);
      return false;
    }
    const sinceMs = turns.nowMs();
    const mayReadOn = this.#take(chunk);
    // The time is charged to the owner that the connection has now, because the token may be known by now.
    turns.charge(this.#connection.owner, sinceMs);
    return mayReadOn;
  }

  #defer(chunk: Buffer): void {
    const isFirst = this.#deferred === null;
    this.#deferred = isFirst ? chunk : joined(this.#deferred!, chunk);
    if (!isFirst) return;
    this.#options.turns.wait(this.#connection.owner, () => {
      const bytes = this.#deferred;
      this.#deferred = null;
      if (bytes === null || this.#socket.destroyed) return;
      const sinceMs = this.#options.turns.nowMs();
      const mayReadOn = this.#take(bytes);
      this.#options.turns.charge(this.#connection.owner, sinceMs);
      if (mayReadOn) resumeReading(this.#socket);
    });
  }

  /** Reads a request, or a part of one. Returns false when no more should be read for now. */
  #take(chunk: Buffer): boolean {
    if (this.#response !== null) {
      this.#waiting = this.#waiting === null ? chunk : joined(this.#waiting, chunk);
      return false;
    }
    const isRest = this.#part !== null;
    const bytes = isRest ? joined(this.#part!, chunk) : chunk;
    const request = this.#options.isClosing() ? null : this.#requests.read(bytes, this.#socket);
    if (request === 'part' && !isRest && bytes.length <= PART_BYTES_MAX) this.#part = bytes;
    else if (request === null || request === 'part') return this.#leave(bytes);
    else this.#begin(request);
    return true;
  }

  #begin(request: WholeRequest): void {
    this.#part = null;
    request.requestId = this.#options.requestId(request.headers['x-request-id']);
    const response = new WholeResponse(this, request);
    this.#response = response;
    this.#options.connections.beginPublish(this.#connection);
    this.#options.handle(request, response);
  }

  #finish(isLast: boolean): void {
    const response = this.#response;
    if (response === null) return;
    this.#response = null;
    response.close();
    // Checked again: the caller or the service may have ended during the writing of the response.
    if (this.#isEnd(isLast)) {
      this.#options.connections.close(this.#connection);
      return;
    }
    this.#options.connections.endPublish(this.#connection);
    if (this.#waiting !== null) this.#leave(this.#waiting);
  }

  #leave(bytes: Buffer): boolean {
    const socket = this.#socket;
    returnBytesToStream(socket);
    socket.off('end', this.#end);
    socket.off('close', this.#close);
    socket.off('error', ignore);
    this.#connection.publisher = null;
    this.#part = null;
    this.#waiting = null;
    this.#deferred = null;
    return this.#options.giveToNode(this.#connection, bytes);
  }

  readonly #end = (): void => {
    this.#hasCallerEnded = true;
    if (this.#response !== null) return;
    const isCutShort = this.#part !== null;
    // The connection must not be handed over to node:http after its end: a stream that has ended takes no bytes back.
    this.#part = null;
    if (isCutShort) this.#options.refuseCutShort(this.#socket);
    else this.#socket.end();
  };

  readonly #close = (): void => {
    this.#response?.close();
    this.#response = null;
  };
}

/** A response that is written as one text, in one step. */
export class WholeResponse implements CallerResponse {
  readonly #connection: PublisherConnection;
  readonly #request: WholeRequest;
  #head = '';
  #set = '';
  #listeners: (() => void)[] | null = null;
  /** Whether the response was written, or could not be written. */
  hasEnded = false;
  destroyed = false;

  constructor(connection: PublisherConnection, request: WholeRequest) {
    this.#connection = connection;
    this.#request = request;
  }

  setHeader(name: string, value: string): void {
    validateHeaderValue(name, value);
    this.#set += `${name}: ${value}\r\n`;
  }

  writeHead(status: number, headers: readonly string[]): this {
    this.#head = headOf(status, headers) + this.#lines();
    return this;
  }

  /** Like `writeHead` and `end` in one step. Most responses are sent this way. */
  endJson(status: number, text: string): void {
    let start = jsonStarts.get(status);
    if (start === undefined) {
      start = headOf(status, JSON_HEADERS);
      jsonStarts.set(status, start);
    }
    this.#head = `${start}Content-Length: ${Buffer.byteLength(text)}\r\n${this.#lines()}`;
    this.end(text);
  }

  /** The lines of this response alone. */
  #lines(): string {
    return `${REQUEST_ID_HEADER}: ${this.#request.requestId}\r\n${this.#set}`;
  }

  end(text: string): void {
    if (this.hasEnded || this.destroyed) return;
    this.hasEnded = true;
    this.#connection.send(this.#head, text, this.#request.isLast);
  }

  on(_event: 'close', listener: () => void): void {
    this.#listeners = withEntry(this.#listeners, listener);
  }

  destroy(): void {
    this.#connection.destroy();
  }

  /** Called when the system has taken the whole response, or the caller has disconnected. */
  close(): void {
    this.destroyed = true;
    for (const listener of this.#listeners ?? NOBODY) listener();
  }
}

/** The first lines of a JSON response for each status, cached. The map stays small, because there are few statuses. */
const jsonStarts = new Map<number, string>();

function headOf(status: number, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return head;
}

/** Joins two buffers in memory that no other buffer shares. */
function joined(start: Buffer, rest: Buffer): Buffer {
  const whole = Buffer.allocUnsafeSlow(start.length + rest.length);
  start.copy(whole);
  rest.copy(whole, start.length);
  return whole;
}

/** A listener that does nothing. The event `close` follows, and an `error` without a listener would end the process. */
function ignore(): void {}
