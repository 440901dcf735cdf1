// All calls except publishing, on Fastify. Each route declares its scope and its schemas. Only `addPublic` adds a route
// without a scope.

import type { ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Audit, AuditNote } from '../../audit/audit.ts';
import type { Publications } from '../../publish/publications.ts';
import type { StoredRoom } from '../../publish/stored-room.ts';
import type { Scope } from '../../rules/accounts/account.ts';
import type { AuditFacts, AuditKind } from '../../rules/accounts/audit.ts';
import { type NodeFacts, whyNothingIsChanged } from '../../rules/limits/acceptance.ts';
import type { Tiers } from '../../rules/limits/tier.ts';
import type { HeaderRules } from '../../rules/publish/publish-settings.ts';
import type { NewId } from '../../rules/requests/id.ts';
import type { ProblemCode } from '../../rules/requests/problem.ts';
import type { LoopTurns } from '../../runtime/loop-turns.ts';
import type { World } from '../../runtime/world.ts';
import type { Principal } from '../../store/ports/access-store.ts';
import { CallerGone } from '../../store/ports/store.ts';
import { type CountRequest, NO_ROUTE } from '../../telemetry/request-metrics.ts';
import type { BodyReader } from '../publish/body.ts';
import type { CallerAddresses } from '../server/caller.ts';
import type { RequestsInProgress } from '../server/requests.ts';
import {
  entryPieces,
  longFieldsLength,
  PIECE_BYTES,
  StreamedResponse,
  textInPieces,
  writePieces,
} from './answer-stream.ts';
import { auditFacts } from './audit-facts.ts';
import { authenticate, callerOf, refuseSuspended } from './authenticate.ts';
import { compileOnUse } from './compile-on-use.ts';
import { ApiError, errorResponse, problemOf, RESPONSE_HEADERS } from './errors.ts';
import { EventLoopYielder } from './event-loop-yielder.ts';
import { fastifyProblem, PARAMETER_LENGTH_MAX } from './fastify-problem.ts';
import { ManagementBodies, type ManagementBody } from './management-bodies.ts';
import type { AdmittedRead, ReadGate } from './read-gate.ts';
import type { Readiness } from './readiness.ts';
import Type, { type Static, type TSchema } from './shapes/schema.ts';

export interface ApiContext {
  readonly accounts: Accounts;
  readonly world: World;
  readonly newId: NewId;
  readonly tiers: Tiers;
  readonly publications: Publications;
  /** Checks whether an account may store more. */
  readonly room: Pick<StoredRoom, 'problem' | 'cancelledUntil'>;
  readonly bodies: BodyReader;
  readonly requestBytesMax: number;
  readonly requests: RequestsInProgress;
  readonly rules: HeaderRules;
  /** Whether a setting that looks misspelt is refused. */
  readonly strictSettings: boolean;
  /**
   * Whether the service has the prefix of the public QStash clients. These clients then get what they expect: a bulk
   * call without any filter selects all, a cancel by filter takes all matches whatever its `count`, and the log says
   * CANCELED.
   */
  readonly isForQstashClients: boolean;
  /** What a client may want to know about the service. */
  readonly service: { readonly version: string; readonly headerPrefix: string; readonly isDev: boolean };
  readonly concurrency: { readonly max: number; readonly inFlight: () => Promise<number> };
  /** The facts that decide whether messages are accepted now. */
  readonly facts: () => NodeFacts;
  readonly whyNotReady: Readiness;
  /** Why no messages are accepted now (`whyNothingIsAccepted`), or null. */
  readonly refusal: () => ApiError | null;
  /** False while the node shuts down: it starts no attempts, and waits for those that run. */
  readonly isServing: () => boolean;
  readonly onFault: (error: unknown, requestId?: string) => string;
  readonly audit: Audit;
  readonly callers: CallerAddresses;
  readonly gate: ReadGate;
  /**
   * Runs a call. When its caller has disconnected, its reads from the store are dropped. `isGone` is null when the call
   * must complete without its caller.
   */
  readonly runForCaller: <T>(isGone: (() => boolean) | null, call: () => Promise<T>) => Promise<T>;
  readonly turns: LoopTurns;
  readonly countRequest: CountRequest;
}

