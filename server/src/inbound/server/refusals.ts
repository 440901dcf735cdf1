// Sends error responses to failed requests, to requests whose body is still arriving, and to unreadable input.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Problem } from '../../rules/requests/problem.ts';
import { tooLargeHead } from '../../rules/requests/request-head.ts';
import { REQUEST_ID_HEADER } from '../../rules/requests/request-id.ts';
import { internalProblem } from '../api/api.ts';
import { ApiError, errorResponse, problemOf, sendError } from '../api/errors.ts';
import type { CallerConnections, CallerTimes } from './caller-connections.ts';
import { CountedRequest } from './counted-request.ts';
import type { WholeResponse } from './publisher-connection.ts';
import type { WholeRequest } from './whole-request.ts';

export interface RefusalsOptions {
  readonly connections: CallerConnections;
  readonly times: CallerTimes;
  readonly onFault: (error: unknown, requestId?: string) => string;
  readonly newRequestId: () => string;
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
    const { requestId } = request;
    const problem = this.#problemOf(error, requestId);
    // A complete response stays. One that has only started is cut off, so that the caller sees that it is incomplete.
    if (response.writableEnded) return;
    if (response.headersSent) response.destroy();
    else if (request.complete) sendError(response, problem, requestId);
    else this.#refuseUnfinished(request, response, problem);
  }

  /** Refuses a request that was read completely. */
  refuseWhole({ requestId }: WholeRequest, response: WholeResponse, error: unknown): void {
    const problem = this.#problemOf(error, requestId);
    // The error came while the response was written. The caller must not wait for the rest.
    if (response.hasEnded) response.destroy();
    else sendError(response, problem);
  }

  /** Refuses bytes that node:http could not read. */
  refuseUnparsed(error: Error & { readonly code?: string }, socket: Socket): void {
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
    // The body of the latest request is incomplete. That request gets this response, unless it already has another one.
    if (latest.request instanceof CountedRequest) {
      latest.request.cutShort(new ApiError(problem.code, problem.message));
    }
    connections.destroyAfter(socket, times.refusedMs);
  }

  #problemOf(error: unknown, requestId: string | undefined): Problem {
    return problemOf(error) ?? internalProblem(this.#options.onFault(error, requestId));
  }

  /** Refuses a request whose body is still arriving. No further request on its connection is read. */
  #refuseUnfinished({ socket, requestId }: IncomingMessage, response: ServerResponse, problem: Problem): void {
    const connection = this.#options.connections.of(socket);
    if (connection !== null) {
      connection.isLast = true;
      connection.closingMs = this.#options.times.refusedMs;
    }
    const { status, headers, body } = errorResponse(problem);
    const text = JSON.stringify(body);
    const length = { 'Content-Length': Buffer.byteLength(text), Connection: 'close' };
    const named = requestId !== undefined && { [REQUEST_ID_HEADER]: requestId };
    response.writeHead(status, { ...headers, ...named, ...length }).end(text);
  }

  /** An error response as text, for the socket itself: node:http knows of no request that it could respond to. */
  #textOf(problem: Problem): string {
    const { status, headers, body } = errorResponse(problem);
    const text = JSON.stringify(body);
    const named = { ...headers, [REQUEST_ID_HEADER]: this.#options.newRequestId() };
    const head = Object.entries({ ...named, 'Content-Length': Buffer.byteLength(text), Connection: 'close' });
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
