// Refuses requests: those answered with an error, those whose body is still coming, and input that is not a readable
// request.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { eachMax } from '../domain/budgets.ts';
import type { Problem } from '../domain/problem.ts';
import { internalProblem } from './api.ts';
import type { CallerConnections, CallerTimes } from './caller-connections.ts';
import { errorResponse, problemOf, sendError } from './errors.ts';
import type { WholeResponse } from './publisher-connection.ts';

export interface RefusalsOptions {
  readonly connections: CallerConnections;
  readonly times: CallerTimes;
  readonly onFault: (error: unknown) => string;
}

export class Refusals {
  readonly #options: RefusalsOptions;
  /** Sockets that already reported unreadable input. */
  readonly #unreadable = new WeakSet<Socket>();

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The caller went away while sending: there is nobody to answer.
    if (request.destroyed && !request.complete) return;
    const problem = this.#problemOf(error);
    // A started response cannot be taken back. The caller sees that it ends too early.
    if (response.headersSent) response.destroy();
    else if (request.complete) sendError(response, problem);
    else this.#refuseUnread(request, response, problem);
  }

  /** Refuses a request of which nothing is left to read. */
  refuseWhole(response: WholeResponse, error: unknown): void {
    const problem = this.#problemOf(error);
    // A fault while it was written: the caller must not wait for the rest.
    if (response.hasEnded) response.destroy();
    else sendError(response, problem);
  }

  refuseNonsense(error: Error, socket: Socket): void {
    // Everything after unreadable input is unreadable too, and each piece is reported again.
    if (this.#unreadable.has(socket)) return;
    this.#unreadable.add(socket);
    const { connections, times } = this.#options;
    const last = connections.latestOf(socket);
    if (!last || last.response.writableFinished) this.#refuseUnreadable(error, socket);
    // Unreadable bytes behind a complete request must not be answered in its place.
    else if (last.request.complete) {
      socket.pause();
      last.response.once('finish', () => this.#refuseUnreadable(error, socket));
    }
    // Unreadable bytes within a body that is already refused get no second response.
    else if (last.response.headersSent) {
      last.response.end();
      connections.destroyAfter(socket, times.endedMs);
    } else this.#refuseUnreadable(error, socket);
  }

  #problemOf(error: unknown): Problem {
    return problemOf(error) ?? internalProblem(this.#options.onFault(error));
  }

  /**
   * Refuses a request whose body is still coming. The connection closes when the caller has stopped sending, or after a
   * while.
   */
  #refuseUnread(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
    const { status, headers, body } = errorResponse(problem);
    const text = JSON.stringify(body);
    const length = { 'Content-Length': Buffer.byteLength(text), Connection: 'close' };
    response.writeHead(status, { ...headers, ...length }).write(text);
    this.#options.connections.destroyAfter(request.socket, this.#options.times.refusedMs);
    // A caller that sends almost nothing would not stop for long. Short pieces were refused, so they are not read on.
    if (problem.code === 'body_too_slow' || problem.code === 'body_in_pieces') return void response.end();
    let discardedBytes = 0;
    // If the connection were closed at once, it would be reset before the caller reads the response.
    request.on('data', (chunk: Buffer) => {
      discardedBytes += chunk.length;
      if (discardedBytes > eachMax('refusedBytes')) request.socket.destroy();
    });
    request.on('end', () => response.end());
  }

  /** Refuses input that node:http could not read as a request. */
  #refuseUnreadable(error: Error & { code?: string; reason?: string }, socket: Socket): void {
    // A caller that has sent nothing expects no response.
    if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const { status, headers, body } = errorResponse(unreadableProblem(error));
    const text = JSON.stringify(body);
    const head = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(text), Connection: 'close' });
    socket.end(`HTTP/1.1 ${status} Refused\r\n${head.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${text}`);
    this.#options.connections.destroyAfter(socket, this.#options.times.endedMs);
  }
}

function unreadableProblem({ code, reason }: { code?: string; reason?: string }): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `the request line and headers are larger than ${eachMax('headBytes')} bytes`;
    return { code: 'headers_too_large', message };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request_timeout', message: 'the request did not arrive in time' };
  }
  return {
    code: 'bad_request',
    message: `this is not a valid HTTP request${reason ? `: ${reason}` : ''}`,
  };
}
