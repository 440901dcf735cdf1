// One listener, two lanes: publishing straight on node:http, everything else through the API. Sets the limits that
// keep a slow or hostile client from holding anything for long.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { eachMax } from '../domain/budgets.ts';
import type { Problem } from '../domain/problem.ts';
import type { Api } from './api.ts';
import { internalProblem } from './api.ts';
import type { CallerConnections, CallerTimes } from './caller-connections.ts';
import type { Console } from './console.ts';
import { CountedRequest } from './counted-request.ts';
import { ApiError, errorResponse, problemOf, sendError } from './errors.ts';
import type { OwnHosts } from './own-hosts.ts';
import type { PublishLane } from './publish-lane.ts';
import { takeQstashRequest } from './qstash-request.ts';
import type { Sink } from './sink.ts';
import { listenWide, type WideListening } from './wide-listening.ts';

export interface ListenerOptions {
  readonly lane: PublishLane;
  readonly api: Api;
  readonly webConsole: Console;
  readonly sink: Sink | null;
  /** Null where any name will do. */
  readonly ownHosts: OwnHosts | null;
  readonly isForQstashClients: boolean;
  readonly connections: CallerConnections;
  readonly times: CallerTimes;
  /** Logs a fault of ours and answers the id it is logged under. */
  readonly onFault: (error: unknown) => string;
}

export interface Listener {
  /** Resolves with the address it really has. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Answers what has been asked, keeps no connection open for more, takes no new ones. */
  close(): Promise<void>;
  /** Drops every connection that is still open. */
  cutOff(): void;
}

/** A caller that vanished without a word is found out by the system; the rest is as node:http has it. */
const SOCKETS = { keepAlive: true, noDelay: true, allowHalfOpen: true } as const;

export async function createListener(options: ListenerOptions): Promise<Listener> {
  const { api, sink, lane, connections, times, onFault } = options;
  await api.fastify.ready();
  let isClosing = false;
  /** What could not be read as a request was heard of on these. */
  const unreadable = new WeakSet<Socket>();
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    if (!connections.begin({ request, response })) return;
    if (isClosing) response.setHeader('Connection', 'close');
    // An error that nobody listens to would end the process.
    response.on('error', onFault);
    handle(request, response)
      .catch((error) => refuse(request, response, error))
      .catch((error) => {
        onFault(error);
        response.destroy();
      });
  };
  const server = createServer(
    {
      IncomingMessage: CountedRequest,
      maxHeaderSize: eachMax('headBytes'),
      headersTimeout: times.headMs,
      requestTimeout: times.requestMs,
      keepAliveTimeout: times.idleMs,
      connectionsCheckingInterval: times.lookMs,
      ...SOCKETS,
      keepAliveInitialDelay: times.idleMs,
      // Checked below, to be answered like every other mistake.
      requireHostHeader: false,
    },
    receive,
  );
  connections.watch(server);
  // Node would leave out headers past the 2,000th without a word; their bytes are limited anyway.
  server.maxHeadersCount = 0;
  // An expectation we do not know may be ignored (RFC 9110, 10.1.1); Node would answer 417 without a body.
  server.on('checkExpectation', receive);
  server.on('clientError', (error, socket: Socket) => {
    try {
      refuseNonsense(error, socket);
    } catch (fault) {
      onFault(fault);
      socket.destroy();
    }
  });

  function refuseNonsense(error: Error, socket: Socket): void {
    // All that comes behind it is unreadable as well: it is heard of again with every piece.
    if (unreadable.has(socket)) return;
    unreadable.add(socket);
    const last = connections.latestOf(socket);
    if (!last || last.response.writableFinished) refuseUnreadable(error, socket);
    // Nonsense behind a whole request must not be answered in its place.
    else if (last.request.complete) {
      socket.pause();
      last.response.once('finish', () => refuseUnreadable(error, socket));
    }
    // Nonsense within a body that is refused already gets no second answer.
    else if (last.response.headersSent) {
      last.response.end();
      connections.destroyAfter(socket, times.endedMs);
    } else refuseUnreadable(error, socket);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const foreign = options.ownHosts?.problemOf(request.headers.host) ?? null;
    if (foreign !== null) throw new ApiError('misdirected', foreign);
    const page = options.ownHosts?.originProblem(request.headers.origin) ?? null;
    if (page !== null) throw new ApiError('forbidden', page);
    if (options.isForQstashClients) takeQstashRequest(request);
    if (sink?.handle(request, response)) return;
    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      throw new ApiError('bad_request', 'Host: missing; every HTTP/1.1 request has this header');
    }
    const answering = options.webConsole.handle(request, response) ?? lane.handle(request, response);
    if (answering) await answering;
    else api.fastify.routing(request, response);
  }

  function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The caller went away while sending: there is nobody to answer.
    if (request.destroyed && !request.complete) return;
    const problem = problemOf(error) ?? internalProblem(onFault(error));
    // Half an answer cannot be taken back: that it ends too early is what the caller can see.
    if (response.headersSent) response.destroy();
    else if (request.complete) sendError(response, problem);
    else refuseUnread(request, response, problem);
  }

  /** A refusal of a request whose body is still coming: closed when the caller has stopped sending, or after a while. */
  function refuseUnread(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
    const { status, headers, body } = errorResponse(problem);
    const text = JSON.stringify(body);
    const length = { 'Content-Length': Buffer.byteLength(text), Connection: 'close' };
    response.writeHead(status, { ...headers, ...length }).write(text);
    connections.destroyAfter(request.socket, times.refusedMs);
    // Whoever sends next to nothing would not stop for long; and to read on in short pieces is what was refused.
    if (problem.code === 'body_too_slow' || problem.code === 'body_in_pieces') return void response.end();
    let discardedBytes = 0;
    // Closed at once, the connection would be reset before the answer is read.
    request.on('data', (chunk: Buffer) => {
      discardedBytes += chunk.length;
      if (discardedBytes > eachMax('refusedBytes')) request.socket.destroy();
    });
    request.on('end', () => response.end());
  }

  /** What node:http could not read as a request at all. */
  function refuseUnreadable(error: Error & { code?: string; reason?: string }, socket: Socket): void {
    // Who has brought nothing in all this time waits for nothing.
    if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    const { status, headers, body } = errorResponse(unreadableProblem(error));
    const text = JSON.stringify(body);
    const head = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(text), Connection: 'close' });
    socket.end(`HTTP/1.1 ${status} Refused\r\n${head.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${text}`);
    connections.destroyAfter(socket, times.endedMs);
  }

  let listening: WideListening | null = null;
  return {
    async listen(host, port) {
      listening = await listenWide(server, { host, port, ...SOCKETS, keepAliveInitialDelay: times.idleMs }, onFault);
      return listening.bound;
    },
    async close() {
      isClosing = true;
      await listening?.close();
    },
    cutOff: () => server.closeAllConnections(),
  };
}

function unreadableProblem({ code, reason }: { code?: string; reason?: string }): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `the request line and headers are over ${eachMax('headBytes')} bytes`;
    return { code: 'headers_too_large', message };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request_timeout', message: 'the request did not arrive in time' };
  }
  return {
    code: 'bad_request',
    message: `this cannot be read as an HTTP request${reason ? `: ${reason}` : ''}`,
  };
}