/** What the routes of one file get: the store ports that they need, and the context that all routes share. */
export type RouteContext<S> = ApiContext & { readonly store: S };

export interface ApiCall<P, Q, B> {
  readonly principal: Principal;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly reply: FastifyReply;
  /** Tells the audit what the call is about. By default, this is what the parameters of the path name. */
  readonly about: (target: string) => void;
  /** Tells the audit that the call has only read. */
  readonly changesNothing: () => void;
}

export interface Route<P extends TSchema, Q extends TSchema, B extends TSchema> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly scope: Scope;
  /** What the call does, in a few words, for the OpenAPI document. */
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** The schema of the response. Absent when no schema can describe the response. */
  readonly answer?: TSchema;
  /** The statuses of success. Default: 200. */
  readonly statuses?: readonly number[];
  /** The media type of the response. Default: JSON. */
  readonly mediaType?: string;
  /** The response has the header ETag; with `ETagAndIfMatch`, the call also reads the header If-Match. */
  readonly versions?: 'ETag' | 'ETagAndIfMatch';
  /** The call makes messages. It is refused like a publish while the node accepts none. */
  readonly makesMessages?: boolean;
  /** The call stores nothing new, although it is neither a GET nor a DELETE. It is allowed on a full disk. */
  readonly storesNothing?: boolean;
  /** The JSON of the call may contain the body of a message, so it may be longer than that of other calls. */
  readonly carriesMessage?: true;
  /** Whether the call searches stored data and so may have to wait (read-gate.ts). Default: true for GET. */
  readonly isRead?: boolean;
  /** What the audit keeps of the calls. Default: `none` for GET, else `change`. */
  readonly audit?: AuditKind;
  /** Returns a value, which becomes JSON, or a StreamedResponse. */
  readonly handle: (call: ApiCall<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
}

/** A route without its handler, as the OpenAPI document needs it. Scope null: no token of an account is needed. */
export interface RouteEntry {
  readonly method: string;
  readonly path: string;
  readonly scope: Scope | null;
  /** What the route needs in place of a token of an account, in words. */
  readonly ownToken?: string | undefined;
  /** The path contains a secret that is the only authority. */
  readonly isBySecret?: true;
  readonly summary: string;
  readonly params?: TSchema | undefined;
  readonly query?: TSchema | undefined;
  readonly body?: TSchema | undefined;
  readonly answer?: TSchema | undefined;
  readonly statuses?: readonly number[] | undefined;
  readonly mediaType?: string | undefined;
  readonly versions?: 'ETag' | 'ETagAndIfMatch' | undefined;
  readonly audit?: AuditKind;
}

