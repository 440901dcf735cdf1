// Refuses requests with an error, requests whose body is still arriving, and input that is not a readable request.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from '../../rules/requests/problem.ts';
import { tooLargeHead } from '../../rules/requests/request-head.ts';
import { internalProblem } from '../api/api.ts';
import { ApiError, errorResponse, problemOf, sendError } from '../api/errors.ts';
import type { CallerConnections, CallerTimes } from './caller-connections.ts';
import { CountedRequest } from './counted-request.ts';
import type { WholeResponse } from './publisher-connection.ts';

export interface RefusalsOptions {
  readonly connections: CallerConnections;
  readonly times: CallerTimes;
  readonly onFault: (error: unknown) => string;
  /** Returns the text of the `Date` header. */
  readonly dateText: () => string;
}

export class Refusals {
  readonly #options: RefusalsOptions;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The caller disconnected while it was sending, so nobody waits for a response.
    if (request.destroyed && !request.complete) return;
    const problem = this.#problemOf(error);
    // A response that has started cannot be replaced. The caller sees that it ends too early.
    if (response.writableEnded) return;
    if (response.headersSent) response.destroy();
    else if (request.complete) sendError(response, problem);
    else this.#refuseUnfinished(request, response, problem);
  }

  /** Refuses a request that was read completely. */
  refuseWhole(response: WholeResponse, error: unknown): void {
    const problem = this.#problemOf(error);
    // The error came while the response was written. The caller must not wait for the rest.
    if (response.hasEnded) response.destroy();
    else sendError(response, problem);
  }

  /** Refuses bytes that node:http could not read. */
  refuseNonsense(error: Error & { readonly code?: string }, socket: Socket): void {
    // Our last response may still be on its way to the caller, so the connection is left as it is.
    if (this.#options.connections.of(socket)?.isClosing) return;
    const isGone = !socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE';
    // A caller that has sent nothing expects no response.
    if (isGone || socket.bytesRead === 0) socket.destroy();
    else this.refuseUnread(unreadableProblem(error), socket);
  }

  /**
   * Refuses input that is not a request, or the rest of a request that cannot be read. The responses to earlier
   * requests are sent first.
   */
  refuseUnread(problem: Problem, socket: Socket): void {
    const { connections, times } = this.#options;
    const connection = connections.of(socket);
    // Everything after unreadable input is unreadable too, and node:http may report it again.
    if (connection === null || connection.isUnreadable || connection.isClosing) return;
    connection.isUnreadable = true;
    connection.isLast = true;
    connection.closingMs = times.refusedMs;
    const { latest } = connection;
    const isNext = latest === null || latest.request.complete;
    if (isNext) connection.lastWords = this.#textOf(problem);
    connections.closeAfterLatest(connection);
    if (isNext) return;
    // The latest request gets this response, unless it has another already.
    if (latest.request instanceof CountedRequest) {
      latest.request.cutShort(new ApiError(problem.code, problem.message));
    }
    connections.destroyAfter(socket, times.refusedMs);
  }

  #problemOf(error: unknown): Problem {
    return problemOf(error) ?? internalProblem(this.#options.onFault(error));
  }

  /** Refuses a request whose body is still arriving. No further request on its connection is read. */
  #refuseUnfinished({ socket }: IncomingMessage, response: ServerResponse, problem: Problem): void {
    const connection = this.#options.connections.of(socket);
    if (connection !== null) {
      connection.isLast = true;
      connection.closingMs = this.#options.times.refusedMs;
    }
    const { status, headers, body } = errorResponse(problem);
    const text = JSON.stringify(body);
    const length = { 'Content-Length': Buffer.byteLength(text), Connection: 'close' };
    response.writeHead(status, { ...headers, ...length }).end(text);
  }

  /** The text of a response that node:http does not write, because it knows of no request. */
  #textOf(problem: Problem): string {
    const { status, headers, body } = errorResponse(problem);
    const text = JSON.stringify(body);
    const head = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(text), Connection: 'close' });
    const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}Date: ${this.#options.dateText()}\r\n\r\n${text}`;
  }
}

function unreadableProblem({ code, reason }: { code?: string; reason?: string }): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLargeHead().problem;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request_timeout', message: 'the request did not arrive in time' };
  }
  return {
    code: 'bad_request',
    message: `this is not a valid HTTP request${reason ? `: ${reason}` : ''}`,
  };
}
