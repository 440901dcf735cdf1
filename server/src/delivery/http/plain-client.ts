// A connection for plain HTTP/1.1, directly on a socket. undici took half of the CPU time of a delivery. This client
// does only what a delivery needs: one request at a time, no upgrade, no pipelining, nothing sent twice.

import type { OnReadOpts, Socket } from 'node:net';
import type { WireWindow } from '../engine/wire-window.ts';
import { AnswerReader } from './answer-reader.ts';
import { ClosedError, NotHttpError, UnwrittenError } from './failure.ts';
import { guardFirstWrite } from './first-write.ts';
import type { ExchangeListener, HttpClient, HttpRequest } from './http-client.ts';
import { LargeBody } from './large-body.ts';
import { isCopied, requestBytes } from './request-bytes.ts';

/**
 * One buffer for the reads of all connections. The bytes of a read are handled before the next read on any connection,
 * and bytes that are kept are copied.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

export type OpenSocket = (onread: OnReadOpts) => Promise<Socket>;

export class PlainClient implements HttpClient {
  reusableMs = 0;
  hasUnasked = false;
  readonly #open: OpenSocket;
  readonly #wire: WireWindow;
  readonly #onLost: () => void;
  /** Null while there is no usable connection. */
  #socket: Socket | null = null;
  #expectWrite: (mustStartBefore: number | null) => void = () => {};
  #exchange: ExchangeListener | null = null;
  /** The reader of the response. Null until the request of the exchange is written. */
  #answer: AnswerReader | null = null;
  #isPouring = false;
  /** Whether a response was read on the connection. */
  #hasServed = false;
  #isDestroyed = false;

  /** `onLost` is called when the connection is gone. */
  constructor(wire: WireWindow, open: OpenSocket, onLost: () => void) {
    this.#wire = wire;
    this.#open = open;
    this.#onLost = onLost;
  }

  send(request: HttpRequest, exchange: ExchangeListener): void {
    this.#exchange = exchange;
    if (this.#socket !== null) this.#write(this.#socket, request, exchange);
    else this.#connect(request, exchange);
  }

  destroy(): Promise<void> {
    const socket = this.#socket;
    this.#isDestroyed = true;
    this.#exchange = null;
    this.#answer = null;
    this.#socket = null;
    if (socket === null || socket.closed) return Promise.resolve();
    socket.destroy();
    return new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /**
   * A separate function, because closures of one function share all variables that any of them uses. The socket keeps
   * this closure for as long as it is open, and would otherwise also keep the first request and its response.
   */
  #reading(): OnReadOpts {
    const callback = (length: number) => {
      this.#read(length === READ_BUFFER.length ? READ_BUFFER : READ_BUFFER.subarray(0, length));
      return true;
    };
    return { buffer: READ_BUFFER, callback };
  }

  #connect(request: HttpRequest, exchange: ExchangeListener): void {
    this.#open(this.#reading()).then(
      (socket) => {
        if (this.#isDestroyed) {
          socket.destroy();
          return;
        }
        this.#take(socket);
        this.#write(socket, request, exchange);
      },
      (error: Error) => this.#lose(error),
    );
  }

  /** A separate function, so that the listeners of the socket do not keep the first request and its response. */
  #take(socket: Socket): void {
    this.#socket = socket;
    this.#expectWrite = guardFirstWrite(socket, this.#wire);
    socket.on('end', () => this.#onEnd(socket));
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#lose(new ClosedError('closed')));
  }

  #write(socket: Socket, request: HttpRequest, exchange: ExchangeListener): void {
    const bytes = requestBytes(request);
    const { body } = request;
    if (!exchange.onStart()) return;
    this.#answer = new AnswerReader(exchange);
    this.#expectWrite(request.mustStartBefore);
    if (body instanceof LargeBody) {
      socket.write(bytes);
      this.#isPouring = true;
      this.#pour(socket, body).catch((error) => this.#lose(error));
    } else if (isCopied(body)) socket.write(bytes);
    else {
      socket.cork();
      socket.write(bytes);
      socket.write(body);
      socket.uncork();
    }
    // If the socket is not writable any more, the first write failed: the system took no bytes, so the request can be
    // sent again.
    if (this.#hasServed && !socket.writable) this.#lose(new UnwrittenError('closed'));
  }

  /** Writes the pieces as fast as the receiver takes them. */
  async #pour(socket: Socket, body: LargeBody): Promise<void> {
    for await (const piece of body) {
      if (socket.destroyed) return;
      if (!socket.write(piece)) await drained(socket);
    }
    this.#isPouring = false;
  }

  #read(bytes: Buffer): void {
    const answer = this.#answer;
    const exchange = this.#exchange;
    if (this.#isDestroyed) return;
    // The bytes belong to no request: there is none, or it is not written yet.
    if (answer === null || exchange === null) {
      this.hasUnasked = true;
      this.#lose(new NotHttpError('it does not belong to the request'));
      return;
    }
    let leftOver: number | null;
    try {
      leftOver = answer.read(bytes);
    } catch (error) {
      this.#lose(error as Error);
      return;
    }
    // The exchange may have been given up meanwhile.
    if (leftOver === null || this.#answer !== answer) return;
    this.hasUnasked = leftOver > 0;
    this.#finish(exchange, this.hasUnasked ? 0 : answer.reusableMs);
  }

  /** The response is complete. The connection may serve another exchange only if the whole request was written. */
  #finish(exchange: ExchangeListener, reusableMs: number): void {
    this.reusableMs = this.#isPouring || this.#socket?.writableLength !== 0 ? 0 : reusableMs;
    this.#hasServed = true;
    this.#exchange = null;
    this.#answer = null;
    exchange.onEnd();
  }

  #onEnd(socket: Socket): void {
    if (socket !== this.#socket) return;
    const exchange = this.#exchange;
    if (exchange !== null && this.#answer?.endsWithConnection) this.#finish(exchange, 0);
    else this.#lose(new ClosedError('closed'));
  }

  /** The connection cannot be used any more. */
  #lose(error: Error): void {
    if (this.#isDestroyed) return;
    const exchange = this.#exchange;
    this.#exchange = null;
    this.#answer = null;
    this.#socket?.destroy();
    this.#socket = null;
    if (exchange === null) this.#onLost();
    else exchange.onError(error);
  }
}

function drained(socket: Socket): Promise<void> {
  if (socket.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