/** A route that needs no token of an account. */
export interface PublicRoute
  extends Pick<RouteEntry, 'path' | 'summary' | 'answer' | 'statuses' | 'mediaType' | 'ownToken'> {
  readonly handle: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** A call whose path contains a secret that is its only authority. */
export interface SecretRoute extends Pick<RouteEntry, 'path' | 'summary' | 'params' | 'body' | 'answer' | 'statuses'> {
  readonly bodyBytesMax: number;
  /** The account that the call works for. Throws if the secret is not valid, and reads nothing. */
  readonly accountOf: (secret: string) => string;
  readonly handle: (secret: string, body: unknown) => Promise<unknown>;
}

export class Api {
  readonly fastify: FastifyInstance;
  readonly #context: ApiContext;
  readonly #bodies: ManagementBodies;
  readonly #routes: (RouteEntry & { readonly pattern: RegExp })[] = [];

  constructor(context: ApiContext) {
    this.#context = context;
    this.#bodies = new ManagementBodies(context);
    this.fastify = Fastify({
      routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
      ajv: {
        customOptions: {
          removeAdditional: false,
          coerceTypes: false,
          useDefaults: false,
          allErrors: false,
          // With `verbose`, a validation error carries the schema, which knows the allowed names.
          verbose: true,
        },
        onCreate: compileOnUse,
      },
      // Errors that the router finds before it has found a route.
      frameworkErrors: (error, _request, reply) => {
        this.#fail(reply, error);
      },
    });
    this.fastify.removeAllContentTypeParsers();
    this.fastify.addContentTypeParser('*', async (request: FastifyRequest) => this.#read(request));
    this.fastify.addHook('onRequest', async (_request, reply) => {
      reply.headers(RESPONSE_HEADERS);
    });
    this.fastify.addHook('onResponse', async ({ method, routeOptions: { url } }, { statusCode }) => {
      context.countRequest(url === undefined ? NO_ROUTE : `${method} ${pathTemplate(url)}`, statusCode);
    });
    this.fastify.setErrorHandler((error, _request, reply) => this.#fail(reply, error));
    this.fastify.setNotFoundHandler((request, reply) => this.#fail(reply, this.#unknown(request, reply)));
    // Runs before the body is read: a caller with a misspelt path gets an error about the path, not about the body.
    this.fastify.addHook('onRequest', async (request, reply) => {
      if (request.is404) throw this.#unknown(request, reply);
    });
  }

  get routes(): readonly RouteEntry[] {
    return this.#routes;
  }

  add<P extends TSchema, Q extends TSchema, B extends TSchema>(route: Route<P, Q, B>): void {
    const { handle, makesMessages = false, isRead = route.method === 'GET', storesNothing = false, ...rest } = route;
    const { carriesMessage = false, audit = route.method === 'GET' ? 'none' : 'change', ...entry } = rest;
    const isChange = route.method !== 'GET' && route.method !== 'DELETE';
    const storesMore = isChange && !storesNothing;
    this.#routes.push({ ...entry, audit, pattern: patternOf(route.path) });
    this.fastify.route({
      method: route.method,
      url: route.path,
      config: { carriesMessage, audit, successStatus: route.statuses?.[0] ?? 200 },
      schema: {
        ...(route.params && { params: route.params }),
        ...(route.query && { querystring: route.query }),
        // Fastify validates an absent body as null, so the schema of an optional body allows null.
        ...(route.body && { body: Type.IsOptional(route.body) ? Type.Union([route.body, Type.Null()]) : route.body }),
      },
      // Runs before the body is read: a caller without permission learns nothing about the body.
      onRequest: async (request, reply) => {
        // Frees the body if the caller disconnects before the handler starts. After that, the handler frees it when the
        // call has ended.
        reply.raw.once('close', () => !request.isHandled && request.readBody?.release());
        request.principal = await authenticate(this.#context, request.raw, route.scope);
        this.#context.requests.begin(request.principal.account.id, request.raw.socket, reply.raw);
        if (isChange && route.scope !== 'admin') refuseSuspended(request.principal);
        if (makesMessages) this.#requireAccepting();
        if (route.method !== 'GET') this.#requireChanging(storesMore);
      },
      handler: async (request, reply) => {
        request.isHandled = true;
        const principal = request.principal!;
        const visit = isRead ? await this.#context.gate.enter(principal.account.id, reply.raw) : null;
        const call = {
          principal,
          params: request.params as Static<P>,
          query: request.query as Static<Q>,
          body: request.body as Static<B>,
          reply,
          about: (target: string) => {
            request.auditTarget = target;
            request.auditNote?.about(target);
          },
          changesNothing: () => request.auditNote?.drop(),
        };
        // A call that changes something runs to its end, even if its caller has disconnected.
        const isGone = route.method === 'GET' ? () => hasCallerGone(reply.raw) : null;
        try {
          const value = await this.#audited(request, reply, () =>
            this.#context.runForCaller(isGone, () => this.#charged(principal.account.id, () => handle(call))),
          );
          return reply.sent ? reply : this.#answer(reply, value, principal.account.id, visit);
        } catch (error) {
          throw closedOr(error);
        } finally {
          visit?.done();
          request.readBody?.release();
        }
      },
    });
  }

  /** Carries out a call, and tells the audit of it. */
  async #audited<T>(request: FastifyRequest, reply: FastifyReply, call: () => Promise<T>): Promise<T> {
    const { audit } = this.#context;
    const { audit: kind, successStatus = 200 } = request.routeOptions.config;
    if (kind === 'change') {
      const facts = this.#auditFacts(request, successStatus, null);
      return audit.carryOut(
        facts,
        () => reply.statusCode,
        (note) => {
          request.auditNote = note;
          return call();
        },
      );
    }
    const value = await call();
    if (kind === 'message') audit.count(messageFacts(this.#auditFacts(request, reply.statusCode, null)));
    return value;
  }

  #auditFacts(request: FastifyRequest, status: number, code: ProblemCode | null, principal = request.principal) {
    const { method, params, raw, routeOptions } = request;
    const named = Object.values((params ?? {}) as Readonly<Record<string, string>>);
    return auditFacts({
      principal,
      address: this.#context.callers.ipOf(raw),
      call: `${method} ${pathTemplate(routeOptions?.url ?? '')}`,
      target: request.auditTarget ?? (named.length === 0 ? null : named.join('/')),
      status,
      code,
      requestId: raw.requestId,
    });
  }

  #requireAccepting(): void {
    const refusal = this.#context.refusal();
    if (refusal) throw refusal;
  }

  #requireChanging(storesMore: boolean): void {
    const why = whyNothingIsChanged(this.#context.facts(), storesMore);
    if (why) throw new ApiError(why.code, why.message);
  }

  /** The work that a handler does before its first wait is charged to its account. */
  #charged<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const { turns } = this.#context;
    const sinceMs = turns.nowMs();
    const result = work();
    turns.charge({ key: accountId, isKnown: true }, sinceMs);
    return result;
  }

  #answer(reply: FastifyReply, value: unknown, accountId: string, visit: AdmittedRead | null): string | FastifyReply {
    reply.header('Content-Type', 'application/json; charset=utf-8');
    if (value instanceof StreamedResponse) {
      visit?.keep(value.bytes);
      return this.#write(reply, value.pieces(), accountId, visit);
    }
    const { turns } = this.#context;
    const sinceMs = turns.nowMs();
    const long = typeof value === 'object' && value !== null && !Array.isArray(value) ? longFieldsLength(value) : 0;
    if (long > 0) {
      visit?.keep(long);
      return this.#write(reply, entryPieces(value as object), accountId, visit);
    }
    const text = JSON.stringify(value);
    turns.charge({ key: accountId, isKnown: true }, sinceMs);
    visit?.keep(text.length);
    if (text.length <= PIECE_BYTES) return text;
    reply.header('Content-Length', Buffer.byteLength(text));
    return this.#write(reply, textInPieces(text), accountId, visit);
  }

  /** Writes the response without Fastify, which would hold the whole text in memory. */
  #write(reply: FastifyReply, pieces: Iterable<string>, accountId: string, visit: AdmittedRead | null): FastifyReply {
    const { raw } = reply.hijack();
    raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>);
    const isHead = reply.request.method === 'HEAD';
    const inTurn = new EventLoopYielder(this.#context.turns, accountId);
    writePieces(raw, isHead ? [] : pieces, inTurn, () => visit?.hasProgressed()).catch((error) => {
      this.#context.onFault(error, reply.request.raw.requestId);
      raw.destroy();
    });
    return reply;
  }

  addPublic({ handle, ...entry }: PublicRoute): void {
    this.#routes.push({ ...entry, method: 'GET', scope: null, pattern: patternOf(entry.path) });
    this.fastify.get(entry.path, handle);
  }

  /** The body is checked by the handler: a caller without a token gets one plain text for each mistake. */
  addBySecret({ handle, accountOf, bodyBytesMax, ...entry }: SecretRoute): void {
    this.#routes.push({ ...entry, method: 'POST', scope: null, isBySecret: true, pattern: patternOf(entry.path) });
    const secretOf = (request: FastifyRequest) => (request.params as { readonly secret: string }).secret;
    this.fastify.post(entry.path, {
      config: { bodyBytesMax },
      onRequest: async (request, reply) => {
        reply.raw.once('close', () => !request.isHandled && request.readBody?.release());
        request.bodyOwner = accountOf(secretOf(request));
        this.#context.requests.begin(request.bodyOwner, request.raw.socket, reply.raw);
        this.#requireChanging(false);
      },
      handler: async (request, reply) => {
        request.isHandled = true;
        const accountId = request.bodyOwner!;
        try {
          const value = await this.#context.runForCaller(null, () =>
            this.#charged(accountId, () => handle(secretOf(request), request.body)),
          );
          return this.#answer(reply, value, accountId, null);
        } finally {
          request.readBody?.release();
        }
      },
    });
  }

  async #read(request: FastifyRequest): Promise<unknown> {
    const { principal, bodyOwner, raw, routeOptions } = request;
    // Only an authenticated caller may send a body. A public route has no body.
    const owner = principal?.account ?? (bodyOwner === undefined ? null : { id: bodyOwner, tier: 'free' as const });
    if (!owner) return undefined;
    const { carriesMessage = false, bodyBytesMax } = routeOptions.config;
    const size = bodyBytesMax ?? carriesMessage;
    request.readBody = await this.#bodies.read(raw, owner, size, () => raw.socket.destroyed);
    return request.readBody.value;
  }

  #unknown(request: FastifyRequest, reply: FastifyReply): ApiError {
    const path = request.url.split('?')[0]!;
    const allowed = this.#routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    if (allowed.length === 0) return new ApiError('not_found', `there is nothing at ${path}`);
    reply.header('Allow', allowed.join(', '));
    return new ApiError('method_not_allowed', `${request.method} is not allowed here; use ${allowed.join(' or ')}`);
  }

  #fail(reply: FastifyReply, error: unknown): FastifyReply {
    const { request } = reply;
    request.readBody?.release();
    const problem =
      problemOf(error) ?? fastifyProblem(error) ?? internalProblem(this.#context.onFault(error, request.raw.requestId));
    const { status, headers, body } = errorResponse(problem);
    const facts = () => this.#auditFacts(request, status, problem.code, callerOf(error) ?? request.principal);
    this.#context.audit.refused(facts, request.routeOptions?.config.audit ?? 'none', problem.code);
    return reply.status(status).headers(headers).send(JSON.stringify(body));
  }
}

