// The HTTP listener. It gives publishes to their handler without a router, and other requests to the sink, the console
// or the API. It reads publishes that arrive in one piece without node:http. It sets the limits that keep slow or
// hostile clients from holding memory or connections for long.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { eachMax } from '../../rules/limits/budgets.ts';
import { headProblem, originForm } from '../../rules/requests/request-head.ts';

import { givenRequestId, REQUEST_ID_HEADER } from '../../rules/requests/request-id.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import { isFeatureWorking } from '../../runtime/node-internals/features.ts';
import { allowHalfOpen } from '../../runtime/node-internals/http-connection.ts';
import { wrapSocket } from '../../runtime/node-internals/wrapped-socket.ts';
import type { Clock } from '../../runtime/world.ts';
import type { Api } from '../api/api.ts';
import type { CrossOrigin } from '../api/cross-origin.ts';
import { ApiError } from '../api/errors.ts';
import type { Console } from '../console/console.ts';
import type { Sink } from '../console/sink.ts';
import type { PublishHandler } from '../publish/publish-handler.ts';
import { rewriteQstashRequest } from '../publish/qstash-request.ts';
import type { CallerConnections, CallerTimes } from './caller-connections.ts';
import { CountedRequest, StreamedRequest } from './counted-request.ts';
import { NodeServer } from './node-server.ts';
import type { OwnHosts } from './own-hosts.ts';
import { PublisherConnection, type PublisherConnectionOptions, type WholeResponse } from './publisher-connection.ts';
import { Refusals } from './refusals.ts';
import { RequestFeed, type RequestFeedOptions } from './request-feed.ts';
import type { WholeRequest } from './whole-request.ts';
import { listenOnSeveralSockets, type SocketGroup } from './wide-listening.ts';

export interface ListenerOptions {
  readonly publishing: PublishHandler;
  readonly api: Api;
  readonly webConsole: Console;
  readonly sink: Sink | null;
  /** Null when any host name is accepted. */
  readonly ownHosts: OwnHosts | null;
  /** Null when no page of another origin may call the API. */
  readonly crossOrigin: CrossOrigin | null;
  readonly isForQstashClients: boolean;
  readonly connections: CallerConnections;
  readonly times: CallerTimes;
  readonly turns: LoopTurns;
  /** The machine's clock. */
  readonly clock: Pick<Clock, 'machineNow'>;
  /** `own`: publishes that arrive in one piece are read without node:http. `node`: by public calls of Node.js only. */
  readonly reader: 'own' | 'node';
  /** Makes the id of a request whose caller gives none. */
  readonly newRequestId: () => string;
  /** Logs an internal error and returns the id it is logged under. */
  readonly onFault: (error: unknown, requestId?: string) => string;
}

export interface Listener {
  /** Resolves with the address and the port in use. `shared`: other threads of this process already listen on them. */
  listen(host: string, port: number, use?: 'shared'): Promise<AddressInfo>;
  /** Whether other threads of this process can listen on the same address. */
  readonly isShared: boolean;
  /** Completes the current requests, keeps no connection open for more, and accepts no new connection. */
  close(): Promise<void>;
  /** Drops every connection that is still open. */
  cutOff(): void;
}

/** The socket options that node:http sets by default. A listening socket of our own needs them too. */
const SOCKETS = { noDelay: true, allowHalfOpen: true } as const;

export async function createListener(options: ListenerOptions): Promise<Listener> {
  await options.api.fastify.ready();
  return new OneListener(options);
}

