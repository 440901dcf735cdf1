// A separate port for /metrics, so that access to the API does not include access to the metrics. The port serves
// nothing else, and has limits of its own, which callers of the API cannot use up.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eachMax, nodeMax } from '../../rules/limits/budgets.ts';
import { internalProblem } from '../api/api.ts';
import { ApiError, problemOf, RESPONSE_HEADERS, sendError } from '../api/errors.ts';
import type { MetricsAccess } from '../api/metrics-access.ts';
import type { OwnHosts } from './own-hosts.ts';

export const METRICS_PATH = '/metrics';
export const METRICS_MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetricsListenerOptions {
  readonly read: () => Promise<string>;
  readonly access: MetricsAccess;
  /** Null when any host name is accepted. */
  readonly ownHosts: OwnHosts | null;
  readonly onFault: (error: unknown) => string;
}

export class MetricsListener {
  readonly #options: MetricsListenerOptions;
  readonly #server: Server;

  constructor(options: MetricsListenerOptions) {
    this.#options = options;
    const timeMs = eachMax('headSeconds') * 1000;
    this.#server = createServer(
      {
        maxHeaderSize: eachMax('headBytes'),
        headersTimeout: timeMs,
        requestTimeout: timeMs,
        keepAliveTimeout: eachMax('idleSeconds') * 1000,
      },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.maxConnections = nodeMax('metricsConnections');
    // Ends the connection of a caller that neither sends nor reads.
    this.#server.setTimeout(eachMax('idleSeconds') * 1000, (socket) => socket.destroy());
  }

  /** Resolves with the address and the port in use. */
  listen(host: string, port: number): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#options.onFault);
        resolve(this.#server.address() as AddressInfo);
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { read, access, ownHosts, onFault } = this.#options;
    response.on('error', onFault);
    // No call on this port has a body, so any body is dropped.
    request.resume();
    try {
      const foreign = ownHosts?.problemOf(request.headers.host) ?? null;
      if (foreign !== null) throw new ApiError('misdirected', foreign);
      requireMetrics(request);
      access.require(request.headers.authorization);
      const text = await read();
      const headers = {
        'Content-Type': METRICS_MEDIA_TYPE,
        'Content-Length': Buffer.byteLength(text),
        ...RESPONSE_HEADERS,
      };
      response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : text);
    } catch (error) {
      sendError(response, problemOf(error) ?? internalProblem(onFault(error)));
    }
  }
}

function requireMetrics({ url = '', method }: IncomingMessage): void {
  const path = url.split('?', 1)[0]!;
  if (path !== METRICS_PATH) throw new ApiError('not_found', `this port serves only ${METRICS_PATH}`);
  if (method !== 'GET' && method !== 'HEAD') throw new ApiError('method_not_allowed', `use GET ${METRICS_PATH}`);
}