/**
 * Calls for single messages are counted: a program may make many of them. Those of a person, in the console, are told
 * apart by the message.
 */
function messageFacts(facts: AuditFacts): AuditFacts {
  return facts.via === 'session' ? facts : { ...facts, target: null };
}

/** Whether the caller has disconnected. A caller that has closed only its side may still wait for the response. */
function hasCallerGone(response: ServerResponse): boolean {
  // A response that waits behind another on its connection gets no event when the connection ends.
  return response.destroyed || response.req.socket.destroyed;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    carriesMessage?: boolean;
    bodyBytesMax?: number;
    audit?: AuditKind;
    /** The status of the response, unless the call is refused or its handler sets another. */
    successStatus?: number;
  }
  interface FastifyRequest {
    principal?: Principal;
    /** For a call by a secret: the account that it works for. */
    bodyOwner?: string;
    readBody?: ManagementBody;
    isHandled?: true;
    /** What the call is about, for the audit. */
    auditTarget?: string;
    auditNote?: AuditNote;
  }
}

export function internalProblem(faultId: string) {
  return {
    code: 'internal' as const,
    message: `internal error of the server; the log has the details under ${faultId}`,
  };
}

/** The path of a route as in the OpenAPI document. */
export function pathTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/** Turns `/v2/topics/:name` into a pattern, to distinguish an unknown path from a wrong method. */
function patternOf(path: string): RegExp {
  const escaped = path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+')}$`);
}

/** Turns the end of a call whose caller has disconnected into an error that is not logged. Nobody gets the response. */
function closedOr(error: unknown): unknown {
  return error instanceof CallerGone ? new ApiError('bad_request', 'the connection was closed') : error;
}