class OneListener implements Listener {
  readonly #options: ListenerOptions;
  readonly #server: NodeServer;
  /** Whether connections and bodies are read only by public calls of Node.js. */
  readonly #isPublic: boolean;
  readonly #refusals: Refusals;
  readonly #dateText: () => string;
  #isClosing = false;
  #listening: SocketGroup | null = null;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#isPublic = options.reader === 'node' || !isFeatureWorking('httpReader');
    this.#dateText = httpDate(options.clock);
    this.#refusals = new Refusals({ ...options, dateText: this.#dateText });
    this.#server = this.#createServer();
  }

  get isShared(): boolean {
    return this.#listening?.isShared === true;
  }

  async listen(host: string, port: number, use: 'shared' | null = null): Promise<AddressInfo> {
    const sockets = { host, port, isShared: use === 'shared', ...SOCKETS };
    this.#listening = await listenOnSeveralSockets(this.#server, sockets, this.#options.onFault);
    return this.#listening.bound;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#options.connections.stop();
    await this.#listening?.close();
  }

  cutOff(): void {
    this.#options.connections.destroyPublishers();
    this.#server.closeAllConnections();
  }

  #createServer(): NodeServer {
    const { times, onFault } = this.#options;
    const receive = (request: IncomingMessage, response: ServerResponse) => this.#receive(request, response);
    const server: NodeServer = new NodeServer(
      {
        IncomingMessage: this.#isPublic || !isFeatureWorking('requestBody') ? StreamedRequest : CountedRequest,
        maxHeaderSize: eachMax('headBytes'),
        headersTimeout: times.headMs,
        requestTimeout: times.requestMs,
        keepAliveTimeout: times.idleMs,
        connectionsCheckingInterval: times.lookMs,
        ...SOCKETS,
        // A missing `Host` is checked below, so that its error looks like every other error.
        requireHostHeader: false,
      },
      receive,
      this.#connectionTaker((socket) => server.giveToNode(socket)),
    );
    allowHalfOpen(server);
    // node:http would silently drop headers past the 2,000th. The bytes of all headers are limited anyway.
    server.maxHeadersCount = 0;
    // An unknown expectation may be ignored (RFC 9110, 10.1.1). node:http would respond with 417 without a body.
    server.on('checkExpectation', receive);
    server.on('clientError', (error, socket: Socket) => {
      try {
        this.#refusals.refuseUnparsed(error, socket);
      } catch (fault) {
        onFault(fault);
        socket.destroy();
      }
    });
    return server;
  }

  /** Returns the function that gets each new connection. `giveToNode`: makes node:http read what is not read here. */
  #connectionTaker(giveToNode: (socket: Socket) => void): (socket: Socket) => void {
    const { connections, times, turns, crossOrigin } = this.#options;
    const feedOptions: RequestFeedOptions = {
      connections,
      turns,
      bodyMs: times.bodyMs,
      giveToNode,
      refuse: (problem, socket) => this.#refusals.refuseUnread(problem, socket),
    };
    const options: PublisherConnectionOptions = {
      connections,
      turns,
      giveToNode: (connection, bytes) => new RequestFeed(feedOptions, connection).take(bytes),
      handle: (request, response) => this.#publish(request, response),
      refuseCutShort: (socket) => this.#refusals.refuseUnparsed(new Error('the end is missing'), socket),
      isClosing: () => this.#isClosing,
      requestId: (given) => this.#requestId(given),
      dateText: this.#dateText,
      keepAlive: `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(times.idleMs / 1000)}\r\n`,
    };
    // If pages of other origins may call the API, node:http reads everything: the headers that responses to these pages
    // need are set only for its requests.
    const hasPublishers = !this.#isPublic && crossOrigin === null;
    return (socket) => {
      const connection = connections.add(this.#isPublic ? wrapSocket(socket) : socket);
      if (connection === null) return;
      if (hasPublishers) new PublisherConnection(options, connection);
      else new RequestFeed(feedOptions, connection);
    };
  }

  /** Handles a publish that arrived in one piece. The checks are the same as for every other request. */
  #publish(request: WholeRequest, response: WholeResponse): void {
    const { publishing, ownHosts, isForQstashClients } = this.#options;
    try {
      const foreign = ownHosts?.problemOf(request.headers.host) ?? null;
      if (foreign !== null) throw new ApiError('misdirected', foreign);
      if (isForQstashClients) rewriteQstashRequest(request);
      publishing.handle(request, response, this.#refuseWhole);
    } catch (error) {
      this.#refuseWhole(request, response, error);
    }
  }

  #requestId(given: string | readonly string[] | undefined): string {
    return givenRequestId(given) ?? this.#options.newRequestId();
  }

  readonly #refuseWhole = (request: WholeRequest, response: WholeResponse, error: unknown): void => {
    try {
      this.#refusals.refuseWhole(request, response, error);
    } catch (fault) {
      this.#options.onFault(fault, request.requestId);
      response.destroy();
    }
  };

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { connections, onFault } = this.#options;
    const connection = connections.begin({ request, response });
    if (connection === null) return;
    if (this.#isClosing) connections.closeAfterLatest(connection);
    request.requestId = this.#requestId(request.headers['x-request-id']);
    // An `error` event without a listener would end the process.
    response.on('error', (error) => onFault(error, request.requestId));
    let answering: Promise<void> | null;
    try {
      answering = this.#handle(request, response);
    } catch (error) {
      // Refused in a later microtask: so far only the head was parsed. The rest may be in the same bytes.
      answering = Promise.reject(error);
    }
    answering?.catch((error) => this.#refuse(request, response, error));
  }

  readonly #refuse = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    try {
      this.#refusals.refuse(request, response, error);
    } catch (fault) {
      this.#options.onFault(fault, request.requestId);
      response.destroy();
    }
  };

  /** Returns a promise if the console responds, else null. Not async: that would make each publish slower. */
  #handle(request: IncomingMessage, response: ServerResponse): Promise<void> | null {
    const { api, sink, publishing, ownHosts, crossOrigin, webConsole, isForQstashClients } = this.#options;
    this.#requireHead(request);
    request.url = originForm(request.url ?? '');
    if (ownHosts) this.#refuseForeign(request, ownHosts);
    if (crossOrigin !== null) {
      nameRequest(request, response);
      if (crossOrigin.handle(request, response)) return null;
    }
    if (isForQstashClients) rewriteQstashRequest(request);
    if (sink?.handle(request, response)) return null;
    // A publish writes all of its headers at once, which takes less time.
    if (publishing.handle(request, response, this.#refuse)) return null;
    nameRequest(request, response);
    const answering = webConsole.handle(request, response);
    if (answering === null) api.fastify.routing(request, response);
    return answering;
  }

  /** Refuses a request to a host name that is not ours, or of a page that is neither ours nor allowed. */
  #refuseForeign({ headers: { host, origin } }: IncomingMessage, ownHosts: OwnHosts): void {
    const foreign = ownHosts.problemOf(host);
    if (foreign !== null) throw new ApiError('misdirected', foreign);
    if (this.#options.crossOrigin?.isAllowed(origin) === true) return;
    const page = ownHosts.originProblem(origin);
    if (page !== null) throw new ApiError('forbidden', page);
  }

  /** Refuses a request with an ambiguous head. A proxy may see its end elsewhere, so nothing after the head is read. */
  #requireHead({ httpVersion, rawHeaders, socket }: IncomingMessage): void {
    const refused = headProblem(httpVersion, rawHeaders);
    if (refused === null) return;
    const connection = this.#options.connections.of(socket);
    if (connection !== null) this.#options.connections.closeAfterLatest(connection);
    throw new ApiError(refused.problem.code, refused.problem.message);
  }
}

function nameRequest({ requestId }: IncomingMessage, response: ServerResponse): void {
  response.setHeader(REQUEST_ID_HEADER, requestId!);
}

/** Returns the text of the `Date` header, made once a second: to make it takes longer than the rest of a head. */
function httpDate(clock: Pick<Clock, 'machineNow'>): () => string {
  let second = 0;
  let text = '';
  return () => {
    const now = Math.floor(clock.machineNow() / 1000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1000).toUTCString();
    }
    return text;
  };
}
