// Refuses requests: those with an error, those whose body is still arriving, and input that is not a readable request.

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
  /** For the `Date` header. */
  readonly dateText: () => string;
}

export class Refusals {
  readonly #options: RefusalsOptions;

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The caller disconnected while sending: there is nobody to respond to.
    if (request.destroyed && !request.complete) return;
    const problem = this.#problemOf(error);
    // A started response cannot be replaced. The caller sees that it ends too early.
    if (response.writableEnded) return;
    if (response.headersSent) response.destroy();
    else if (request.complete) sendError(response, problem);
    else this.#refuseUnfinished(request, response, problem);
  }

  /** Refuses a request that was read completely. */
  refuseWhole(response: WholeResponse, error: unknown): void {
    const problem = this.#problemOf(error);
    // An error while the response was written: the caller must not wait for the rest.
    if (response.hasEnded) response.destroy();
    else sendError(response, problem);
  }

  /** Refuses what node:http could not read. */
  refuseNonsense(error: Error & { readonly code?: string }, socket: Socket): void {
    // The response may still be in transit.
    if (this.#options.connections.of(socket)?.isClosing) return;
    const isGone = !socket.writable || error.code === 'ECONNRESET' || error.code === 'EPIPE';
    // A caller that has sent nothing expects no response.
    if (isGone || socket.bytesRead === 0) socket.destroy();
    else this.refuseUnread(unreadableProblem(error), socket);
  }

  /**
   * Refuses what is not a request, or the rest of a request that cannot be read. The responses to earlier requests are
   * sent first.
   */
  refuseUnread(problem: Problem, socket: Socket): void {
    const { connections, times } = this.#options;
    const connection = connections.of(socket);
    // Everything after unreadable input is unreadable too, and may be reported again.
    if (connection === null || connection.isUnreadable || connection.isClosing) return;
    connection.isUnreadable = true;
    connection.isLast = true;
    connection.closingMs = times.refusedMs;
    const { latest } = connection;
    const isNext = latest === null || latest.request.complete;
    if (isNext) connection.lastWords = this.#textOf(problem);
    connections.closeAfterLatest(connection);
    if (isNext) return;
    // The latest request gets this response, unless it already has another.
    if (latest.request instanceof CountedRequest) {
      latest.request.cutShort(new ApiError(problem.code, problem.message));
    }
    connections.destroyAfter(socket, times.refusedMs);
  }

  #problemOf(error: unknown): Problem {
    return problemOf(error) ?? internalProblem(this.#options.onFault(error));
  }

  /** Refuses a request whose body is still arriving. Nothing follows it. */
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

  /** A response without a request that node:http knows of. */
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
