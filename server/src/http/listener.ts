// One listener, two lanes: publishing straight on node:http, everything else through the API. Sets the limits that
// keep a slow or hostile client from holding anything for long.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Api } from './api.ts';
import { internalProblem } from './api.ts';
import { errorResponse, problemOf, sendError } from './errors.ts';
import type { PublishLane } from './publish-lane.ts';
import type { Sink } from './sink.ts';

/** Room for a destination of 2 KiB and forwarded headers of 16 KiB, and no more than is needed. */
const HEADER_BYTES_MAX = 64 * 1024;
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 5 * 60_000;
const KEEP_ALIVE_MS = 65_000;

export interface ListenerOptions {
  readonly lane: PublishLane;
  readonly api: Api;
  readonly sink: Sink | null;
  /** Logs a fault of ours and answers the id it is logged under. */
  readonly onFault: (error: unknown) => string;
}

export interface Listener {
  /** Resolves with the address it really has. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Answers what has been asked, keeps no connection open for more, takes no new ones. */
  close(): Promise<void>;
}

export async function createListener(options: ListenerOptions): Promise<Listener> {
  const { api, sink, lane, onFault } = options;
  await api.fastify.ready();
  let isClosing = false;
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      if (isClosing) response.setHeader('Connection', 'close');
      if (sink?.handle(request, response)) return;
      handle(request, response).catch((error) => {
        refuse(request, response, error);
      });
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', refuseUnreadable);

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!(await lane.handle(request, response))) api.fastify.routing(request, response);
  }

  function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The caller went away while sending: there is nobody to answer.
    if (request.destroyed && !request.complete) return;
    const problem = problemOf(error) ?? internalProblem(onFault(error));
    // What is left of the body will not be read, so the connection cannot be used again.
    if (!request.complete) response.setHeader('Connection', 'close');
    sendError(response, problem);
  }

  return {
    listen: (host, port) => listen(server, host, port),
    close() {
      isClosing = true;
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

/** What node:http could not read as a request at all. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, headers, body } = errorResponse(
    error.code === 'HPE_HEADER_OVERFLOW'
      ? { code: 'headers_too_large', message: `the request line and headers are over ${HEADER_BYTES_MAX} bytes` }
      : { code: 'bad_request', message: 'this is not a complete HTTP request' },
  );
  const text = JSON.stringify(body);
  const head = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(text), Connection: 'close' });
  socket.end(`HTTP/1.1 ${status} Refused\r\n${head.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${text}`);
}
